//! The agent is silent: when a turn begins and ends, and its text.

use super::{Call, Event, RULES, Rules, ms, turn};
use crate::voice::turns::{Effect, Report};

#[test]
fn a_turn_is_over_once_the_customer_was_quiet_for_as_long_as_the_agent_waits() {
    let mut call = Call::answered(RULES);
    call.speech(1_000);
    call.partial("I would like a room");
    call.quiet(200);
    assert_eq!(
        call.followed(),
        [
            (120, Effect::SpeechBegan),
            (400, Effect::Report(Report::CustomerStarted)),
            (1_200, Effect::Finalize),
        ]
    );
    call.finalized("I would like a room.");
    call.quiet(2_000);
    assert_eq!(
        call.followed(),
        [
            (1_700, Effect::Forget),
            (
                1_700,
                Effect::Report(turn("I would like a room.", 1_000, 1_000))
            ),
        ]
    );
}

#[test]
fn what_sound_waits_before_it_is_heard_is_part_of_the_pause() {
    let mut call = Call::answered(Rules {
        heard_late: ms(40),
        ..RULES
    });
    call.quiet(100);
    call.speech(1_000);
    call.quiet(200);
    call.finalized("Tomorrow.");
    call.quiet(1_000);
    assert_eq!(
        call.reports()[1..],
        [(1_760, turn("Tomorrow.", 1_000, 1_060))]
    );
}

#[test]
fn one_word_is_a_turn_and_a_noise_is_none() {
    let mut call = Call::answered(RULES);
    call.speech(200);
    call.quiet(200);
    call.finalized("Yes.");
    call.quiet(1_000);
    assert_eq!(
        call.reports(),
        [
            (400, Report::CustomerStarted),
            (900, turn("Yes.", 200, 200))
        ]
    );
    call.speech(200);
    call.quiet(200);
    call.finalized("");
    call.quiet(1_000);
    assert_eq!(call.reports(), [], "nothing was said");
    call.speech(600);
    call.quiet(200);
    call.is(Event::Finalized);
    call.quiet(20);
    let reports = call.reports();
    assert_eq!(reports[0].1, Report::CustomerStarted);
    let Report::TurnOver { text, .. } = &reports[1].1 else {
        panic!("the session must learn that nothing came of it")
    };
    assert_eq!(text, "");
}

#[test]
fn a_turn_goes_on_after_a_pause_that_is_shorter() {
    let mut call = Call::answered(RULES);
    call.speech(500);
    call.quiet(200);
    call.finalized("I would like");
    call.quiet(400);
    call.speech(500);
    call.quiet(200);
    call.finalized("a room.");
    call.quiet(1_000);
    assert_eq!(
        call.reports()[1..],
        [(2_300, turn("I would like a room.", 1_600, 1_600))]
    );
}

#[test]
fn a_sentence_that_seems_to_go_on_is_waited_for() {
    for (said, over) in [
        ("I would like, um", 4_000),
        ("Yes,", 4_000),
        ("my number is 55 12", 4_000),
        ("Tomorrow", 1_700),
    ] {
        let mut call = Call::answered(RULES);
        call.speech(1_000);
        call.quiet(200);
        call.finalized(said);
        call.quiet(4_000);
        assert_eq!(call.reports()[1..], [(over, turn(said, 1_000, 1_000))]);
    }
}

#[test]
fn a_recognizer_that_decides_turns_overrides_every_pause() {
    let rules = Rules {
        turns: true,
        ..RULES
    };
    let mut call = Call::answered(rules);
    call.speech(1_000);
    call.quiet(100);
    call.final_words("Tomorrow,");
    call.is(Event::TurnEnded);
    assert_eq!(
        call.reports()[1..],
        [(1_100, turn("Tomorrow,", 1_000, 1_000))]
    );

    call.speech(1_000);
    call.quiet(200);
    call.finalized("Or the day after.");
    call.quiet(2_700);
    assert_eq!(call.reports().len(), 1, "only that it began");
    call.quiet(200);
    assert_eq!(
        call.reports().len(),
        1,
        "a recognizer that never says so is not waited for for ever"
    );
}

#[test]
fn a_turn_without_words_is_not_over_because_the_recognizer_says_so() {
    let rules = Rules {
        turns: true,
        ..RULES
    };
    let mut call = Call::answered(rules);
    call.speech(600);
    call.is(Event::TurnEnded);
    call.speech(400);
    call.final_words("All of it.");
    call.is(Event::TurnEnded);
    assert_eq!(
        call.reports()[1..],
        [(1_000, turn("All of it.", 1_000, 1_000))]
    );
}

#[test]
fn words_that_come_late_are_waited_for_and_then_no_more() {
    let mut call = Call::answered(RULES);
    call.speech(1_000);
    call.quiet(1_500);
    assert_eq!(call.reports(), [(400, Report::CustomerStarted)]);
    call.finalized("Here I am.");
    assert_eq!(call.reports(), [(2_500, turn("Here I am.", 1_000, 1_000))]);

    let mut call = Call::answered(RULES);
    call.speech(1_000);
    call.quiet(5_000);
    assert_eq!(
        call.reports(),
        [
            (400, Report::CustomerStarted),
            (3_200, turn("", 1_000, 1_000))
        ]
    );
    call.finalized("Here I am.");
    call.quiet(3_000);
    let reports = call.reports();
    let Report::TurnOver { text, .. } = &reports[1].1 else {
        panic!("late words are a turn of their own")
    };
    assert_eq!(text, "Here I am.");
}

#[test]
fn a_recognizer_that_works_on_whole_utterances_is_given_more_time() {
    let rules = Rules {
        partials: false,
        ..RULES
    };
    let mut call = Call::answered(rules);
    call.speech(1_000);
    call.quiet(9_000);
    call.finalized("Here I am.");
    assert_eq!(
        call.reports()[1..],
        [(10_000, turn("Here I am.", 1_000, 1_000))]
    );
    call.speech(1_000);
    call.quiet(11_500);
    assert_eq!(call.reports()[1..], [(21_200, turn("", 1_000, 11_000))]);
}

#[test]
fn words_reported_as_partial_are_not_reported_again_as_final() {
    let mut call = Call::answered(RULES);
    call.speech(1_000);
    call.partial("a room for");
    call.quiet(2_300);
    assert_eq!(
        call.reports()[1..],
        [(3_200, turn("a room for", 1_000, 1_000))]
    );
    call.partial("a room for two");
    call.finalized("A room for two.");
    call.quiet(3_000);
    assert_eq!(call.reports(), []);
    call.speech(500);
    call.quiet(200);
    call.finalized("Please.");
    call.quiet(1_000);
    assert_eq!(call.reports().len(), 2, "what is said next is heard");
}

#[test]
fn words_that_the_detector_did_not_hear_are_a_turn_too() {
    let mut call = Call::answered(RULES);
    call.quiet(500);
    call.partial("psst");
    call.quiet(200);
    call.finalized("psst");
    call.quiet(1_000);
    assert_eq!(
        call.followed(),
        [
            (500, Effect::SpeechBegan),
            (500, Effect::Report(Report::CustomerStarted)),
            (700, Effect::Finalize),
            (1_200, Effect::Forget),
            (1_200, Effect::Report(turn("psst", 0, 500))),
        ]
    );
}

#[test]
fn keys_are_text_and_end_with_a_hash_or_a_pause() {
    let mut call = Call::answered(RULES);
    for key in ['1', '2', '#'] {
        call.is(Event::Dtmf(key));
        call.quiet(300);
    }
    assert_eq!(
        call.reports(),
        [
            (0, Report::CustomerStarted),
            (600, turn("DTMF 12#", 600, 600))
        ]
    );
    call.is(Event::Dtmf('5'));
    call.is(Event::Dtmf('x'));
    call.quiet(2_000);
    assert_eq!(
        call.reports(),
        [
            (900, Report::CustomerStarted),
            (2_400, turn("DTMF 5", 0, 900))
        ]
    );
}

#[test]
fn keys_and_words_are_one_turn() {
    let mut call = Call::answered(RULES);
    call.speech(500);
    call.is(Event::Dtmf('7'));
    call.quiet(200);
    call.finalized("It is");
    call.quiet(2_000);
    assert_eq!(
        call.reports()[1..],
        [(2_000, turn("It is DTMF 7", 500, 500))]
    );
}

#[test]
fn speech_without_an_end_is_a_turn_after_a_minute() {
    let mut call = Call::answered(RULES);
    call.speech(30_000);
    call.final_words("For one thing.");
    call.speech(31_000);
    assert_eq!(
        call.reports()[1..],
        [(60_000, turn("For one thing.", 59_980, 59_980))]
    );
}

#[test]
fn another_recognizer_hears_the_utterance_from_its_beginning() {
    let mut call = Call::answered(RULES);
    call.speech(500);
    call.quiet(200);
    call.finalized("I would");
    call.speech(500);
    call.partial("like a");
    call.quiet(200);
    call.is(Event::RecognizerReplaced { finalizes: 2 });
    call.finalized("I would");
    call.finalized("like a room.");
    call.quiet(1_000);
    let reports = call.reports();
    assert_eq!(reports[1].1, turn("I would like a room.", 1_200, 1_200));
    assert_eq!(reports[1].0, ms(1_900).as_millis() as u64);
}
