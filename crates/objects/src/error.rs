//! Why the store of objects did not do what it was asked.

use std::error::Error;
use std::time::Duration;

/// The store of objects is out of reach, refuses, or does not answer in time.
#[derive(Debug, Clone, thiserror::Error)]
#[error("the object store: {reason}")]
pub struct ObjectError {
    reason: String,
    is_absent: bool,
}

impl ObjectError {
    pub(crate) fn of(error: impl Error) -> Self {
        Self {
            reason: chain(&error),
            is_absent: false,
        }
    }

    pub(crate) fn late(limit: Duration) -> Self {
        Self {
            reason: format!("no answer within {} s", limit.as_secs()),
            is_absent: false,
        }
    }

    pub(crate) const fn is_absent(&self) -> bool {
        self.is_absent
    }
}

impl From<object_store::Error> for ObjectError {
    fn from(error: object_store::Error) -> Self {
        Self {
            is_absent: matches!(error, object_store::Error::NotFound { .. }),
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
