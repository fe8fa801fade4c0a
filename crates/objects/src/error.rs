//! Why the store of objects did not do what it was asked.

use std::error::Error;
use std::io;
use std::time::Duration;

/// The store of objects is out of reach, refuses, or does not answer in time.
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

    /// Whether there is no such object; when one is written, no such bucket.
    pub const fn is_absent(&self) -> bool {
        matches!(self.kind, Kind::Absent)
    }

    /// Whether the store does not know the credentials, or does not let them do this.
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

/// The error and its causes that add to what it says.
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
