//! Answering machine detection.

use super::{Call, Event, RULES, Rules, ms, turn};
use crate::voice::turns::Report;

const SCREENED: Rules = Rules {
    screens: true,
    ..RULES
};

/// A recognizer that processes an utterance only on request.
const SLOW: Rules = Rules {
    partials: false,
    ..SCREENED
};

fn person(heard: &str, duration: u64) -> Report {
    Report::Screened {
        machine: false,
        heard: heard.to_owned(),
        duration: ms(duration),
    }
}

fn machine() -> Report {
    Report::Screened {
        machine: true,
        heard: String::new(),
        duration: ms(0),
    }
}

#[test]
fn a_short_hello_and_a_pause_are_a_persons() {
    let mut call = Call::answered(SCREENED);
    call.quiet(1_000);
    call.speech(600);
    call.quiet(300);
    call.finalized("Hello?");
    call.quiet(1_000);
    assert_eq!(call.reports(), [(2_100, person("Hello?", 600))]);
}

#[test]
fn a_hello_that_is_understood_late_is_no_turn_of_its_own() {
    let mut call = Call::answered(SCREENED);
    call.speech(600);
    call.partial("Hello");
    call.quiet(600);
    call.is(Event::Say(1));
    call.is(Event::Began(1));
    call.finalized("Hello?");
    call.quiet(2_000);
    assert_eq!(call.reports(), [(1_100, person("Hello", 600))]);
}

#[test]
fn a_hello_whose_words_come_behind_it_is_waited_for() {
    let mut call = Call::answered(SLOW);
    call.speech(600);
    call.quiet(1_200);
    assert_eq!(call.reports(), []);
    call.finalized("Hello?");
    call.quiet(1_000);
    assert_eq!(call.reports(), [(1_800, person("Hello?", 600))]);
    let mut call = Call::answered(SLOW);
    call.speech(600);
    call.quiet(1_000);
    call.finalized("Leave a message");
    assert_eq!(call.reports()[0], (1_600, machine()));
}

#[test]
fn a_late_transcript_of_the_hello_does_not_interrupt_the_greeting() {
    for begins in [false, true] {
        let mut call = Call::answered(SLOW);
        call.speech(600);
        call.quiet(1_800);
        assert_eq!(call.reports(), [(2_300, person("", 600))]);
        call.is(Event::Say(1));
        if begins {
            call.is(Event::Began(1));
        }
        call.quiet(200);
        call.followed();
        call.finalized("Hello?");
        call.quiet(3_000);
        assert_eq!(call.followed(), []);
        call.speech(600);
        call.quiet(300);
        call.finalized("Who is this?");
        call.quiet(1_000);
        let text = "Who is this?";
        assert!(call.reports().iter().any(
            |(_, report)| matches!(report, Report::TurnOver { text: said, .. } if said == text)
        ));
    }
}

#[test]
fn a_greeting_that_goes_on_is_a_machines_and_its_end_is_waited_for() {
    let mut call = Call::answered(SCREENED);
    call.speech(2_500);
    assert_eq!(call.reports(), []);
    call.speech(2_500);
    call.partial("You have reached Ana.");
    assert_eq!(
        call.reports(),
        [(2_520, machine()), (2_520, Report::CustomerStarted)]
    );
    call.quiet(200);
    call.finalized("You have reached Ana.");
    call.quiet(1_000);
    call.speech(2_000);
    call.quiet(200);
    call.finalized("Leave a message.");
    call.quiet(3_000);
    let text = "You have reached Ana. Leave a message.";
    assert_eq!(call.reports(), [(10_200, turn(text, 8_200, 8_200))]);
}

#[test]
fn a_short_greeting_that_says_so_is_a_machines() {
    let mut call = Call::answered(SCREENED);
    call.speech(1_000);
    call.partial("Leave a message");
    assert_eq!(call.reports()[0], (1_000, machine()));
}

#[test]
fn somebody_who_says_nothing_is_a_person_after_three_seconds() {
    let mut call = Call::answered(SCREENED);
    call.quiet(5_000);
    assert_eq!(call.reports(), [(3_000, person("", 0))]);
}

#[test]
fn somebody_who_presses_a_key_is_a_person() {
    let mut call = Call::answered(SCREENED);
    call.quiet(500);
    call.is(Event::Dtmf('1'));
    call.quiet(2_000);
    assert_eq!(
        call.reports(),
        [
            (500, person("", 0)),
            (500, Report::CustomerStarted),
            (2_000, turn("DTMF 1", 0, 500))
        ]
    );
}

#[test]
fn a_call_on_hold_is_not_judged() {
    let mut call = Call::answered(SCREENED);
    call.is(Event::Hold(true));
    call.pass(30_000);
    assert_eq!(call.reports(), [(0, Report::Held(true))]);
}

#[test]
fn a_carrier_that_finds_a_machine_is_believed_while_nothing_else_was_found() {
    let mut call = Call::answered(SCREENED);
    call.quiet(1_000);
    call.is(Event::Screened { machine: true });
    call.quiet(5_000);
    assert_eq!(call.reports(), [(1_000, machine())]);
    let mut call = Call::answered(SCREENED);
    call.quiet(4_000);
    call.is(Event::Screened { machine: true });
    assert_eq!(call.reports(), [(3_000, person("", 0))]);
}

#[test]
fn a_person_whom_the_carrier_found_is_heard_to_the_end_of_the_hello() {
    let mut call = Call::answered(SCREENED);
    call.quiet(1_000);
    call.is(Event::Screened { machine: false });
    assert_eq!(call.reports(), [(1_000, person("", 0))]);
    let mut call = Call::answered(SCREENED);
    call.quiet(1_000);
    call.speech(400);
    call.is(Event::Screened { machine: false });
    assert_eq!(call.reports(), []);
}

#[test]
fn without_screening_the_carriers_verdict_is_ignored() {
    let mut call = Call::answered(RULES);
    call.quiet(1_000);
    call.is(Event::Screened { machine: true });
    assert_eq!(call.reports(), []);
}
