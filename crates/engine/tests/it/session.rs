//! One call: dialing, ringing, talking, ending.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use offhook_domain::CallOutcome::{Completed, Failed};
use offhook_domain::FailureReason::{
    AgentError, Busy, Cancelled, CarrierError, Interrupted, NoAnswer,
};
use offhook_domain::TerminationReason as Reason;
use offhook_engine::ports::{DialError, LegEvent, ModelError};
use offhook_engine::{CallControl, EndRequest, SessionEnd, Voicemail};
use tokio::time::sleep;

use crate::it::fakes::{Does, FakeModel, FakeModels, heard, stage};

const SECOND: Duration = Duration::from_secs(1);
const MILLI: Duration = Duration::from_millis(1);

#[tokio::test(start_paused = true)]
async fn a_call_is_greeted_answered_and_ended_by_the_customer() {
    let call = stage().begin();
    call.answer().await;
    sleep(2 * SECOND).await;
    call.customer_says("Who is this?").await;
    sleep(5 * SECOND).await;
    call.send(LegEvent::Hangup).await;
    let notes = Arc::clone(&call.notes);
    let end = call.end().await;
    assert_eq!(end.outcome(), Completed(Reason::CustomerHangup));
    assert_eq!(
        end.script(),
        ["A: Hello, Eva here.", "U: Who is this?", "A: I see. Go on."]
    );
    assert_eq!(end.latencies(), [700], "endpointing alone");
    assert_eq!(notes.reported.load(Ordering::Relaxed), 1);
    let answered = notes.answered.lock()[0];
    assert_eq!(end.turns[0].started_at, answered);
    assert_eq!(end.turns[0].duration_ms, 16 * 60);
    assert_eq!(end.turns[1].started_at, answered.plus(2 * SECOND));
    assert_eq!(end.turns[1].duration_ms, 1_000);
    let SessionEnd::Ended {
        answered_at,
        ended_at,
        transcript,
        ..
    } = end.end
    else {
        panic!("ended")
    };
    assert_eq!(answered_at, Some(answered));
    assert_eq!(ended_at, answered.plus(8 * SECOND));
    assert_eq!(transcript.len(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_notice_comes_first_and_nobody_interrupts_it() {
    let mut stage = stage();
    stage.persona.notice = "This call is recorded from now on.".to_owned();
    let call = stage.begin();
    call.answer().await;
    sleep(SECOND).await;
    call.customer_says("Wait.").await;
    sleep(10 * SECOND).await;
    call.send(LegEvent::Hangup).await;
    let end = call.end().await;
    assert_eq!(
        end.script(),
        [
            "U: Wait.",
            "A: This call is recorded from now on. Hello, Eva here.",
            "A: I see. Go on."
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn the_first_sentence_is_spoken_while_the_model_still_writes() {
    let model = FakeModel::new(&[
        Does::Write("One moment. And"),
        Does::Wait(3 * SECOND),
        Does::Write(" here it is."),
        Does::Finish,
    ]);
    let mut stage = stage();
    stage.models = FakeModels::default().with("main", &model);
    let call = stage.begin();
    call.answer().await;
    sleep(2 * SECOND).await;
    call.customer_says("Hi").await;
    sleep(10 * SECOND).await;
    call.send(LegEvent::Hangup).await;
    let end = call.end().await;
    let (first, second) = (&end.said[1], &end.said[2]);
    assert_eq!(first.1, "One moment.");
    assert_eq!(first.0, 3 * SECOND + 700 * MILLI);
    assert_eq!(second.1, "And here it is.");
    assert_eq!(second.0, first.0 + 3 * SECOND);
    assert_eq!(end.script()[2], "A: One moment. And here it is.");
}

#[tokio::test(start_paused = true)]
async fn an_outcome_before_the_answer_is_a_failure_with_the_carriers_reason() {
    let call = stage().begin();
    let notes = call.notes.clone();
    // Once, however often the carrier says so.
    call.send(LegEvent::Ringing).await;
    call.send(LegEvent::Ringing).await;
    call.send(LegEvent::Status(486)).await;
    call.send(LegEvent::Failed(Busy)).await;
    let end = call.end().await;
    assert_eq!(end.outcome(), Failed(Busy));
    assert_eq!(*notes.signaled.lock(), ["rang", "486"]);
    assert!(end.turns.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_queued_call_counts_as_reported_and_does_not_ring() {
    let call = stage().begin();
    call.send(LegEvent::Accepted).await;
    sleep(100 * SECOND).await;
    call.send(LegEvent::Ringing).await;
    call.send(LegEvent::Failed(Busy)).await;
    let end = call.end().await;
    assert_eq!(end.outcome(), Failed(Busy));
    assert_eq!(end.took, 100 * SECOND);
}

#[tokio::test(start_paused = true)]
async fn a_phone_rings_45_seconds_at_the_lines_speed() {
    let mut stage = stage();
    stage.speed = 9.0;
    let call = stage.begin();
    sleep(100 * SECOND).await;
    call.send(LegEvent::Ringing).await;
    sleep(2 * SECOND).await;
    call.send(LegEvent::Ringing).await;
    let end = call.end().await;
    assert_eq!(end.outcome(), Failed(NoAnswer));
    assert_eq!(end.took, 105 * SECOND);
    assert!(end.hung_up);
}

#[tokio::test(start_paused = true)]
async fn a_carrier_that_reports_nothing_is_waited_for_until_the_control_ends_it() {
    for (request, outcome) in [
        (EndRequest::ApiHangup, Failed(Cancelled)),
        (EndRequest::Drain, Failed(Interrupted)),
    ] {
        let call = stage().begin();
        sleep(3_600 * SECOND).await;
        call.control.end(request);
        let notes = Arc::clone(&call.notes);
        let end = call.end().await;
        assert_eq!(end.outcome(), outcome);
        assert_eq!(end.took, 3_600 * SECOND);
        assert!(end.hung_up);
        assert_eq!(notes.reported.load(Ordering::Relaxed), 0);
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_ended_before_it_was_dialed_is_never_dialed() {
    let control = CallControl::new();
    control.end(EndRequest::ApiHangup);
    let call = stage().begin_with(control);
    let carrier = Arc::clone(&call.carrier);
    assert_eq!(call.end().await.outcome(), Failed(Cancelled));
    assert_eq!(carrier.dialed.load(Ordering::Relaxed), 0);
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_never_opened_is_tried_three_times() {
    let mut recovering = stage();
    recovering.dials = vec![Err(DialError::NotConnected), Err(DialError::NotConnected)];
    let call = recovering.begin();
    call.answer().await;
    call.send(LegEvent::Hangup).await;
    let expected = Completed(Reason::CustomerHangup);
    assert_eq!(call.end().await.outcome(), expected);

    let mut dead = stage();
    dead.dials = vec![Err(DialError::NotConnected); 9];
    let call = dead.begin();
    let carrier = Arc::clone(&call.carrier);
    assert_eq!(call.end().await.outcome(), Failed(CarrierError));
    assert_eq!(carrier.dialed.load(Ordering::Relaxed), 3);
    assert_eq!(carrier.orphans_ended.load(Ordering::Relaxed), 0);
}

#[tokio::test(start_paused = true)]
async fn a_request_that_left_is_never_tried_again_and_is_ended_by_handle() {
    let mut stage = stage();
    stage.dials = vec![Err(DialError::Unknown)];
    let call = stage.begin();
    let carrier = Arc::clone(&call.carrier);
    assert_eq!(call.end().await.outcome(), Failed(CarrierError));
    assert_eq!(carrier.dialed.load(Ordering::Relaxed), 1);
    assert_eq!(carrier.orphans_ended.load(Ordering::Relaxed), 1);
}

#[tokio::test(start_paused = true)]
async fn the_longest_call_is_counted_from_the_answer_and_not_divided_by_the_speed() {
    let mut stage = stage();
    stage.speed = 10.0;
    stage.persona.silence_timeout = 100_000 * SECOND;
    stage.persona.max_duration = 30 * SECOND;
    let call = stage.begin();
    sleep(5 * SECOND).await;
    call.answer().await;
    let end = call.end().await;
    assert_eq!(end.outcome(), Completed(Reason::MaxDuration));
    assert_eq!(end.took, 35 * SECOND);
    assert!(end.hung_up);
}

#[tokio::test(start_paused = true)]
async fn a_silent_customer_is_asked_once_and_then_left() {
    let mut stage = stage();
    stage.speed = 2.0;
    let call = stage.begin();
    call.answer().await;
    let end = call.end().await;
    assert_eq!(end.outcome(), Completed(Reason::SilenceTimeout));
    let expected = ["A: Hello, Eva here.", "A: Are you still there?"];
    assert_eq!(end.script(), expected);
    // 16 and 20 characters (the fake line runs at normal speed), two silences of 20 s at double speed.
    assert_eq!(end.took, 20 * SECOND + (16 + 20) * 60 * MILLI);
}

#[tokio::test(start_paused = true)]
async fn a_customer_who_speaks_again_is_asked_again_before_being_left() {
    let call = stage().begin();
    call.answer().await;
    sleep(25 * SECOND).await;
    call.customer_says("Yes, yes.").await;
    let end = call.end().await;
    assert_eq!(
        end.script(),
        [
            "A: Hello, Eva here.",
            "A: Are you still there?",
            "U: Yes, yes.",
            "A: I see. Go on.",
            "A: Are you still there?"
        ]
    );
    assert_eq!(end.outcome(), Completed(Reason::SilenceTimeout));
}

#[tokio::test(start_paused = true)]
async fn a_machine_is_treated_as_the_agent_wants_it() {
    let message = ["U: Leave a message.", "A: Hello, Eva here."];
    for (voicemail, script) in [
        (Voicemail::HangUp, &[][..]),
        (Voicemail::LeaveMessage, &message[..]),
    ] {
        let mut stage = stage();
        stage.persona.voicemail = voicemail;
        let call = stage.begin();
        call.send(LegEvent::Answered { machine: true }).await;
        if voicemail == Voicemail::LeaveMessage {
            sleep(SECOND).await;
            call.customer_says("Leave a message.").await;
        }
        let end = call.end().await;
        assert_eq!(end.outcome(), Completed(Reason::Voicemail));
        assert_eq!(end.script(), script);
        assert!(end.hung_up);
    }

    let mut stage = stage();
    stage.persona.voicemail = Voicemail::Ignore;
    let call = stage.begin();
    call.send(LegEvent::Answered { machine: true }).await;
    sleep(2 * SECOND).await;
    call.customer_says("Hm?").await;
    sleep(5 * SECOND).await;
    call.send(LegEvent::Hangup).await;
    let end = call.end().await;
    assert_eq!(end.outcome(), Completed(Reason::CustomerHangup));
    assert_eq!(end.turns.len(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_message_is_left_on_a_machine_that_greets_nobody() {
    let mut stage = stage();
    stage.persona.voicemail = Voicemail::LeaveMessage;
    let call = stage.begin();
    call.send(LegEvent::Answered { machine: true }).await;
    let end = call.end().await;
    assert_eq!(end.script(), ["A: Hello, Eva here."]);
    assert_eq!(end.took, 10 * SECOND + 16 * 60 * MILLI);
}

#[tokio::test(start_paused = true)]
async fn a_hangup_during_a_turn_keeps_what_was_heard() {
    let call = stage().begin();
    call.answer().await;
    sleep(5 * 60 * MILLI + 5 * MILLI).await;
    call.send(LegEvent::Hangup).await;
    // The line is gone and reports what was being said.
    let end = call.end().await;
    assert_eq!(end.script(), ["A: Hello --"]);
    assert_eq!(end.outcome(), Completed(Reason::CustomerHangup));
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_may_be_interrupted_falls_silent_and_answers_what_was_said() {
    let model = FakeModel::says("Sure.");
    let mut stage = stage();
    stage.models = FakeModels::default().with("main", &model);
    let call = stage.begin();
    call.answer().await;
    sleep(5 * 60 * MILLI + 5 * MILLI).await;
    call.customer_says("Stop, who are you?").await;
    sleep(3 * SECOND).await;
    call.send(LegEvent::Hangup).await;
    let end = call.end().await;
    let expected = ["A: Hello --", "U: Stop, who are you?", "A: Sure."];
    assert_eq!(end.script(), expected);
    let shown: Vec<_> = model.asked()[0].messages[1..]
        .iter()
        .map(|message| message.content.to_string())
        .collect();
    assert_eq!(
        shown,
        ["Hello", "Stop, who are you?"],
        "the model knows what was heard"
    );
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_may_not_be_interrupted_finishes_and_answers_then() {
    let mut stage = stage();
    stage.persona.interruptions = false;
    stage.persona.first_message = "x".repeat(100);
    let call = stage.begin();
    call.answer().await;
    sleep(SECOND).await;
    call.customer_says("Hello?").await;
    sleep(8 * SECOND).await;
    call.send(LegEvent::Hangup).await;
    let end = call.end().await;
    let greeting = format!("A: {}", "x".repeat(100));
    let expected = ["U: Hello?", greeting.as_str(), "A: I see. Go on."];
    assert_eq!(end.script(), expected);
    assert_eq!(end.said[1].0, 6 * SECOND, "at once after its own turn");
}

#[tokio::test(start_paused = true)]
async fn a_customer_who_pauses_and_goes_on_gets_one_answer_to_both() {
    let model = FakeModel::says("Sure.");
    let mut stage = stage();
    stage.models = FakeModels::default().with("main", &model);
    let call = stage.begin();
    call.answer().await;
    sleep(2 * SECOND).await;
    call.customer_says("I would like").await;
    sleep(500 * MILLI).await;
    call.customer_says("a room.").await;
    sleep(5 * SECOND).await;
    call.send(LegEvent::Hangup).await;
    let end = call.end().await;
    let expected = ["U: I would like", "U: a room.", "A: Sure."];
    assert_eq!(end.script()[1..], expected);
    assert_eq!(model.asked().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn words_that_come_while_the_model_thinks_are_answered_along() {
    let model = FakeModel::new(&[Does::Wait(4 * SECOND), Does::Write("Sure."), Does::Finish]);
    let mut stage = stage();
    stage.models = FakeModels::default().with("main", &model);
    let call = stage.begin();
    call.answer().await;
    sleep(2 * SECOND).await;
    call.customer_says("A room.").await;
    sleep(2 * SECOND).await;
    call.customer_says("With a view.").await;
    sleep(9 * SECOND).await;
    call.send(LegEvent::Hangup).await;
    let end = call.end().await;
    let expected = ["U: A room.", "U: With a view.", "A: Sure."];
    assert_eq!(end.script()[1..], expected);
    assert_eq!(model.asked().len(), 2);
    assert_eq!(model.asked()[1].messages.len(), 4);
}

#[tokio::test(start_paused = true)]
async fn speech_whose_end_was_lost_does_not_hold_the_call_for_ever() {
    let call = stage().begin();
    call.answer().await;
    sleep(2 * SECOND).await;
    call.send(LegEvent::CustomerStarted).await;
    let end = call.end().await;
    assert_eq!(end.outcome(), Completed(Reason::SilenceTimeout));
}

#[tokio::test(start_paused = true)]
async fn when_no_model_can_be_reached_the_agent_apologises_and_the_call_failed() {
    let mut stage = stage();
    stage.persona.llm = crate::it::fakes::choice("main", &["second", "unknown"]);
    stage.models = FakeModels::default()
        .with(
            "main",
            &FakeModel::new(&[Does::Fail(ModelError::Unreachable)]),
        )
        .with(
            "second",
            &FakeModel::new(&[Does::Fail(ModelError::Refused(500))]),
        );
    let call = stage.begin();
    call.answer().await;
    sleep(2 * SECOND).await;
    call.customer_says("Hi").await;
    let end = call.end().await;
    assert_eq!(end.outcome(), Failed(AgentError));
    assert!(end.script()[2].starts_with("A: I am sorry, I have a technical problem"));
    assert!(end.hung_up);
    assert!(end.latencies().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_hangup_by_api_ends_a_live_call_at_once_and_keeps_what_was_heard() {
    let call = stage().begin();
    call.answer().await;
    sleep(5 * 60 * MILLI + 5 * MILLI).await;
    call.control.end(EndRequest::ApiHangup);
    let end = call.end().await;
    assert_eq!(end.outcome(), Completed(Reason::ApiHangup));
    assert_eq!(end.script(), ["A: Hello --"]);
    assert!(end.took < SECOND);
}

#[tokio::test(start_paused = true)]
async fn a_call_without_credits_or_of_a_stopping_process_ends_with_a_goodbye() {
    for (request, outcome) in [
        (EndRequest::OutOfCredits, Completed(Reason::AgentHangup)),
        (EndRequest::Drain, Failed(Interrupted)),
    ] {
        let call = stage().begin();
        call.answer().await;
        sleep(5 * 60 * MILLI + 5 * MILLI).await;
        call.control.end(request);
        sleep(SECOND).await;
        call.send(LegEvent::CustomerStarted).await;
        call.send(heard("But")).await;
        let end = call.end().await;
        assert_eq!(end.outcome(), outcome);
        let script = end.script();
        assert_eq!(script[..2], ["A: Hello --", "U: But"]);
        assert_eq!(
            script[2],
            "A: I am sorry, I have to end our call here. Thank you for your time. Goodbye."
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_hangup_by_api_does_not_wait_for_the_goodbye() {
    let call = stage().begin();
    call.answer().await;
    sleep(2 * SECOND).await;
    call.control.end(EndRequest::Drain);
    sleep(SECOND).await;
    call.control.end(EndRequest::ApiHangup);
    let end = call.end().await;
    assert_eq!(end.outcome(), Completed(Reason::ApiHangup));
    assert!(end.took < 4 * SECOND);
}

#[tokio::test(start_paused = true)]
async fn a_lost_claim_hangs_up_at_once_whichever_step_finds_it() {
    for steps in 0..3 {
        let mut stage = stage();
        stage.steps_left = Some(steps);
        let call = stage.begin();
        call.answer().await;
        let end = call.end().await;
        assert_eq!(end.end, SessionEnd::ClaimLost, "after {steps} steps");
        assert!(end.hung_up);
        assert!(end.turns.is_empty());
    }

    let call = stage().begin();
    call.answer().await;
    sleep(5 * 60 * MILLI + 5 * MILLI).await;
    call.control.end(EndRequest::ClaimLost);
    let end = call.end().await;
    assert_eq!(end.end, SessionEnd::ClaimLost);
    assert!(end.hung_up);
    assert!(end.turns.is_empty(), "nothing more is written");
}

#[tokio::test(start_paused = true)]
async fn a_line_that_breaks_ends_the_call() {
    let call = stage().begin();
    call.answer().await;
    sleep(2 * SECOND).await;
    call.send(LegEvent::Failed(CarrierError)).await;
    assert_eq!(call.end().await.outcome(), Failed(CarrierError));
}

#[tokio::test(start_paused = true)]
async fn an_agent_without_a_first_message_waits_for_the_customer() {
    let mut stage = stage();
    stage.persona.first_message = String::new();
    let call = stage.begin();
    call.answer().await;
    sleep(SECOND).await;
    call.customer_says("Hello?").await;
    sleep(5 * SECOND).await;
    call.send(LegEvent::Hangup).await;
    assert_eq!(call.end().await.script(), ["U: Hello?", "A: I see. Go on."]);
}
