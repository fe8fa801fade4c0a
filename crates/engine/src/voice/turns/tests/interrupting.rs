//! The customer speaks while the agent does.

use super::{Call, Event, RULES, Rules, ms, turn};
use crate::voice::turns::{Effect, Report};

#[test]
fn the_agent_pauses_at_once_and_is_cut_when_the_customer_goes_on() {
    let mut call = Call::spoken_to(RULES);
    call.speech(200);
    call.partial("excuse");
    call.speech(400);
    assert_eq!(
        call.followed(),
        [
            (1_120, Effect::SpeechBegan),
            (1_120, Effect::Pause),
            (1_400, Effect::Cut(1)),
            (1_400, Effect::Report(Report::CustomerStarted)),
            (1_400, Effect::Resume),
        ]
    );
}

#[test]
fn one_word_does_not_interrupt_before_its_time_however_early_it_is_understood() {
    let mut call = Call::spoken_to(RULES);
    call.speech(140);
    call.partial("excuse");
    call.speech(200);
    assert_eq!(call.voiced(), [(1_120, Effect::Pause)]);
    call.speech(60);
    assert_eq!(
        call.voiced(),
        [(1_400, Effect::Cut(1)), (1_400, Effect::Resume)]
    );
}

#[test]
fn two_words_interrupt_however_fast_they_were_said() {
    let mut call = Call::spoken_to(RULES);
    call.speech(200);
    call.partial("excuse me");
    assert_eq!(
        call.voiced(),
        [
            (1_120, Effect::Pause),
            (1_200, Effect::Cut(1)),
            (1_200, Effect::Resume)
        ]
    );
}

#[test]
fn a_stop_word_interrupts_at_once() {
    for word in ["stop", "Espera,", "no wait"] {
        let mut call = Call::spoken_to(RULES);
        call.speech(160);
        call.partial(word);
        assert_eq!(
            call.voiced()[1..],
            [(1_160, Effect::Cut(1)), (1_160, Effect::Resume)],
            "{word}"
        );
    }
}

#[test]
fn unrecognized_speech_resumes_the_agent_after_600_ms() {
    let mut call = Call::spoken_to(RULES);
    call.speech(2_000);
    assert_eq!(
        call.voiced(),
        [(1_120, Effect::Pause), (1_720, Effect::Resume)]
    );
    call.partial("hello are you there");
    assert_eq!(
        call.followed(),
        [
            (3_000, Effect::Cut(1)),
            (3_000, Effect::Report(Report::CustomerStarted)),
        ],
        "words that come later interrupt"
    );
}

#[test]
fn speech_alone_interrupts_if_the_recognizer_reports_no_partials() {
    let rules = Rules {
        partials: false,
        ..RULES
    };
    let mut call = Call::spoken_to(rules);
    call.speech(380);
    assert_eq!(call.voiced(), [(1_120, Effect::Pause)]);
    call.speech(20);
    assert_eq!(
        call.voiced(),
        [(1_400, Effect::Cut(1)), (1_400, Effect::Resume)]
    );
}

#[test]
fn a_murmur_does_not_interrupt_and_is_no_turn() {
    let mut call = Call::spoken_to(RULES);
    call.speech(500);
    call.partial("uh-huh");
    call.quiet(200);
    call.finalized("Uh-huh.");
    assert_eq!(
        call.voiced(),
        [(1_120, Effect::Pause), (1_700, Effect::Resume)],
        "as soon as it is understood"
    );
    call.quiet(2_000);
    assert_eq!(call.followed(), [(2_200, Effect::Forget)]);
}

#[test]
fn words_of_separate_murmurs_are_not_added_up() {
    let mut call = Call::spoken_to(RULES);
    for _ in 0..4 {
        call.speech(200);
        call.quiet(200);
        call.finalized("Yes.");
        call.quiet(1_000);
    }
    let voiced = call.voiced();
    assert!(
        voiced
            .iter()
            .all(|(_, it)| matches!(it, Effect::Pause | Effect::Resume)),
        "{voiced:?}"
    );
}

#[test]
fn a_short_word_during_the_agents_speech_is_recorded_without_interrupting() {
    let mut call = Call::spoken_to(RULES);
    call.speech(200);
    call.quiet(200);
    call.finalized("Yes.");
    call.quiet(1_000);
    assert_eq!(
        call.reports(),
        [(
            1_900,
            Report::TurnOver {
                text: "Yes.".to_owned(),
                duration: ms(200),
                spoke_until: ms(1_200),
                interrupts: false,
            }
        )]
    );
}

#[test]
fn a_word_into_the_agents_last_syllable_is_an_answer() {
    let mut call = Call::spoken_to(RULES);
    call.speech(200);
    call.quiet(200);
    call.finalized("Yes.");
    call.quiet(100);
    call.is(Event::Played(1));
    call.quiet(1_000);
    assert_eq!(
        call.reports(),
        [
            (1_500, Report::CustomerStarted),
            (1_900, turn("Yes.", 200, 1_200))
        ]
    );
}

#[test]
fn an_agent_that_may_not_be_interrupted_goes_on() {
    let mut call = Call::spoken_to(RULES);
    call.is(Event::Interruptible(false));
    call.speech(1_000);
    call.partial("stop stop stop");
    call.is(Event::Dtmf('1'));
    call.quiet(200);
    call.finalized("Stop, stop, stop.");
    call.quiet(2_000);
    assert_eq!(call.voiced(), []);
    call.is(Event::Played(1));
    assert_eq!(call.voiced(), [(4_200, Effect::Finish(1))]);
}

#[test]
fn a_farewell_that_was_paused_goes_on_once_nothing_may_interrupt_it() {
    let mut call = Call::spoken_to(RULES);
    call.speech(200);
    call.is(Event::Interruptible(false));
    assert_eq!(
        call.voiced(),
        [(1_120, Effect::Pause), (1_200, Effect::Resume)]
    );
}

#[test]
fn the_agents_first_300_ms_are_taken_for_its_echo() {
    let mut call = Call::answered(RULES);
    call.is(Event::Say(1));
    call.is(Event::Began(1));
    call.speech(280);
    call.quiet(500);
    assert_eq!(call.voiced(), [(0, Effect::Speak(1))]);
    // The next sentence of the same turn is no new start.
    call.is(Event::Played(1));
    call.is(Event::Say(2));
    call.quiet(100);
    call.is(Event::Began(2));
    call.speech(120);
    assert_eq!(call.voiced()[2..], [(1_000, Effect::Pause)]);
}

#[test]
fn a_key_interrupts_at_once() {
    let mut call = Call::spoken_to(RULES);
    call.is(Event::Dtmf('3'));
    assert_eq!(
        call.followed(),
        [
            (1_000, Effect::Cut(1)),
            (1_000, Effect::Report(Report::CustomerStarted)),
        ]
    );
}

#[test]
fn what_the_agent_wants_to_say_waits_while_the_customer_speaks() {
    let mut call = Call::answered(RULES);
    call.speech(200);
    call.is(Event::Say(1));
    assert_eq!(
        call.voiced(),
        [(200, Effect::Pause), (200, Effect::Speak(1))]
    );
    call.quiet(200);
    call.finalized("");
    assert_eq!(
        call.voiced(),
        [(400, Effect::Resume)],
        "it was a noise, and the agent speaks"
    );

    let mut call = Call::answered(RULES);
    call.speech(600);
    call.is(Event::Say(1));
    call.quiet(200);
    call.finalized("One more thing.");
    call.quiet(400);
    assert_eq!(
        call.voiced(),
        [(600, Effect::Pause), (600, Effect::Speak(1))]
    );
    call.is(Event::Stop);
    assert_eq!(
        call.voiced(),
        [(1_200, Effect::Cut(1)), (1_200, Effect::Resume)]
    );
}

#[test]
fn a_new_burst_after_a_false_one_pauses_again() {
    let mut call = Call::spoken_to(RULES);
    call.speech(200);
    call.quiet(600);
    call.speech(200);
    assert_eq!(
        call.voiced(),
        [
            (1_120, Effect::Pause),
            (1_720, Effect::Resume),
            (1_920, Effect::Pause)
        ]
    );
}
