//! The turn-taking rules, one by one, on a manual clock.

mod any_order;
mod interrupting;
mod listening;
mod screening;

use std::time::Duration;

use super::{Effect, End, Event, Report, Rules, Turns};

pub(super) const RULES: Rules = Rules {
    endpointing: Duration::from_millis(700),
    heard_late: Duration::ZERO,
    screens: false,
    partials: true,
    turns: false,
};

pub(super) const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// A call, and its effects with their times.
pub(super) struct Call {
    turns: Turns,
    now: Duration,
    pub(super) followed: Vec<(u64, Effect)>,
}

impl Call {
    /// An unanswered call.
    pub(super) fn ringing(rules: Rules) -> Self {
        Self {
            turns: Turns::new(rules),
            now: Duration::ZERO,
            followed: Vec::new(),
        }
    }

    /// A call that a person has just answered.
    pub(super) fn answered(rules: Rules) -> Self {
        let mut call = Self::ringing(rules);
        call.is(Event::Answered);
        call.followed.clear();
        call
    }

    /// A call on which the agent has been saying sentence 1 for one second.
    pub(super) fn spoken_to(rules: Rules) -> Self {
        let mut call = Self::answered(rules);
        call.is(Event::Say(1));
        call.is(Event::Began(1));
        call.quiet(1_000);
        call.followed.clear();
        call
    }

    /// Sends an event now.
    pub(super) fn is(&mut self, event: Event) {
        let at = u64::try_from(self.now.as_millis()).unwrap_or(u64::MAX);
        let effects = self.turns.step(event, self.now);
        self.followed
            .extend(effects.into_iter().map(|effect| (at, effect)));
        assert!(
            self.turns.wakes_at().is_none_or(|at| at > self.now),
            "what is due is done"
        );
    }

    pub(super) fn partial(&mut self, text: &str) {
        self.is(Event::Partial(text.to_owned()));
    }

    pub(super) fn final_words(&mut self, text: &str) {
        self.is(Event::Final(text.to_owned()));
    }

    /// The recognizer answers a finalize request.
    pub(super) fn finalized(&mut self, text: &str) {
        self.final_words(text);
        self.is(Event::Finalized);
    }

    pub(super) fn quiet(&mut self, for_ms: u64) {
        self.frames(false, false, for_ms);
    }

    pub(super) fn speech(&mut self, for_ms: u64) {
        self.frames(true, false, for_ms);
    }

    pub(super) fn lost(&mut self, for_ms: u64) {
        self.frames(false, true, for_ms);
    }

    fn frames(&mut self, speech: bool, lost: bool, for_ms: u64) {
        for _ in 0..for_ms / 20 {
            self.pass(20);
            self.is(Event::Frame { speech, lost });
        }
    }

    /// Advances the time without a frame.
    pub(super) fn pass(&mut self, for_ms: u64) {
        let until = self.now + ms(for_ms);
        while let Some(at) = self.turns.wakes_at().filter(|at| *at <= until) {
            self.now = at;
            self.is(Event::Time);
        }
        self.now = until;
    }

    /// The effects since the last call of this function.
    pub(super) fn followed(&mut self) -> Vec<(u64, Effect)> {
        std::mem::take(&mut self.followed)
    }

    /// The reports to the session since the last call of this function.
    pub(super) fn reports(&mut self) -> Vec<(u64, Report)> {
        let followed = self.followed().into_iter();
        followed
            .filter_map(|(at, effect)| match effect {
                Effect::Report(reports) => Some((at, reports)),
                _ => None,
            })
            .collect()
    }

    /// The playback effects since the last call of this function.
    pub(super) fn voiced(&mut self) -> Vec<(u64, Effect)> {
        let mut followed = self.followed();
        followed.retain(|(_, effect)| {
            matches!(
                effect,
                Effect::Speak(_)
                    | Effect::Finish(_)
                    | Effect::Cut(_)
                    | Effect::Pause
                    | Effect::Resume
            )
        });
        followed
    }
}

/// A turn that interrupts the agent.
pub(super) fn turn(text: &str, duration: u64, spoke_until: u64) -> Report {
    Report::TurnOver {
        text: text.to_owned(),
        duration: ms(duration),
        spoke_until: ms(spoke_until),
        interrupts: true,
    }
}

#[test]
fn a_line_without_sound_is_given_up_after_8_seconds_and_after_20_in_a_call() {
    use offhook_domain::FailureReason::{AgentError, CarrierError};
    let mut call = Call::answered(RULES);
    call.lost(7_980);
    assert_eq!(call.reports(), []);
    call.lost(100);
    assert_eq!(call.reports(), [(8_000, Report::Failed(CarrierError))]);

    let mut call = Call::answered(RULES);
    call.quiet(1_000);
    call.lost(19_980);
    assert_eq!(call.reports(), []);
    call.pass(20);
    assert_eq!(call.reports(), [(21_000, Report::Failed(AgentError))]);
}

#[test]
fn a_call_on_hold_waits_for_nothing_and_says_nothing() {
    let mut call = Call::spoken_to(RULES);
    call.is(Event::Hold(true));
    call.is(Event::Hold(true));
    call.frames(true, false, 5_000);
    call.pass(60_000);
    call.partial("music plays");
    call.is(Event::Hold(false));
    call.quiet(100);
    assert_eq!(
        call.followed(),
        [
            (1_000, Effect::Report(Report::Held(true))),
            (1_000, Effect::Pause),
            (66_000, Effect::Report(Report::Held(false))),
            (66_000, Effect::Resume),
        ]
    );
    call.lost(19_980);
    assert_eq!(call.reports(), [], "the time without sound counts anew");
}

#[test]
fn nothing_is_heard_before_the_answer() {
    let mut call = Call::ringing(RULES);
    call.is(Event::Ringing);
    call.speech(3_000);
    call.partial("ring ring");
    call.is(Event::Dtmf('1'));
    call.pass(60_000);
    assert_eq!(call.followed(), [(0, Effect::Report(Report::Ringing))]);
    call.is(Event::Answered);
    call.is(Event::Answered);
    assert_eq!(
        call.followed(),
        [(63_000, Effect::Report(Report::Answered))]
    );
}

#[test]
fn the_end_of_a_call_cuts_the_current_and_queued_sentences() {
    let mut call = Call::spoken_to(RULES);
    call.is(Event::Over(End::Hangup));
    call.is(Event::Over(End::Hangup));
    call.is(Event::Say(2));
    call.speech(1_000);
    call.partial("hello?");
    assert_eq!(
        call.followed(),
        [
            (1_000, Effect::Cut(1)),
            (1_000, Effect::Report(Report::Hangup)),
            (1_000, Effect::Cut(2)),
        ]
    );
}

#[test]
fn pending_words_are_reported_before_the_hangup() {
    let mut call = Call::answered(RULES);
    call.speech(1_000);
    call.partial("I have to go");
    call.is(Event::Over(End::Hangup));
    assert_eq!(
        call.reports(),
        [
            (400, Report::CustomerStarted),
            (1_000, turn("I have to go", 1_000, 1_000)),
            (1_000, Report::Hangup)
        ]
    );
}

#[test]
fn late_events_of_a_cut_sentence_are_ignored() {
    let mut call = Call::spoken_to(RULES);
    call.is(Event::Stop);
    call.is(Event::Say(2));
    for event in [Event::Began(1), Event::Played(1), Event::VoiceFailed(1)] {
        call.is(event);
    }
    assert_eq!(
        call.followed(),
        [(1_000, Effect::Cut(1)), (1_000, Effect::Speak(2))]
    );
    call.is(Event::Played(2));
    call.is(Event::Played(2));
    assert_eq!(call.followed(), [(1_000, Effect::Finish(2))]);
}

#[test]
fn a_call_without_a_voice_or_an_recognizer_fails() {
    use offhook_domain::FailureReason::AgentError;
    for event in [Event::VoiceFailed(1), Event::RecognizerFailed] {
        let mut call = Call::spoken_to(RULES);
        call.is(event);
        assert_eq!(
            call.followed(),
            [
                (1_000, Effect::Cut(1)),
                (1_000, Effect::Report(Report::Failed(AgentError)))
            ]
        );
    }
}
