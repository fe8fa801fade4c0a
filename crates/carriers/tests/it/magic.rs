//! The outcome of a call to each number.

use std::sync::Arc;
use std::time::Duration;

use offhook_carriers::Simulator;
use offhook_domain::CallOutcome::{Completed, Failed};
use offhook_domain::{FailureReason, TerminationReason};
use offhook_engine::ports::{Carrier, LegEvent};
use offhook_engine::{CallControl, EndRequest, Persona, Voicemail};
use tokio::time::{Instant, sleep};

use crate::it::calls::{
    CallResult, FRIEND, call, handle, models, number, persona, request, run, session,
};

const SECOND: Duration = Duration::from_secs(1);

async fn dial(to: &str, persona: Persona) -> (CallResult, Duration) {
    let simulator = Simulator::new(1.0);
    let carrier: Arc<dyn Carrier> = Arc::new(simulator.clone());
    let began = Instant::now();
    let told = call(&carrier, 1, to, persona).await;
    let took = began.elapsed();
    tokio::task::yield_now().await;
    assert_eq!(simulator.live(), 0, "nothing is left of the call");
    (told, took)
}

fn failed(reason: FailureReason) -> CallResult {
    CallResult {
        outcome: Failed(reason),
        script: Vec::new(),
        reported: true,
    }
}

#[tokio::test(start_paused = true)]
async fn a_person_answers_what_the_agent_says_thanks_and_hangs_up() {
    let (told, took) = dial(FRIEND, persona()).await;
    assert_eq!(
        told.script,
        [
            "A: Hello, this is Eva. Do you have a moment?",
            "U: Yes, this is a good moment.",
            "A: I am calling about your room for Friday. Does eight o'clock suit you?",
            "U: Yes, that works for me.",
            "A: Very well, I have noted eight o'clock. Is there anything else?",
            "U: No, that is all. Thank you for your help.",
            "A: You are welcome.",
            "U: Goodbye!",
            "A: Goodbye!",
        ]
    );
    assert_eq!(told.outcome, Completed(TerminationReason::CustomerHangup));
    assert!(took > 20 * SECOND && took < 40 * SECOND, "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn a_person_who_is_not_spoken_to_speaks_first() {
    let mut silent = persona();
    silent.first_message = String::new();
    let (told, _) = dial(FRIEND, silent).await;
    assert_eq!(told.script[0], "U: Hello?");
    assert!(told.script[1].starts_with("A: I am calling about your room"));
}

#[tokio::test(start_paused = true)]
async fn numbers_that_are_never_answered_fail_with_their_reason() {
    for (to, reason, took) in [
        ("+15005550001", FailureReason::Busy, SECOND / 2),
        ("+15005550002", FailureReason::NoAnswer, 30 * SECOND),
        ("+15005550003", FailureReason::Rejected, 2 * SECOND),
        ("+15005550005", FailureReason::InvalidNumber, SECOND / 2),
    ] {
        assert_eq!(dial(to, persona()).await, (failed(reason), took), "{to}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_machine_takes_a_message() {
    let (told, _) = dial("+15005550004", persona()).await;
    assert_eq!(told.outcome, Completed(TerminationReason::Voicemail));
    assert!(told.script.is_empty());

    let mut patient = persona();
    patient.voicemail = Voicemail::LeaveMessage;
    let (told, _) = dial("+15005550004", patient).await;
    assert_eq!(told.outcome, Completed(TerminationReason::Voicemail));
    assert_eq!(
        told.script,
        [
            "U: You have reached my voicemail. Please leave a message after the tone.",
            "A: Hello, this is Eva. Do you have a moment?"
        ]
    );

    let mut stubborn = persona();
    stubborn.voicemail = Voicemail::Ignore;
    let (told, _) = dial("+15005550004", stubborn).await;
    assert_eq!(told.outcome, Completed(TerminationReason::SilenceTimeout));
}

#[tokio::test(start_paused = true)]
async fn a_person_hangs_up_in_the_middle_of_the_agents_second_turn() {
    let (told, _) = dial("+15005550006", persona()).await;
    assert_eq!(told.outcome, Completed(TerminationReason::CustomerHangup));
    assert_eq!(
        told.script,
        [
            "A: Hello, this is Eva. Do you have a moment?",
            "U: Yes, this is a good moment.",
            "A: I am calling about --"
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn an_unreachable_carrier_is_tried_and_not_dialed() {
    let simulator = Simulator::new(1.0);
    let carrier: Arc<dyn Carrier> = Arc::new(simulator.clone());
    let told = call(&carrier, 1, "+15005550007", persona()).await;
    assert_eq!(told.outcome, Failed(FailureReason::CarrierError));
    assert!(!told.reported && !simulator.is_down());
    assert!(simulator.dials().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_carrier_that_never_reports_is_ended_by_the_control_alone() {
    let simulator = Simulator::new(1.0);
    let (control, carrier) = (CallControl::new(), Arc::new(simulator.clone()));
    let session = session(
        carrier,
        request(1, "+15005550008"),
        Arc::new(persona()),
        models(),
    );
    let call = tokio::spawn({
        let control = control.clone();
        async move { run(session, &control).await }
    });
    sleep(10_000 * SECOND).await;
    assert!(!call.is_finished());
    assert_eq!(simulator.live(), 1);
    control.end(EndRequest::ApiHangup);
    let told = call.await.unwrap();
    assert_eq!(told.outcome, Failed(FailureReason::Cancelled));
    assert!(!told.reported);
    tokio::task::yield_now().await;
    assert_eq!(simulator.live(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_person_interrupts_an_agent_that_may_be_interrupted() {
    let (told, _) = dial("+15005550009", persona()).await;
    assert_eq!(
        told.script[2..5],
        [
            "A: I am calling about --",
            "U: Sorry, one moment. Could you say that again, please?",
            "A: Very well, I have noted eight o'clock. Is there anything else?"
        ]
    );
    assert_eq!(told.outcome, Completed(TerminationReason::CustomerHangup));

    let mut talker = persona();
    talker.interruptions = false;
    let (told, _) = dial("+15005550009", talker).await;
    assert!(
        told.script.iter().all(|line| !line.ends_with("--")),
        "{:?}",
        told.script
    );
    assert_eq!(told.outcome, Completed(TerminationReason::CustomerHangup));
}

#[tokio::test(start_paused = true)]
async fn a_silent_person_is_asked_once_and_left() {
    let (told, _) = dial("+15005550010", persona()).await;
    assert_eq!(told.outcome, Completed(TerminationReason::SilenceTimeout));
    assert_eq!(told.script.len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_faster_network_takes_a_part_of_the_time() {
    let began = Instant::now();
    let carrier: Arc<dyn Carrier> = Arc::new(Simulator::new(10.0));
    let fast = call(&carrier, 1, FRIEND, persona()).await;
    let took = began.elapsed();
    let (slow, real) = dial(FRIEND, persona()).await;
    assert_eq!(fast, slow);
    let ratio = real.as_secs_f64() / took.as_secs_f64();
    assert!((9.0..10.5).contains(&ratio), "{ratio}");
}

#[tokio::test(start_paused = true)]
async fn dials_are_remembered_one_by_one_even_of_one_handle() {
    let simulator = Simulator::new(1.0);
    let first = simulator.dial(request(1, FRIEND)).await.unwrap();
    let second = simulator.dial(request(1, FRIEND)).await.unwrap();
    let dials = simulator.dials();
    assert_eq!(dials.len(), 2);
    assert_eq!(dials[0], dials[1]);
    assert_eq!(dials[0].handle, handle(1));
    assert_eq!(dials[0].to, number(FRIEND));
    drop((first, second));
}

#[tokio::test(start_paused = true)]
async fn a_dropped_leg_hangs_up_and_an_orphan_is_ended_by_its_handle() {
    let simulator = Simulator::new(1.0);
    let leg = simulator.dial(request(1, FRIEND)).await.unwrap();
    sleep(SECOND).await;
    drop(leg);
    sleep(SECOND).await;
    assert_eq!(simulator.live(), 0);

    let mut leg = simulator.dial(request(2, FRIEND)).await.unwrap();
    assert_eq!(leg.events.recv().await, Some(LegEvent::Ringing));
    simulator.hang_up_orphan(handle(2)).await.unwrap();
    assert_eq!(leg.events.recv().await, None);
    assert_eq!(leg.line.say("Hello?").await, Default::default());
    assert_eq!(
        simulator.hang_up_orphan(handle(9)).await,
        Ok(()),
        "unknown is fine"
    );
}

#[tokio::test]
async fn every_account_may_call_from_the_networks_own_number() {
    assert_eq!(
        Simulator::new(1.0).shared_number(),
        Some(number("+15005550100"))
    );
}
