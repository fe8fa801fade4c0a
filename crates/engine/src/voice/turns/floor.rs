//! The agent's side: what it is saying, and when it pauses.

use std::time::Duration;

use super::{Effect, Phase, Turns};

/// How long the caller's sound is ignored after the agent starts to speak.
const MASKED: Duration = Duration::from_millis(300);

/// After a pause of this length the agent's next sound is a new start.
const BREAK: Duration = Duration::from_millis(300);

/// How long the agent pauses for a caller who began to speak, until it is clear whether this is a barge-in.
pub(super) const DECIDES_WITHIN: Duration = Duration::from_millis(600);

#[derive(Debug)]
pub(super) struct Floor {
    saying: Option<Saying>,
    pub(super) interruptible: bool,
    /// Whether the playout queue is paused.
    paused: bool,
    /// The start and the end of the agent's uninterrupted sound.
    sounded: Option<(Duration, Duration)>,
}

#[derive(Debug)]
struct Saying {
    id: u64,
    began: bool,
}

impl Default for Floor {
    fn default() -> Self {
        Self {
            saying: None,
            interruptible: true,
            paused: false,
            sounded: None,
        }
    }
}

impl Floor {
    pub(super) fn began(&mut self, id: u64, now: Duration) {
        let Some(saying) = self.saying.as_mut().filter(|saying| saying.id == id) else {
            return;
        };
        saying.began = true;
        let since = match self.sounded {
            Some((since, until)) if now.saturating_sub(until) <= BREAK => since,
            _ => now,
        };
        self.sounded = Some((since, now));
    }

    /// Whether this sentence is being spoken.
    pub(super) fn speaks(&self, id: u64) -> bool {
        self.saying.as_ref().is_some_and(|saying| saying.id == id)
    }

    /// Whether the agent has an interruptible sentence.
    pub(super) const fn yields(&self) -> bool {
        self.saying.is_some() && self.interruptible
    }

    /// Whether a caller who speaks now talks over the agent.
    pub(super) fn is_heard(&self) -> bool {
        self.saying.as_ref().is_some_and(|saying| saying.began)
    }

    /// Whether the agent began so recently that the incoming sound may be its echo.
    pub(super) fn just_began(&self, now: Duration) -> bool {
        self.is_heard() && self.sounded.is_some_and(|(since, _)| now < since + MASKED)
    }

    fn end(&mut self, now: Duration) -> Option<u64> {
        let saying = self.saying.take()?;
        if let Some((_, until)) = self.sounded.as_mut().filter(|_| saying.began) {
            *until = now;
        }
        Some(saying.id)
    }
}

impl Turns {
    pub(super) fn say(&mut self, id: u64, now: Duration) {
        if self.phase == Phase::Ringing {
            self.effects.push(Effect::Cut(id));
            return;
        }
        // The line allows one sentence at a time; a violation ends the first one.
        self.cut(now);
        self.floor.saying = Some(Saying { id, began: false });
        if self.activity.speaking()
            && self.floor.interruptible
            && let Some(utterance) = &mut self.customer
        {
            utterance.decided_at = utterance.decided_at.max(now + DECIDES_WITHIN);
        }
        // A sentence that must wait must not start first.
        self.settle_pause(now);
        self.effects.push(Effect::Speak(id));
    }

    pub(super) fn played(&mut self, id: u64, now: Duration) {
        if self.floor.speaks(id) {
            self.floor.end(now);
            self.effects.push(Effect::Finish(id));
        }
    }

    /// Cuts the agent's sentence.
    pub(super) fn cut(&mut self, now: Duration) {
        if let Some(id) = self.floor.end(now) {
            self.effects.push(Effect::Cut(id));
        }
    }

    /// Until when the agent pauses for a caller whose intent is not clear yet.
    pub(super) fn pause_ends_at(&self) -> Option<Duration> {
        let utterance = self.customer.as_ref()?;
        let paused = self.floor.yields() && self.floor.paused && !self.held && !utterance.told;
        paused.then_some(utterance.decided_at)
    }

    /// Pauses or resumes the playout queue.
    pub(super) fn settle_pause(&mut self, now: Duration) {
        let customer = self.customer.as_ref();
        let waits = customer.is_some_and(|it| it.told || now < it.decided_at);
        let paused = self.is_answered() && (self.held || (self.floor.yields() && waits));
        if paused != self.floor.paused {
            self.floor.paused = paused;
            self.effects.push(if paused {
                Effect::Pause
            } else {
                Effect::Resume
            });
        }
    }
}
