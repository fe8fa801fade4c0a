//! What is said on spoken lines beside the dialogue: that the answer takes a moment, and that the call is almost over.

use std::time::Duration;

use tokio::time::Instant;

use super::Live;
use super::agent::AgentTurn;
use crate::phrases::phrases;

/// How long after the customer's turn something is said though there is no answer yet.
const FILLER_AFTER: Duration = Duration::from_secs(2);

/// How long before its end a call's customer is told.
const WARNING: Duration = Duration::from_secs(15);

/// When the customer is told that a call ends, which may last so long from its answer. Of a short call everybody knows.
pub(super) fn warns_at(
    ends_at: Instant,
    max_duration: Duration,
    is_spoken: bool,
) -> Option<Instant> {
    (is_spoken && max_duration > 2 * WARNING).then(|| ends_at - WARNING)
}

impl Live<'_> {
    /// From this end of the customer's turn on they wait for an answer.
    pub(super) fn await_answer(&mut self, turn_over_at: Instant) {
        let waits = self.line.is_spoken() && !self.machine;
        self.filler_at = waits.then(|| turn_over_at + FILLER_AFTER);
    }

    /// Neither the model nor a tool has said anything for too long.
    pub(super) fn ask_for_patience(&mut self) {
        self.filler_at = None;
        let agent = self.agent.as_ref();
        if agent.is_some_and(|turn| turn.farewell.is_none() && turn.is_unheard()) {
            self.fill(phrases(&self.dialogue.persona().language).filler);
        }
    }

    /// The call is almost as long as it may be. Nobody is interrupted for it.
    pub(super) fn warn(&mut self) {
        self.warns_at = None;
        if self.machine || self.farewell().is_some() {
            return;
        }
        self.has_warning = true;
        match &self.agent {
            Some(turn) if turn.is_unheard() => self.give_warning(),
            None if self.customer_since.is_none() => self.warn_now(),
            _ => {}
        }
    }

    /// Tells the customer in a turn of its own.
    pub(super) fn warn_now(&mut self) {
        self.begin(AgentTurn::new(None, None, None));
        self.give_warning();
    }

    /// Tells the customer, before anything else of this turn, if they are to be told.
    pub(super) fn give_warning(&mut self) {
        if std::mem::take(&mut self.has_warning) {
            self.filler_at = None;
            self.dialogue.end_soon();
            self.fill(phrases(&self.dialogue.persona().language).warning);
        }
    }
}
