//! Events in the middle of calls: hold, refreshed sessions, digits, transfers.

use offhook_sip::{SipCall, SipEvent, TransferError};

use crate::it::sipp::{header, needs_sipp, play};
use crate::it::support::{ANSWER, called, next, rest, told};

const TARGET: &str = "+5215500000001";

/// The scenario `hold`, from our side.
pub(crate) async fn is_held_and_taken_back(call: &mut SipCall) {
    assert_eq!(told(call).await, "Answered with SDP");
    for direction in ["a=sendonly", "a=sendrecv"] {
        let Some(SipEvent::Renegotiated { offer, reply }) = next(call).await else {
            panic!("no offer came");
        };
        assert!(offer.contains(direction), "{offer}");
        reply.answer(ANSWER.to_owned());
    }
    assert_eq!(rest(call).await, ["Hangup"]);
}

#[tokio::test]
async fn a_call_is_held_and_taken_back() {
    needs_sipp!();
    let (mut callee, stage, mut call) = called(play("hold")).await;
    is_held_and_taken_back(&mut call).await;
    stage.is_through_with(&mut callee).await;
    let answers = callee.received("SIP/2.0 200");
    assert!(
        answers[0].trim_end().ends_with(ANSWER.trim_end()),
        "{}",
        answers[0]
    );
    assert_eq!(header(&answers[0], "Content-Type"), "application/sdp");
}

#[tokio::test]
async fn an_offer_that_nobody_takes_is_refused_and_the_call_goes_on() {
    needs_sipp!();
    let (mut callee, stage, mut call) = called(play("hold_refused")).await;
    assert_eq!(told(&mut call).await, "Answered with SDP");
    assert_eq!(told(&mut call).await, "Renegotiated");
    // The call is still up, and we end it.
    while callee.received("SIP/2.0 488").is_empty() {
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    call.control().hang_up().await;
    stage.is_through_with(&mut callee).await;
}

#[tokio::test]
async fn a_session_is_refreshed_without_asking_anybody() {
    needs_sipp!();
    let (mut callee, stage, mut call) = called(play("refresh")).await;
    assert_eq!(rest(&mut call).await, ["Answered with SDP", "Hangup"]);
    stage.is_through_with(&mut callee).await;
}

#[tokio::test]
async fn digits_are_told_and_what_is_not_for_peers_is_refused() {
    needs_sipp!();
    let (mut callee, stage, mut call) = called(play("questions")).await;
    assert_eq!(told(&mut call).await, "Answered with SDP");
    let mut keys = String::new();
    loop {
        match next(&mut call).await {
            Some(SipEvent::Digit(key)) => keys.push(key),
            Some(SipEvent::Hangup) => break,
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(keys, "5#");
    stage.is_through_with(&mut callee).await;
}

#[tokio::test]
async fn a_customer_is_handed_over() {
    needs_sipp!();
    let (mut callee, stage, mut call) = called(play("transfer").key("code", 200)).await;
    assert_eq!(told(&mut call).await, "Answered with SDP");
    let transferred = call.control().transfer(&TARGET.parse().unwrap()).await;
    assert_eq!(transferred, Ok(()));
    assert_eq!(rest(&mut call).await, [""; 0]);
    stage.is_through_with(&mut callee).await;
}

#[tokio::test]
async fn a_customer_who_cannot_be_handed_over_stays() {
    needs_sipp!();
    for (scenario, code) in [("transfer", 486), ("transfer_refused", 403)] {
        let (mut callee, stage, mut call) = called(play(scenario).key("code", code)).await;
        assert_eq!(told(&mut call).await, "Answered with SDP");
        let transferred = call.control().transfer(&TARGET.parse().unwrap()).await;
        assert_eq!(transferred, Err(TransferError::Refused(code)), "{scenario}");
        assert_eq!(stage.trunks.dialogs(), 1);
        call.control().hang_up().await;
        stage.is_through_with(&mut callee).await;
    }
}

#[tokio::test]
async fn a_carrier_that_takes_the_customer_along_may_hang_up() {
    needs_sipp!();
    let (mut callee, stage, mut call) = called(play("transfer_bye")).await;
    assert_eq!(told(&mut call).await, "Answered with SDP");
    let control = call.control();
    assert_eq!(control.transfer(&TARGET.parse().unwrap()).await, Ok(()));
    assert_eq!(rest(&mut call).await, ["Hangup"]);
    let again = control.transfer(&TARGET.parse().unwrap()).await;
    assert_eq!(again, Err(TransferError::Gone));
    stage.is_through_with(&mut callee).await;
}
