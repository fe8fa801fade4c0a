//! Why the store of objects did not do what it was asked.

use std::error::Error;
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
        Self {
            reason: chain(&error),
            kind: Kind::Other,
        }
    }

    pub(crate) fn late(limit: Duration) -> Self {
        Self {
            reason: format!("no answer within {} s", limit.as_secs()),
            kind: Kind::Other,
        }
    }

    /// Whether there is no such object; when one is written, no such bucket.
    #[must_use]
    pub const fn is_absent(&self) -> bool {
        matches!(self.kind, Kind::Absent)
    }

    /// Whether the store does not know the credentials, or does not let them do this.
    #[must_use]
    pub const fn is_refused(&self) -> bool {
        matches!(self.kind, Kind::Refused)
    }
}

impl From<object_store::Error> for ObjectError {
    fn from(error: object_store::Error) -> Self {
        let kind = match &error {
            object_store::Error::NotFound { .. } => Kind::Absent,
            object_store::Error::PermissionDenied { .. }
            | object_store::Error::Unauthenticated { .. } => Kind::Refused,
            _ => Kind::Other,
        };
        Self {
            kind,
            ..Self::of(error)
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
