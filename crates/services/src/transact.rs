//! The form of a use case that decides in a transaction.

/// Runs a block in one [`offhook_storage::Store::transaction`]: `Ok` commits, `Err` rolls back.
macro_rules! transact {
    ($store:expr, |$tx:ident| $work:expr) => {
        $store
            .transaction(move |mut $tx| Box::pin(async move { $work }))
            .await
    };
}
pub(crate) use transact;
