//! What the handlers share.

use std::ops::Deref;
use std::sync::Arc;

use offhook_services::Services;
use tokio_util::sync::CancellationToken;

use crate::RateLimits;
use crate::streams::StreamSlots;

/// Settings of the REST adapter that are not limits.
#[derive(Debug, Clone, Default)]
pub struct HttpConfig {
    /// Origins that browsers may call /v1 from (`http.cors_origins`, decision 1.11); `*` is any. Empty: no CORS.
    pub cors_origins: Vec<String>,
}

/// What the handlers share; cloning shares it.
#[derive(Clone)]
pub struct HttpState(Arc<Shared>);

/// The parts of [`HttpState`].
pub struct Shared {
    pub(crate) services: Services,
    pub(crate) limits: RateLimits,
    pub(crate) config: HttpConfig,
    pub(crate) slots: Arc<StreamSlots>,
    pub(crate) closing: CancellationToken,
}

impl HttpState {
    /// Brings the parts together.
    #[must_use]
    pub fn new(services: Services, limits: RateLimits, config: HttpConfig) -> Self {
        Self(Arc::new(Shared {
            services,
            limits,
            config,
            slots: Arc::default(),
            closing: CancellationToken::new(),
        }))
    }

    /// Ends the open event streams, so that a graceful stop need not wait for the calls that they follow. Clients
    /// reconnect with `Last-Event-ID`.
    pub fn end_streams(&self) {
        self.closing.cancel();
    }
}

impl Deref for HttpState {
    type Target = Shared;

    fn deref(&self) -> &Shared {
        &self.0
    }
}
