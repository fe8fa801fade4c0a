use std::net::IpAddr;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use actix_web::HttpRequest;
use actix_web::web::{Data, ServiceConfig};
use offhook_services::Services;
use tokio_util::sync::CancellationToken;

use crate::edge::connection::Places;
use crate::edge::log_budget::LogBudget;
use crate::readiness::Readiness;
use crate::request::bodies::Bodies;
use crate::streams::slots::StreamSlots;
use crate::{ApiError, RateLimits};

/// Settings of the REST adapter other than limits.
#[derive(Debug, Clone)]
pub struct HttpConfig {
    /// The origins that may call /v1 from browsers (`http.cors_origins`); `*` is any. Empty: no CORS.
    pub cors_origins: Vec<String>,
    /// How long each head of a connection may take. A late connection gets a bare 408 and is closed.
    pub head_timeout: Duration,
    /// How long a slow client may take to read 64 KiB of a response before its connection is closed.
    pub answer_timeout: Duration,
    /// How many connections may be open; one address may have an eighth of them.
    pub max_connections: usize,
    /// How often an open stream checks its key again: 10 s, less in tests.
    pub stream_key_check: Duration,
}

impl Default for HttpConfig {
    fn default() -> Self {
        Self {
            cors_origins: Vec::new(),
            head_timeout: Duration::from_secs(5),
            answer_timeout: Duration::from_secs(30),
            max_connections: 25_000,
            stream_key_check: Duration::from_secs(10),
        }
    }
}

/// The state that the handlers share; a clone shares it too.
#[derive(Clone)]
pub struct HttpState(Arc<Shared>);

/// The parts of [`HttpState`].
pub struct Shared {
    pub(crate) services: Services,
    pub(crate) limits: RateLimits,
    pub(crate) config: HttpConfig,
    pub(crate) slots: Arc<StreamSlots>,
    pub(crate) bodies: Arc<Bodies>,
    pub(crate) readiness: Readiness,
    pub(crate) places: Arc<Places>,
    pub(crate) closing: CancellationToken,
    pub(crate) log_budget: LogBudget,
    pub(crate) pages: Option<Pages>,
}

/// Adds other routes to the application, such as the portal's: called once per thread.
pub type Pages = Arc<dyn Fn(&mut ServiceConfig) + Send + Sync>;

impl HttpState {
    pub fn new(services: Services, limits: RateLimits, config: HttpConfig) -> Self {
        Self(Arc::new(Shared {
            services,
            limits,
            places: Arc::new(Places::new(config.max_connections)),
            config,
            slots: Arc::default(),
            bodies: Arc::default(),
            readiness: Readiness::default(),
            closing: CancellationToken::new(),
            log_budget: LogBudget::default(),
            pages: None,
        }))
    }

    /// Adds pages beside the API. Has no effect if this state is already shared.
    #[must_use]
    pub fn with_pages(mut self, pages: Pages) -> Self {
        if let Some(shared) = Arc::get_mut(&mut self.0) {
            shared.pages = Some(pages);
        }
        self
    }

    /// Records in the process metrics how full the rate limits' store is. Call it every few seconds.
    pub fn note_limits(&self) {
        self.limits.note();
    }

    /// Ends the open event streams, so that a graceful stop does not wait for the calls that they follow. Clients
    /// reconnect with `Last-Event-ID`.
    pub fn end_streams(&self) {
        self.closing.cancel();
    }
}

/// The address that a request is counted by, also behind our own proxies. `None` outside the application of
/// [`crate::app`].
pub fn address_of(req: &HttpRequest) -> Option<IpAddr> {
    let state = req.app_data::<Data<HttpState>>()?;
    let peer = req.peer_addr().map(|peer| peer.ip());
    Some(state.limits.client(peer, req.headers()))
}

/// Counts a call that a page places against the limits of its address, as the edge counts POST /v1/calls. Fails with
/// `rate_limit_exceeded` or `rate_limit_unavailable`.
pub async fn admit_call(req: &HttpRequest) -> Result<(), ApiError> {
    let state = req.app_data::<Data<HttpState>>().zip(address_of(req));
    let Some((state, address)) = state else {
        return Ok(());
    };
    let now = state.services.clock().now();
    state.limits.admit_address(address, true, now).await
}

impl Deref for HttpState {
    type Target = Shared;

    fn deref(&self) -> &Shared {
        &self.0
    }
}
