//! Who has the floor of a spoken call: a state, what happens to it, and what follows. It knows no sound, no clock and
//! no task, so that every race is decided here and nowhere else.
//!
//! What the agent says is numbered, and each event of the voice names its number: what comes late for a sentence that
//! was cut belongs to nobody. What a recogniser still owes for a turn that is over is known by the number of the
//! request that it answers.

mod customer;
mod floor;
mod screen;
#[cfg(test)]
mod tests;

use std::time::Duration;

use offhook_domain::FailureReason;

use crate::voice::activity::{Activity, Edge};
use customer::{Ear, Utterance};
use floor::Floor;
use screen::Screen;

/// How long an answered call may bring no sound at all.
const NO_MEDIA: Duration = Duration::from_secs(8);

/// How long the sound of a call under way may be gone.
const MEDIA_LOST: Duration = Duration::from_secs(20);

/// The rules that differ from call to call.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rules {
    /// How long the customer must be quiet before their turn is over (`endpointing_ms`).
    pub(crate) endpointing: Duration,
    /// How long sound has waited when it is heard here: who is silent has been for so much longer already.
    pub(crate) heard_late: Duration,
    /// Whether it matters that a machine answers.
    pub(crate) screens: bool,
    /// Whether the recogniser tells words while they are spoken.
    pub(crate) partials: bool,
    /// Whether the recogniser decides itself when a turn is over.
    pub(crate) turns: bool,
}

/// What happens. Times are those of [`Turns::step`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Event {
    Ringing,
    Answered,
    /// 20 ms of the call: whether the caller speaks in them, and whether anything came at all.
    Frame {
        speech: bool,
        lost: bool,
    },
    /// The carrier has found out who answered.
    Screened {
        machine: bool,
    },
    /// A key.
    Dtmf(char),
    Hold(bool),
    /// What the recogniser takes the last words for so far.
    Partial(String),
    /// Words that never change again.
    Final(String),
    /// All that was heard up to the oldest unanswered [`Effect::Finalize`] has been told.
    Finalized,
    /// The recogniser says that the turn is over.
    TurnEnded,
    /// Another recogniser took over. It hears the present utterance from its beginning, with so many of its requests
    /// to finalize.
    EarReplaced {
        finalizes: u64,
    },
    /// No recogniser is left.
    EarFailed,
    /// The agent wants to say its next sentence. Numbers rise.
    Say(u64),
    /// The first sound of a sentence was sent.
    Began(u64),
    /// All of a sentence was sent.
    Played(u64),
    /// No voice could say it.
    VoiceFailed(u64),
    /// The agent falls silent of its own.
    Stop,
    /// Whether the agent may be interrupted from now on.
    Interruptible(bool),
    /// The time of [`Turns::wakes_at`] has come.
    Time,
    /// The call is over.
    Over(End),
}

/// How a call ends, as far as the line knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// The other side hung up.
    Hangup,
    Failed(FailureReason),
    /// The agent's side hung up, or the line is gone without a word.
    Silent,
}

/// What follows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Effect {
    /// The session is told.
    Tell(Told),
    /// A sentence is put into the queue of what is played.
    Speak(u64),
    /// A sentence was heard whole.
    Finish(u64),
    /// A sentence is cut: the queue is emptied, and the agent learns what was heard.
    Cut(u64),
    /// The queue falls silent.
    Pause,
    /// The queue goes on.
    Resume,
    /// The recogniser is told that the caller began to speak.
    SpeechBegan,
    /// The recogniser is to tell what it heard so far.
    Finalize,
    /// The utterance is over: its sound is not needed any more.
    Forget,
}

/// What the session is told, beside the call's own events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Told {
    Ringing,
    Answered,
    Screened {
        machine: bool,
        heard: String,
        duration: Duration,
    },
    CustomerStarted,
    TurnOver {
        text: String,
        duration: Duration,
        /// When the last of it was spoken.
        spoke_until: Duration,
        /// Whether the agent falls silent for it.
        interrupts: bool,
    },
    Held(bool),
    Hangup,
    Failed(FailureReason),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Nobody has answered.
    Ringing,
    /// Somebody or something has; which of them is being found out.
    Screening(Screen),
    /// A person is on the line.
    Person,
    /// A machine is on the line.
    Machine,
    Over,
}

/// The state of a spoken call.
#[derive(Debug)]
pub(crate) struct Turns {
    rules: Rules,
    phase: Phase,
    held: bool,
    activity: Activity,
    ear: Ear,
    customer: Option<Utterance>,
    floor: Floor,
    /// When sound came last, or the call was answered.
    media_at: Duration,
    media_came: bool,
    effects: Vec<Effect>,
}

impl Turns {
    pub(crate) fn new(rules: Rules) -> Self {
        Self {
            rules,
            phase: Phase::Ringing,
            held: false,
            activity: Activity::default(),
            ear: Ear::default(),
            customer: None,
            floor: Floor::default(),
            media_at: Duration::ZERO,
            media_came: false,
            effects: Vec::new(),
        }
    }

    /// Takes in what happened `now`, counted from whatever instant the caller likes; it never goes back.
    pub(crate) fn step(&mut self, event: Event, now: Duration) -> Vec<Effect> {
        if self.phase == Phase::Over {
            if let Event::Say(id) = event {
                self.effects.push(Effect::Cut(id));
            }
        } else {
            self.take(event, now);
            self.settle(now);
        }
        std::mem::take(&mut self.effects)
    }

    /// When something follows though nothing happens: [`Event::Time`] is due then.
    pub(crate) fn wakes_at(&self) -> Option<Duration> {
        if matches!(self.phase, Phase::Over | Phase::Ringing) {
            return None;
        }
        [
            self.media_ends_at(),
            self.screen_ends_at(),
            self.finalizes_at(),
            self.pause_ends_at(),
            self.turn_ends_at(),
        ]
        .into_iter()
        .flatten()
        .min()
    }

    /// Whether the caller's sound is anybody's business now.
    pub(crate) const fn listens(&self) -> bool {
        !self.held && self.is_answered()
    }

    /// Whether somebody answered, and the call is not over.
    pub(crate) const fn is_answered(&self) -> bool {
        !matches!(self.phase, Phase::Ringing | Phase::Over)
    }

    pub(crate) fn is_over(&self) -> bool {
        self.phase == Phase::Over
    }

    fn tell(&mut self, told: Told) {
        self.effects.push(Effect::Tell(told));
    }

    fn take(&mut self, event: Event, now: Duration) {
        match event {
            Event::Ringing => {
                if self.phase == Phase::Ringing {
                    self.tell(Told::Ringing);
                }
            }
            Event::Answered => self.answered(now),
            Event::Frame { speech, lost } => self.frame(speech, lost, now),
            Event::Screened { machine } => self.carrier_screened(machine, now),
            Event::Dtmf(key) => self.key(key, now),
            Event::Hold(on) => self.hold(on, now),
            Event::Partial(text) => self.partial(text, now),
            Event::Final(text) => self.words(&text, now),
            Event::Finalized => self.ear.finalized(),
            Event::TurnEnded => self.recogniser_ends_turn(),
            Event::EarReplaced { finalizes } => {
                self.ear.replaced(finalizes);
                if let Some(utterance) = &mut self.customer {
                    utterance.forget_words();
                }
            }
            Event::EarFailed => self.end(End::Failed(FailureReason::AgentError), now),
            Event::Say(id) => self.say(id, now),
            Event::Began(id) => self.floor.began(id, now),
            Event::Played(id) => self.played(id, now),
            Event::VoiceFailed(id) => {
                if self.floor.speaks(id) {
                    self.end(End::Failed(FailureReason::AgentError), now);
                }
            }
            Event::Stop => self.cut(now),
            Event::Interruptible(may) => self.floor.interruptible = may,
            Event::Time => {}
            Event::Over(end) => self.end(end, now),
        }
    }

    fn answered(&mut self, now: Duration) {
        if self.phase != Phase::Ringing {
            return;
        }
        self.media_at = now;
        self.tell(Told::Answered);
        self.phase = if self.rules.screens {
            Phase::Screening(Screen::new(now))
        } else {
            Phase::Person
        };
    }

    fn frame(&mut self, speech: bool, lost: bool, now: Duration) {
        if !self.is_answered() {
            return;
        }
        if !lost {
            self.media_at = now;
            self.media_came = true;
        }
        if self.held {
            return;
        }
        // The agent's own first syllables come back before an echo canceller has learnt the line.
        let masked = self.customer.is_none() && self.floor.just_began(now);
        if self.activity.hear(speech && !masked, now) == Some(Edge::Began) {
            self.speech_begins(now);
        }
        if self.activity.speaking()
            && let Some(utterance) = &mut self.customer
        {
            utterance.spoke_until = self
                .activity
                .last_at()
                .saturating_sub(self.rules.heard_late);
        }
    }

    /// On hold, nobody listens, nobody speaks, and no time passes that is waited for.
    fn hold(&mut self, on: bool, now: Duration) {
        if self.held == on || !self.is_answered() {
            return;
        }
        self.held = on;
        self.activity.reset();
        self.media_at = now;
        self.tell(Told::Held(on));
    }

    fn end(&mut self, end: End, now: Duration) {
        self.cut(now);
        if self.is_answered() {
            // The words so far belong to the conversation, though nobody will answer them.
            self.close_turn();
        }
        self.phase = Phase::Over;
        match end {
            End::Hangup => self.tell(Told::Hangup),
            End::Failed(reason) => self.tell(Told::Failed(reason)),
            End::Silent => {}
        }
    }

    /// Does all that is due.
    fn settle(&mut self, now: Duration) {
        let due = |at: Option<Duration>| at.is_some_and(|at| at <= now);
        if self.is_answered() && due(self.media_ends_at()) {
            // No sound from the beginning is the network's fault (`no_media`), its loss the call's (`media_lost`).
            let reason = if self.media_came {
                FailureReason::AgentError
            } else {
                FailureReason::CarrierError
            };
            self.end(End::Failed(reason), now);
        }
        if self.is_answered() {
            self.screen(now);
            self.confirm(now);
            if due(self.finalizes_at()) {
                self.finalize(now);
            }
            if due(self.turn_ends_at()) {
                self.close_turn();
            }
        }
        self.settle_pause(now);
    }

    fn media_ends_at(&self) -> Option<Duration> {
        let patience = if self.media_came {
            MEDIA_LOST
        } else {
            NO_MEDIA
        };
        self.listens().then(|| self.media_at + patience)
    }
}
