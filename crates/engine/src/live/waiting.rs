//! Announcements outside the dialogue on spoken lines: that the answer takes a moment, and that the call is almost
//! over.

use std::time::Duration;

use tokio::time::Instant;

use super::LiveCall;
use super::agent::AgentTurn;
use crate::phrases::phrases;

/// How long after the customer's turn the agent says a filler phrase if no answer has come.
const FILLER_AFTER: Duration = Duration::from_secs(2);

/// How long before its end the customer is warned.
const WARNING: Duration = Duration::from_secs(15);

/// When to warn the customer of the call's end. A short call gets no warning.
pub(super) fn warns_at(
    ends_at: Instant,
    max_duration: Duration,
    is_spoken: bool,
) -> Option<Instant> {
    (is_spoken && max_duration > 2 * WARNING).then(|| ends_at - WARNING)
}

impl LiveCall<'_> {
    /// Starts the wait for an answer, at the end of the customer's turn.
    pub(super) fn await_answer(&mut self, turn_over_at: Instant) {
        let waits = self.line.is_spoken() && !self.machine;
        self.filler_at = waits.then(|| turn_over_at + FILLER_AFTER);
    }

    /// Neither the model nor a tool has answered for too long.
    pub(super) fn say_filler(&mut self) {
        self.filler_at = None;
        let agent = self.agent.as_ref();
        if agent.is_some_and(|turn| turn.farewell.is_none() && turn.is_unheard()) {
            self.fill(phrases(&self.dialogue.persona().language).filler);
        }
    }

    /// The call is close to its maximum length. The warning interrupts neither side.
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

    /// Warns the customer in a turn of its own.
    pub(super) fn warn_now(&mut self) {
        self.begin(AgentTurn::new(None, None, None));
        self.give_warning();
    }

    /// Says a due warning before the rest of this turn.
    pub(super) fn give_warning(&mut self) {
        if std::mem::take(&mut self.has_warning) {
            self.filler_at = None;
            self.dialogue.end_soon();
            self.fill(phrases(&self.dialogue.persona().language).warning);
        }
    }
}
