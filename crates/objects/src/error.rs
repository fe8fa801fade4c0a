//! Errors of the object store.

use std::error::Error;
use std::io;
use std::time::Duration;

/// The object store is unreachable, refused, or did not answer in time.
#[derive(Debug, Clone, thiserror::Error)]
#[error("the object store: {reason}")]
pub struct ObjectError {
    reason: String,
    kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Absent,
    Refused,
    Other,
}

impl ObjectError {
    pub(crate) fn of(error: impl Error) -> Self {
        Self::odd(chain(&error))
    }

    pub(crate) fn odd(reason: impl Into<String>) -> Self {
        Self {
            reason: reason.into(),
            kind: Kind::Other,
        }
    }

    pub(crate) fn absent(reason: impl Into<String>) -> Self {
        Self {
            kind: Kind::Absent,
            ..Self::odd(reason)
        }
    }

    pub(crate) fn refused(reason: impl Into<String>) -> Self {
        Self {
            kind: Kind::Refused,
            ..Self::odd(reason)
        }
    }

    pub(crate) fn late(limit: Duration) -> Self {
        Self::odd(format!("no answer within {} s", limit.as_secs()))
    }

    /// Whether the object does not exist; for a write, whether the bucket does not exist.
    pub const fn is_absent(&self) -> bool {
        matches!(self.kind, Kind::Absent)
    }

    /// Whether the store rejects the credentials, or does not permit the operation.
    pub const fn is_refused(&self) -> bool {
        matches!(self.kind, Kind::Refused)
    }
}

impl From<io::Error> for ObjectError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::NotFound => Self::absent(chain(&error)),
            _ => Self::of(error),
        }
    }
}

/// The error with those causes that add information.
fn chain(error: &dyn Error) -> String {
    let mut words = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let more = error.to_string();
        if !words.contains(&more) {
            words.push_str(": ");
            words.push_str(&more);
        }
        cause = error.source();
    }
    words
}
