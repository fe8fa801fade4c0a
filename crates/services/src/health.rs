//! Whether this process can serve (`/readyz`).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::Shared;

/// Whether this process can serve.
#[derive(Clone)]
pub struct Health {
    shared: Arc<Shared>,
    stopping: Arc<AtomicBool>,
}

impl Health {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        Self {
            shared,
            stopping: Arc::default(),
        }
    }

    /// From now on this process is not ready: it is being stopped.
    pub fn stop(&self) {
        self.stopping.store(true, Ordering::SeqCst);
    }

    /// Whether requests should be sent here.
    ///
    /// # Errors
    /// A sentence that says why not: stopping, the database out of reach, or a second process without Redis.
    pub async fn ready(&self) -> Result<(), String> {
        if self.stopping.load(Ordering::SeqCst) {
            return Err("this process is being stopped".to_owned());
        }
        let store = &self.shared.store;
        if store.ping().await.is_err() {
            return Err("the database is out of reach".to_owned());
        }
        if store.is_embedded() {
            return Ok(());
        }
        let now = self.shared.clock.now();
        let second = store
            .is_second_node_without_redis(self.shared.node, self.shared.has_redis, now)
            .await;
        match second {
            Ok(Some(false)) => Ok(()),
            Ok(None) => Err("this process is not registered with the database yet".to_owned()),
            Ok(Some(true)) => Err("another process serves this database, and without Redis (redis_url) the two would not \
                             share their rate limits"
                .to_owned()),
            Err(_) => Err("the database is out of reach".to_owned()),
        }
    }
}
