//! Offhook's store: rows, one set of queries, two databases.
//!
//! [`Store`] is concrete and never mocked: tests use the real one on a temporary database. Every finder takes the
//! account first, so that reaching another account's row cannot be written by accident. A write is one use case in one
//! transaction inside one `Store` method; `BEGIN` and `COMMIT` never leave this crate.

mod connect;
mod database;
mod dialect;
mod error;
mod migrate;
mod postgres;
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
pub use queries::deliveries::{Recovered, Resent};
pub use queries::documents::DocumentChanged;
pub use queries::folders::FolderMade;
pub use queries::ingestion::ClearedDocument;
pub use queries::numbers::NumberWrite;
pub use queries::retention::{BODIES_KEPT, DELIVERIES_KEPT};
pub use queries::sealed::Rekeyed;
pub use queries::team::SeatTaken;
pub use records::*;
pub use seal::{MASTER_KEY_LEN, MasterKey};
pub use store::{Answer, Durability, Store, StoreConfig, lease, mint};

/// What the store answers.
pub type Result<T, E = StoreError> = std::result::Result<T, E>;

/// What a write wants done with its transaction once it has an answer.
pub(crate) enum Verdict<T> {
    /// Keep what was written.
    Commit(T),
    /// The rules refused: undo what was written, and answer.
    Rollback(T),
}

impl<T> Verdict<T> {
    /// Keeps what was written if `is_done`.
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

// Tests of the parts and from outside are one binary; the latter use the library as everybody does.
#[cfg(test)]
#[path = "../tests/it/main.rs"]
mod it;
