//! Barge-in: whether a customer who makes a sound while the agent has the floor wants it.

use std::time::Duration;

use super::{Phase, Report, Turns};
use crate::voice::words;

/// Speech of this length is a barge-in.
const INTERRUPTS_AFTER: Duration = Duration::from_millis(400);

/// This many words are a barge-in, however fast they were spoken.
const INTERRUPTING_WORDS: usize = 2;

impl Turns {
    /// Gives the customer the floor once it is clear that they want it, or the agent once it is clear that they do not.
    pub(super) fn confirm(&mut self, now: Duration) {
        if matches!(self.phase, Phase::Screening(_)) {
            return;
        }
        let over_agent = self.floor.yields() && self.floor.is_heard();
        let Some(utterance) = self.customer.as_mut().filter(|it| !it.told) else {
            return;
        };
        let spoken = utterance.spoken();
        let telling = words::telling(&spoken);
        let long = utterance.burst() >= INTERRUPTS_AFTER;
        // While the agent speaks, duration alone proves nothing if words could: the sound may be an echo. A single word
        // proves nothing before that duration, however early it was recognized.
        let wants_floor = !utterance.keys.is_empty()
            || words::stops(&spoken)
            || telling >= INTERRUPTING_WORDS
            || if over_agent {
                long && (telling > 0 || !self.rules.partials)
            } else {
                long || words::words(&spoken).next().is_some()
            };
        if wants_floor {
            utterance.told = true;
            if self.floor.yields() {
                self.cut(now);
            }
            self.report(Report::CustomerStarted);
        } else if !self.activity.speaking()
            && utterance.asked_at.is_some()
            && self.recognizer.is_settled()
        {
            utterance.decided_at = utterance.decided_at.min(now);
        }
    }
}
