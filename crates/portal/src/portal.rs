//! The portal's address, settings and shared parts.

use std::ops::Deref;
use std::sync::Arc;

use actix_web::HttpRequest;
use offhook_http::address_of;
use offhook_services::{RelyingParty, Services};
use tokio_util::task::TaskTracker;

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

    /// The service as passkeys know it; `None` where there are none.
    pub(crate) fn relying_party(&self) -> Option<RelyingParty> {
        RelyingParty::at(self.config.public_url.as_deref()?)
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
}

impl Deref for Portal {
    type Target = Shared;

    fn deref(&self) -> &Shared {
        &self.0
    }
}
