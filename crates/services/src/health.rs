//! Whether this process can serve (`/readyz`).

use std::sync::atomic::Ordering;

use tokio::time::Instant;

use crate::prelude::*;
use crate::redis_membership::RedisMembership;

#[derive(Clone)]
pub struct Health {
    pub(crate) ctx: Arc<Context>,
    pub(crate) live: Arc<Live>,
    pub(crate) membership: Arc<RedisMembership>,
}

#[boxed]
impl Health {
    /// Marks this process as stopping: it is no longer ready and places no calls.
    pub fn stop(&self) {
        self.ctx.stopping.store(true, Ordering::SeqCst);
    }

    pub fn is_stopping(&self) -> bool {
        self.ctx.stopping.load(Ordering::SeqCst)
    }

    /// Whether notifications from other processes on this PostgreSQL arrive here. While they do not, the database is
    /// polled often.
    pub fn hears_others(&self) -> bool {
        self.live.signals.hears()
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
        let store = &self.ctx.store;
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
        let now = self.ctx.clock.now();
        let second = store
            .is_second_node_without_redis(self.ctx.node, self.membership.shares_everything(), now)
            .await;
        match second {
            Ok(Some(false)) if self.membership.is_apart(Instant::now()) => Err(
                "another process serves this database, and it counts requests in another Redis than this one: give every \
                 process the same redis_url"
                    .to_owned(),
            ),
            Ok(Some(false)) => Ok(()),
            Ok(None) => Err("this process is not registered with the database yet".to_owned()),
            Ok(Some(true)) if self.membership.has_redis && !self.membership.files_are_shared => Err(
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
