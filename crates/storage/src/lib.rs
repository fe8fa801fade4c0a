//! Offhook's store: rows, one set of queries, two databases.
//!
//! [`Store`] is concrete and never mocked: tests use the real one on a temporary database. Every finder takes the
//! account first, so that no query reaches another account's row by accident. A write is one transaction: a `Store`
//! method, or [`Store::transaction`] where a use case decides between its queries.

mod connect;
mod database;
mod dialect;
mod error;
mod migrate;
mod postgres;
mod prelude;
mod queries;
mod records;
mod schema;
mod seal;
mod sql;
mod sqlite;
mod store;
mod units;

pub use error::StoreError;
pub use postgres::Listener;
pub use queries::campaign_rounds::CallOfRecipient;
pub use queries::deliveries::{Recovered, Resent};
pub use queries::idempotency::KeyOwner;
pub use queries::ingestion::ClearedDocument;
pub use queries::retention::{BODIES_KEPT, DELIVERIES_KEPT};
pub use queries::sealed::Rekeyed;
pub use queries::wallets::Reserve;
pub use queries::widgets::WidgetCounts;
pub use records::*;
pub use seal::{MASTER_KEY_LEN, MasterKey};
pub use store::{Answer, Durability, Store, StoreConfig, Tx, TxError, lease, mint};

pub type Result<T, E = StoreError> = std::result::Result<T, E>;

/// What a write does with its transaction once it has a result.
pub(crate) enum Verdict<T> {
    /// Commit.
    Commit(T),
    /// The rules refused: roll back, and return the result.
    Rollback(T),
}

impl<T> Verdict<T> {
    /// Commits if `is_done`.
    fn keep_if(is_done: bool, answer: T) -> Self {
        if is_done {
            Self::Commit(answer)
        } else {
            Self::Rollback(answer)
        }
    }

    fn into_answer(self) -> T {
        match self {
            Self::Commit(answer) | Self::Rollback(answer) => answer,
        }
    }
}

/// Returns the answer unless the condition holds.
macro_rules! ensure {
    ($condition:expr, $answer:expr) => {
        if !$condition {
            return Ok($answer);
        }
    };
}

/// The value, or returns the answer if there is none.
#[macro_export]
macro_rules! some_or {
    ($value:expr, $answer:expr) => {
        match $value {
            Some(value) => value,
            None => return Ok($answer),
        }
    };
}
pub(crate) use ensure;

// Unit and integration tests are one binary; the latter use only the public API.
#[cfg(test)]
#[path = "../tests/it/main.rs"]
mod it;
