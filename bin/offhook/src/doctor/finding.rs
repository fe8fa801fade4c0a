//! What is found of a hop.

use crate::prelude::*;

/// A clock that is off by more shows customers times that make no sense.
pub(super) const SKEW_AT_MOST: Duration = Duration::from_secs(2);

/// How a hop is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    /// As it should be.
    Good,
    /// It works, and should not stay like that.
    Warning,
    /// It does not work.
    Failed,
    /// It was not looked at.
    Skipped,
}

impl State {
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Good => "ok",
            Self::Warning => "warning",
            Self::Failed => "failed",
            Self::Skipped => "skipped",
        }
    }
}

/// What was found of a hop, in one sentence; of one that failed it ends in the remedy.
#[derive(Debug, Clone)]
pub(crate) struct Finding {
    pub(super) hop: Hop,
    pub(super) state: State,
    pub(super) sentence: String,
}

/// A hop between a request and a delivered event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Hop(pub(super) &'static str);

impl Hop {
    pub(super) fn is(self, state: State, sentence: impl Into<String>) -> Finding {
        Finding {
            hop: self,
            state,
            sentence: sentence.into(),
        }
    }

    pub(super) fn good(self, sentence: impl Into<String>) -> Finding {
        self.is(State::Good, sentence)
    }

    pub(super) fn warning(self, sentence: impl Into<String>) -> Finding {
        self.is(State::Warning, sentence)
    }

    pub(super) fn failed(self, sentence: impl Into<String>) -> Finding {
        self.is(State::Failed, sentence)
    }

    pub(super) fn skipped(self, sentence: impl Into<String>) -> Finding {
        self.is(State::Skipped, sentence)
    }
}

impl Finding {
    pub(super) fn json(&self) -> Value {
        json!({ "check": self.hop.0, "status": self.state.as_str(), "message": self.sentence })
    }

    pub(super) fn words(&self) -> String {
        let state = self.state.as_str();
        format!("{state:<8}{}: {}", self.hop.0, self.sentence)
    }
}
