//! The agent's side: what it is saying, and when it holds its tongue.

use std::time::Duration;

use super::{Effect, Phase, Turns};

/// How long the agent's first sound keeps the caller's from counting.
const MASKED: Duration = Duration::from_millis(300);

/// A pause of the agent that makes what follows a new beginning.
const BREAK: Duration = Duration::from_millis(300);

/// How long the agent pauses for a caller who began to speak, until it is clear what they want.
pub(super) const DECIDES_WITHIN: Duration = Duration::from_millis(600);

/// What the agent is saying.
#[derive(Debug)]
pub(super) struct Floor {
    saying: Option<Saying>,
    pub(super) interruptible: bool,
    /// Whether the queue was told to be silent.
    paused: bool,
    /// Since when the agent has been heard without a break, and until when it was.
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

    /// Whether this is what is being said.
    pub(super) fn speaks(&self, id: u64) -> bool {
        self.saying.as_ref().is_some_and(|saying| saying.id == id)
    }

    /// Whether the agent has something to say that a caller may keep it from saying.
    pub(super) const fn yields(&self) -> bool {
        self.saying.is_some() && self.interruptible
    }

    /// Whether a caller who speaks now speaks over the agent.
    pub(super) fn is_heard(&self) -> bool {
        self.saying.as_ref().is_some_and(|saying| saying.began)
    }

    /// Whether the agent began so lately that what comes in may be its own voice.
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
        // One at a time: the line says so, and whoever breaks it hears of the first one's end.
        self.cut(now);
        self.floor.saying = Some(Saying { id, began: false });
        if self.activity.speaking()
            && self.floor.interruptible
            && let Some(utterance) = &mut self.customer
        {
            utterance.decided_at = utterance.decided_at.max(now + DECIDES_WITHIN);
        }
        // What is to wait must not slip out first.
        self.settle_pause(now);
        self.effects.push(Effect::Speak(id));
    }

    pub(super) fn played(&mut self, id: u64, now: Duration) {
        if self.floor.speaks(id) {
            self.floor.end(now);
            self.effects.push(Effect::Finish(id));
        }
    }

    /// Takes the agent's words from it.
    pub(super) fn cut(&mut self, now: Duration) {
        if let Some(id) = self.floor.end(now) {
            self.effects.push(Effect::Cut(id));
        }
    }

    /// Until when the agent holds its tongue for a caller of whom it is not clear yet what they want.
    pub(super) fn pause_ends_at(&self) -> Option<Duration> {
        let utterance = self.customer.as_ref()?;
        let paused = self.floor.yields() && self.floor.paused && !self.held && !utterance.told;
        paused.then_some(utterance.decided_at)
    }

    /// Silences the queue, or lets it go on.
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
