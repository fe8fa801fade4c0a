//! The store's errors.

use diesel::result::{DatabaseErrorKind, Error as DieselError};

/// Why a store operation failed. Absence is not an error: finders return `Option`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// The database is unreachable or overloaded; nothing was written.
    #[error("the database is unavailable: {0}")]
    Unavailable(String),
    /// The database URL is unusable.
    #[error("the database URL: {0}")]
    Url(String),
    /// The connection broke during COMMIT: the transaction may or may not have been written.
    #[error("the outcome of a commit is unknown: {0}")]
    UnknownCommit(String),
    #[error("a lock was not had in time")]
    Locked,
    /// A unique constraint rejected the write; its name.
    #[error("{0} refused a duplicate")]
    Conflict(String),
    /// A row contains what no version of this program writes.
    #[error("a stored row is corrupt: {0}")]
    Corrupt(String),
    /// A bug in this program.
    #[error("storage failed: {0}")]
    Internal(String),
}

/// The error for a server that is read-only.
pub(crate) const READ_ONLY: &str = "the server is read-only";

impl From<DieselError> for StoreError {
    fn from(error: DieselError) -> Self {
        match error {
            DieselError::DatabaseError(kind, info) => {
                let message = info.message().to_owned();
                match kind {
                    DatabaseErrorKind::UniqueViolation => {
                        Self::Conflict(info.constraint_name().unwrap_or(&message).to_owned())
                    }
                    DatabaseErrorKind::ClosedConnection
                    | DatabaseErrorKind::UnableToSendCommand => Self::Unavailable(message),
                    DatabaseErrorKind::ReadOnlyTransaction => {
                        Self::Unavailable(READ_ONLY.to_owned())
                    }
                    _ if message.contains("lock timeout") => Self::Locked,
                    _ if is_outage(&message) => Self::Unavailable(message),
                    _ => Self::Internal(message),
                }
            }
            DieselError::DeserializationError(source) => Self::Corrupt(source.to_string()),
            DieselError::BrokenTransactionManager => Self::Unavailable(error.to_string()),
            other => Self::Internal(other.to_string()),
        }
    }
}

/// Messages of passing faults of the databases, for which diesel has no kinds.
fn is_outage(message: &str) -> bool {
    const SIGNS: [&str; 16] = [
        "statement timeout",
        "database is locked",
        "database or disk is full",
        "disk I/O error",
        "unable to open database file",
        "terminating connection",
        "the database system is",
        "too many clients",
        "connection closed",
        "connection reset",
        "broken pipe",
        "deadlock detected",
        // PgBouncer's own.
        "server conn crashed",
        "server login",
        "invalid server parameter",
        "shutting down",
    ];
    let message = message.to_lowercase();
    SIGNS
        .iter()
        .any(|sign| message.contains(&sign.to_lowercase()))
}

impl StoreError {
    /// Whether a retry may succeed in a moment.
    #[must_use]
    pub const fn may_pass(&self) -> bool {
        matches!(
            self,
            Self::Unavailable(_) | Self::UnknownCommit(_) | Self::Locked
        )
    }

    /// Its stable label in the metrics.
    pub(crate) const fn kind(&self) -> &'static str {
        match self {
            Self::Unavailable(_) => "unavailable",
            Self::Url(_) => "url",
            Self::UnknownCommit(_) => "unknown_commit",
            Self::Locked => "locked",
            Self::Conflict(_) => "conflict",
            Self::Corrupt(_) => "corrupt",
            Self::Internal(_) => "internal",
        }
    }

    pub(crate) fn corrupt(what: impl Into<String>) -> Self {
        Self::Corrupt(what.into())
    }
}
