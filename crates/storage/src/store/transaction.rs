//! Transactions of use cases that decide between their queries.

use futures_util::future::BoxFuture;

use super::Store;
use crate::database::Conn;
use crate::dialect::dialect;
use crate::{Actor, StoreError, Verdict};
use offhook_boxed::boxed;
use offhook_domain::Timestamp;

/// A transaction. Its methods are the queries, each in the file of its rows.
pub struct Tx<'c>(
    pub(crate) &'c mut Conn,
    /// The offset of the lease clock.
    pub(crate) i64,
    /// The actor of its changes.
    pub(crate) Actor,
);

#[boxed]
impl Tx<'_> {
    /// The clock that decides on leases.
    pub async fn lease_clock(&mut self) -> crate::Result<Timestamp> {
        dialect!(self.0, lease_clock(self.1))
    }
}

/// The error of a use case in a transaction: a [`StoreError`], or a refusal of its own.
pub trait TxError: From<StoreError> + Send + 'static {
    /// The store's error, or the refusal.
    fn into_store(self) -> Result<StoreError, Self>;
}

impl TxError for StoreError {
    fn into_store(self) -> Result<StoreError, Self> {
        Ok(self)
    }
}

impl Store {
    /// Runs `work` in one transaction: commits it on `Ok`, rolls it back on `Err`.
    ///
    /// On the embedded database, `work` runs on the thread that writes, which everybody else waits for: it must await
    /// nothing but the transaction's own methods.
    pub fn transaction<T, E, F>(&self, work: F) -> BoxFuture<'_, Result<T, E>>
    where
        T: Send + 'static,
        E: TxError,
        F: for<'c> FnOnce(Tx<'c>) -> BoxFuture<'c, Result<T, E>> + Send + 'static,
    {
        let (offset, actor) = (self.offset(), self.actor);
        let done = self
            .inner
            .write(move |conn| Box::pin(judged(work(Tx(conn, offset, actor)))));
        Box::pin(async move { done.await? })
    }
}

async fn judged<T, E: TxError>(
    work: BoxFuture<'_, Result<T, E>>,
) -> crate::Result<Verdict<Result<T, E>>> {
    match work.await {
        Ok(value) => Ok(Verdict::Commit(Ok(value))),
        Err(error) => match error.into_store() {
            Ok(error) => Err(error),
            Err(refusal) => Ok(Verdict::Rollback(Err(refusal))),
        },
    }
}
