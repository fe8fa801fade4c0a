//! Turn-taking of a spoken call, as a state machine: events in, effects out. It has no sound, clock or task, so that
//! every race is decided here.
//!
//! Agent sentences are numbered, and each playback event names its sentence. Late events of a cut sentence are ignored.
//! The recognizer's late results for a finished turn are identified by the number of the finalize request that they
//! answer.

mod barge_in;
mod customer;
mod floor;
mod screen;
#[cfg(test)]
mod tests;

use std::time::Duration;

use offhook_domain::FailureReason;

use crate::voice::activity::{Activity, Edge};
use customer::{RecognizerState, Utterance};
use floor::Floor;
use screen::Screen;

/// How long an answered call may go without any audio.
const NO_MEDIA: Duration = Duration::from_secs(8);

/// How long the audio of a call in progress may be missing.
const MEDIA_LOST: Duration = Duration::from_secs(20);

/// The settings that differ between calls.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rules {
    /// How long the customer must be silent before the turn is over (`endpointing_ms`).
    pub(crate) endpointing: Duration,
    /// The delay of the audio here. A silent caller has already been silent for this much longer.
    pub(crate) heard_late: Duration,
    /// Whether to detect answering machines.
    pub(crate) screens: bool,
    /// Whether the recognizer sends interim results.
    pub(crate) partials: bool,
    /// Whether the recognizer detects the end of a turn itself.
    pub(crate) turns: bool,
}

/// An event. Times are those of [`Turns::step`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Event {
    Ringing,
    Answered,
    /// 20 ms of the call: whether the caller speaks in them, and whether the packet was lost.
    Frame {
        speech: bool,
        lost: bool,
    },
    /// The carrier detected who answered.
    Screened {
        machine: bool,
    },
    /// A key press.
    Dtmf(char),
    Hold(bool),
    /// The recognizer's interim text.
    Partial(String),
    /// The recognizer's final text.
    Final(String),
    /// All audio up to the oldest unanswered [`Effect::Finalize`] has its results.
    Finalized,
    /// The recognizer detected the end of the turn.
    TurnEnded,
    /// A fallback recognizer took over. It hears the current utterance from its beginning, with this many of its
    /// finalize requests.
    RecognizerReplaced {
        finalizes: u64,
    },
    /// All recognizers failed.
    RecognizerFailed,
    /// The agent wants to say its next sentence. Numbers increase.
    Say(u64),
    /// The first audio of a sentence was sent.
    Began(u64),
    /// A sentence was sent completely.
    Played(u64),
    /// All synthesizers failed on this sentence.
    VoiceFailed(u64),
    /// The session stops the agent's speech.
    Stop,
    /// Whether the customer may barge in from now on.
    Interruptible(bool),
    /// The time of [`Turns::wakes_at`] has come.
    Time,
    Over(End),
}

/// How the line ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    Hangup,
    Failed(FailureReason),
    /// The agent's side hung up, or the line is gone without a reason.
    Silent,
}

/// What the call's task must do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Effect {
    /// Reports to the session.
    Report(Report),
    /// Enqueues a sentence for playout.
    Speak(u64),
    /// A sentence was played completely.
    Finish(u64),
    /// Cuts a sentence: empties the queue, and reports to the agent what was heard.
    Cut(u64),
    /// Pauses the playout queue.
    Pause,
    /// Resumes the playout queue.
    Resume,
    /// Marks the start of speech for the recognizer.
    SpeechBegan,
    /// Requests the recognizer's results so far.
    Finalize,
    /// The utterance is over: its audio is no longer needed.
    Forget,
}

/// A report to the session, besides the call's own events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Report {
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
        /// When its last word was spoken.
        spoke_until: Duration,
        /// Whether it interrupts the agent.
        interrupts: bool,
    },
    Held(bool),
    Hangup,
    Failed(FailureReason),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// The call is unanswered.
    Ringing,
    /// A person or a machine answered; screening is in progress.
    Screening(Screen),
    /// A person answered.
    Person,
    /// A machine answered.
    Machine,
    Over,
}

#[derive(Debug)]
pub(crate) struct Turns {
    rules: Rules,
    phase: Phase,
    held: bool,
    activity: Activity,
    recognizer: RecognizerState,
    customer: Option<Utterance>,
    floor: Floor,
    /// When audio last came, or when the call was answered.
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
            recognizer: RecognizerState::default(),
            customer: None,
            floor: Floor::default(),
            media_at: Duration::ZERO,
            media_came: false,
            effects: Vec::new(),
        }
    }

    /// Handles an event at the time `now`, which counts from any fixed instant and never decreases.
    pub(crate) fn step(&mut self, event: Event, now: Duration) -> Vec<Effect> {
        if self.phase == Phase::Over {
            if let Event::Say(id) = event {
                self.effects.push(Effect::Cut(id));
            }
        } else {
            self.handle(event, now);
            self.settle(now);
        }
        std::mem::take(&mut self.effects)
    }

    /// When [`Event::Time`] is due if no other event comes.
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

    /// Whether the caller's audio counts now.
    pub(crate) const fn listens(&self) -> bool {
        !self.held && self.is_answered()
    }

    /// Whether the call was answered and is not over.
    pub(crate) const fn is_answered(&self) -> bool {
        !matches!(self.phase, Phase::Ringing | Phase::Over)
    }

    pub(crate) fn is_over(&self) -> bool {
        self.phase == Phase::Over
    }

    fn report(&mut self, report: Report) {
        self.effects.push(Effect::Report(report));
    }

    fn handle(&mut self, event: Event, now: Duration) {
        match event {
            Event::Ringing => {
                if self.phase == Phase::Ringing {
                    self.report(Report::Ringing);
                }
            }
            Event::Answered => self.answered(now),
            Event::Frame { speech, lost } => self.frame(speech, lost, now),
            Event::Screened { machine } => self.carrier_screened(machine, now),
            Event::Dtmf(key) => self.key(key, now),
            Event::Hold(on) => self.hold(on, now),
            Event::Partial(text) => self.partial(text, now),
            Event::Final(text) => self.words(&text, now),
            Event::Finalized => self.recognizer.finalized(),
            Event::TurnEnded => self.recognizer_ends_turn(),
            Event::RecognizerReplaced { finalizes } => {
                self.recognizer.replaced(finalizes);
                if let Some(utterance) = &mut self.customer {
                    utterance.forget_words();
                }
            }
            Event::RecognizerFailed => self.end(End::Failed(FailureReason::AgentError), now),
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
        self.report(Report::Answered);
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
        // The echo of the agent's first syllables returns before an echo canceler has learned the line.
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

    /// On hold neither side listens or speaks, and all timers stop.
    fn hold(&mut self, on: bool, now: Duration) {
        if self.held == on || !self.is_answered() {
            return;
        }
        self.held = on;
        self.activity.reset();
        self.media_at = now;
        self.report(Report::Held(on));
    }

    fn end(&mut self, end: End, now: Duration) {
        self.cut(now);
        if self.is_answered() {
            // The words so far belong to the transcript, although they get no answer.
            self.close_turn();
        }
        self.phase = Phase::Over;
        match end {
            End::Hangup => self.report(Report::Hangup),
            End::Failed(reason) => self.report(Report::Failed(reason)),
            End::Silent => {}
        }
    }

    /// Carries out everything that is due.
    fn settle(&mut self, now: Duration) {
        let due = |at: Option<Duration>| at.is_some_and(|at| at <= now);
        if self.is_answered() && due(self.media_ends_at()) {
            // Missing audio from the start is the network's fault (`no_media`), its later loss the call's
            // (`media_lost`).
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
