//! Whether this process can serve (`/readyz`).

use offhook_boxed::boxed;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use tokio::time::Instant;

use crate::Shared;

#[derive(Clone)]
pub struct Health(pub(crate) Arc<Shared>);

#[boxed]
impl Health {
    /// Marks this process as stopping: it is no longer ready and places no calls.
    pub fn stop(&self) {
        self.0.stopping.store(true, Ordering::SeqCst);
    }

    pub fn is_stopping(&self) -> bool {
        self.0.stopping.load(Ordering::SeqCst)
    }

    /// Whether notifications from other processes on this PostgreSQL arrive here. While they do not, the database is
    /// polled often.
    pub fn hears_others(&self) -> bool {
        self.0.signals.hears()
    }

    /// Whether this process should get requests. The error says why not: the process is stopping, the database is out
    /// of reach or changed for newer versions, or this is a second process without Redis, with another Redis, or
    /// without shared files.
    pub async fn ready(&self) -> Result<(), String> {
        if self.is_stopping() {
            return Err(
                "this process is being stopped: its live calls go on to their end".to_owned(),
            );
        }
        let store = &self.0.store;
        if store.ping().await.is_err() {
            return Err("the database is out of reach".to_owned());
        }
        match store.outgrown().await {
            Ok(None) => {}
            Ok(Some(sentence)) => return Err(sentence),
            Err(_) => return Err("the database is out of reach".to_owned()),
        }
        if store.is_embedded() {
            return Ok(());
        }
        let now = self.0.clock.now();
        let second = store
            .is_second_node_without_redis(self.0.node, self.0.shares_everything(), now)
            .await;
        match second {
            Ok(Some(false)) if self.0.redis_membership.is_apart(Instant::now()) => Err(
                "another process serves this database, and it counts requests in another Redis than this one: give every \
                 process the same redis_url"
                    .to_owned(),
            ),
            Ok(Some(false)) => Ok(()),
            Ok(None) => Err("this process is not registered with the database yet".to_owned()),
            Ok(Some(true)) if self.0.has_redis && !self.0.files_are_shared => Err(
                "another process serves this database, and this one keeps its files where that one cannot see them: \
                 set storage.objects to a bucket, or to a directory that is the same one on every node"
                    .to_owned(),
            ),
            Ok(Some(true)) => Err("another process serves this database, and without Redis (redis_url) the two would not \
                             share their rate limits: give every process the same one"
                .to_owned()),
            Err(_) => Err("the database is out of reach".to_owned()),
        }
    }
}

impl Shared {
    /// Whether other processes may run beside this one: they count requests together, and each reads the files of the
    /// others. A process that shares less gives way to those that share everything, and does not disturb those that
    /// started before it.
    pub(crate) const fn shares_everything(&self) -> bool {
        self.has_redis && self.files_are_shared
    }
}
