//! Offhook's web portal: pages drawn on the server, plain forms, sessions in a cookie.
//!
//! A request becomes a [`Visit`](visit::Visit) (a page that is looked at) or a [`Post`](visit::Post) (a form that was
//! sent): session, role and, for a form, its token are checked before a handler runs, and the role stands in the
//! handler's signature. Handlers call `services`, as the REST adapter does, so a form can do nothing that the rules
//! refuse. What is refused becomes a page in plain words ([`Trouble`](trouble::Trouble)).

mod assets;
mod fields;
mod lang;
mod layout;
mod pages;
mod parts;
mod routes;
mod sent;
mod spanish;
mod trouble;
mod visit;

use std::ops::Deref;
use std::sync::Arc;

use actix_web::HttpRequest;
use actix_web::web::{self, ServiceConfig};
use offhook_http::address_of;
use offhook_services::Services;
use tokio_util::task::TaskTracker;

pub use routes::{PagePath, pages};

/// Where the portal is mounted.
pub const PATH: &str = "/portal";

/// Settings of the portal.
#[derive(Debug, Clone)]
pub struct PortalConfig {
    /// The service's own address as customers know it (`http.public_url`), without a slash at its end.
    pub public_url: Option<String>,
    /// Where it is reached from this machine, such as `https://127.0.0.1:8443`; shown if there is no `public_url`.
    pub origin: String,
}

impl Default for PortalConfig {
    fn default() -> Self {
        Self {
            public_url: None,
            origin: "http://127.0.0.1:8080".to_owned(),
        }
    }
}

/// What the pages share; cloning shares it.
#[derive(Clone)]
pub struct Portal(Arc<Shared>);

/// The parts of [`Portal`].
pub struct Shared {
    pub(crate) services: Services,
    pub(crate) config: PortalConfig,
    /// Running changes, whether or not their browsers still wait.
    pub(crate) deeds: TaskTracker,
}

impl Portal {
    /// Brings the parts together.
    pub fn new(services: Services, config: PortalConfig) -> Self {
        Self(Arc::new(Shared {
            services,
            config,
            deeds: TaskTracker::new(),
        }))
    }

    /// Whether browsers reach the portal over HTTPS, so that cookies are `Secure`.
    pub(crate) fn is_https(&self) -> bool {
        self.config
            .public_url
            .as_deref()
            .is_some_and(|url| url.starts_with("https://"))
    }

    /// Whether a password and a session may travel to this browser: over HTTPS, or within the machine.
    pub(crate) fn may_sign_in(&self, req: &HttpRequest) -> bool {
        self.is_https() || address_of(req).is_some_and(|address| address.is_loopback())
    }

    /// Returns when no change is running. Stopping workers wait only for those whose browsers are still connected.
    pub async fn rests(&self) {
        self.deeds.close();
        self.deeds.wait().await;
    }

    /// Adds the portal's paths to an application.
    pub fn mount(self, config: &mut ServiceConfig) {
        config.app_data(web::Data::new(self));
        routes::add(config);
    }
}

impl Deref for Portal {
    type Target = Shared;

    fn deref(&self) -> &Shared {
        &self.0
    }
}

// Unit tests and integration tests are one binary; the latter use the library from outside.
#[cfg(test)]
#[path = "../tests/it/main.rs"]
mod it;
