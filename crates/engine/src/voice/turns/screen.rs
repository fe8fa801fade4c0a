//! Answering machine detection: a person says hello and waits, a machine keeps talking.

use std::time::Duration;

use super::customer::Utterance;
use super::{Phase, Report, Turns};
use crate::voice::words;

const LONGEST_HELLO: Duration = Duration::from_millis(2_500);

/// The pause after a person's greeting.
const AFTER_HELLO: Duration = Duration::from_millis(500);

/// How long the recognizer may take for the words of a hello, since its results were requested. A machine's words
/// reveal it.
const WORDS_OF_HELLO: Duration = Duration::from_millis(1_500);

/// How long the callee may be silent; after it, a person is waiting for the caller to begin.
const NO_HELLO: Duration = Duration::from_secs(3);

/// The latest time of the decision.
const LIMIT: Duration = Duration::from_secs(10);

/// The state of the detection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Screen {
    since: Duration,
}

impl Screen {
    pub(super) const fn new(since: Duration) -> Self {
        Self { since }
    }
}

impl Turns {
    /// Decides who answered, if possible now.
    pub(super) fn screen(&mut self, now: Duration) {
        let Phase::Screening(_) = self.phase else {
            return;
        };
        let greets = self.customer.as_ref();
        let is_machine = greets.is_some_and(|it| {
            it.spoke_until.saturating_sub(it.began_at) > LONGEST_HELLO
                || words::is_machine(&it.text())
        });
        if is_machine {
            self.machine_answered();
        } else if self.screen_ends_at().is_some_and(|at| at <= now) {
            self.person_answered(now);
        }
    }

    /// The carrier's own detection result. It counts until a decision was made here.
    pub(super) fn carrier_screened(&mut self, machine: bool, now: Duration) {
        let Phase::Screening(_) = self.phase else {
            return;
        };
        if machine {
            self.machine_answered();
        } else if !self.activity.speaking() {
            // A callee who is still speaking has not finished the hello that the agent answers.
            self.person_answered(now);
        }
    }

    fn machine_answered(&mut self) {
        self.phase = Phase::Machine;
        self.report(Report::Screened {
            machine: true,
            heard: String::new(),
            duration: Duration::ZERO,
        });
    }

    /// A person's first words are no turn that needs a reply, however late they are recognized: the agent's greeting is
    /// the reply.
    pub(super) fn person_answered(&mut self, now: Duration) {
        if self.customer.as_ref().is_some_and(Utterance::is_unasked) {
            self.finalize(now);
        }
        let hello = self.take_utterance();
        self.recognizer.passes_over_what_it_owes();
        self.phase = Phase::Person;
        self.report(Report::Screened {
            machine: false,
            heard: hello.as_ref().map_or_else(String::new, |it| it.text()),
            duration: hello.map_or(Duration::ZERO, |it| it.duration()),
        });
    }

    pub(super) fn screen_ends_at(&self) -> Option<Duration> {
        let Phase::Screening(screen) = self.phase else {
            return None;
        };
        let decided_at = match &self.customer {
            None if self.activity.speaking() => screen.since + LIMIT,
            None => screen.since + NO_HELLO,
            Some(_) if self.activity.speaking() => screen.since + LIMIT,
            Some(utterance) => {
                let quiet_at = utterance.spoke_until + AFTER_HELLO;
                let owed = utterance.asked_at.filter(|_| !self.recognizer.is_settled());
                owed.filter(|_| utterance.text().is_empty())
                    .map_or(quiet_at, |asked_at| quiet_at.max(asked_at + WORDS_OF_HELLO))
            }
        };
        self.listens().then(|| decided_at.min(screen.since + LIMIT))
    }
}
