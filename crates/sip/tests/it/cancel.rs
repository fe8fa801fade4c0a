//! Calls that are cancelled before they are answered: where user agents fail most.

use std::time::Duration;

use offhook_sip::{SipEvent, Timers};

use crate::it::peer::Peer;
use crate::it::sipp::{header, needs_sipp, play};
use crate::it::support::{Stage, called, invite, next, rest, told, trunk};

fn branch(message: &str) -> &str {
    let via = header(message, "Via");
    let (_, branch) = via.split_once("branch=").expect(via);
    branch.split(';').next().unwrap()
}

#[tokio::test]
async fn a_cancel_after_a_challenge_means_the_invite_that_rings() {
    needs_sipp!();
    let (mut callee, stage, mut call) = called(play("ring_cancel")).await;
    assert_eq!(told(&mut call).await, "Provisional(180)");
    call.control().hang_up().await;
    assert_eq!(rest(&mut call).await, [""; 0]);
    callee.succeeds().await;

    let invites = callee.received("INVITE");
    let cancels = callee.received("CANCEL");
    let challenged = &invites[0];
    let rang = invites.last().unwrap();
    assert_ne!(branch(challenged), branch(rang));
    assert_eq!(branch(&cancels[0]), branch(rang));
    let expected = header(rang, "CSeq").replace("INVITE", "CANCEL");
    assert_eq!(header(&cancels[0], "CSeq"), expected);
    assert_eq!(header(&cancels[0], "To"), header(rang, "To"));
    assert_eq!(header(&cancels[0], "Call-ID"), header(rang, "Call-ID"));
    stage.is_empty().await;
}

#[tokio::test]
async fn an_answer_that_crosses_the_cancel_is_confirmed_and_ended() {
    needs_sipp!();
    let (mut callee, stage, mut call) = called(play("cancel_crossing")).await;
    assert_eq!(told(&mut call).await, "Provisional(180)");
    call.control().hang_up().await;
    assert_eq!(rest(&mut call).await, [""; 0]);
    stage.is_through_with(&mut callee).await;
}

#[tokio::test]
async fn dropping_a_call_cancels_it() {
    needs_sipp!();
    let (mut callee, stage, mut call) = called(play("ring")).await;
    assert_eq!(told(&mut call).await, "Provisional(180)");
    drop(call);
    stage.is_through_with(&mut callee).await;
}

#[tokio::test]
async fn a_phone_rings_for_so_long_and_no_longer() {
    needs_sipp!();
    let mut callee = play("ring").start().listening().await;
    let timers = Timers {
        ring: Duration::from_millis(300),
        ..Timers::default()
    };
    let stage = Stage::set(trunk(callee.address), timers).await;
    let mut call = stage.call().await;
    assert_eq!(
        rest(&mut call).await,
        [
            "Provisional(180)",
            "Failure { reason: NoAnswer, code: None, cause: None }"
        ]
    );
    stage.is_through_with(&mut callee).await;
}

/// The usual timers, except for a silent carrier.
fn impatient() -> Timers {
    Timers {
        first_provisional: Duration::from_millis(300),
        t1: Duration::from_millis(100),
        ..Timers::default()
    }
}

#[tokio::test]
async fn a_carrier_that_says_nothing_is_given_up_soon_and_not_called_again() {
    let callee = Peer::on("127.0.0.1").await;
    let stage = Stage::set(trunk(callee.address), impatient()).await;
    let mut call = stage.call().await;
    callee.receive("INVITE").await;
    assert_eq!(
        rest(&mut call).await,
        ["Failure { reason: CarrierError, code: None, cause: None }"]
    );
    // A message sent before that moment may still be in transit.
    while !callee.hears_nothing(Duration::from_millis(400)).await {}
    stage.is_empty().await;
}

#[tokio::test]
async fn a_carrier_that_wakes_up_too_late_is_cancelled() {
    let callee = Peer::on("127.0.0.1").await;
    let stage = Stage::set(trunk(callee.address), impatient()).await;
    let mut call = stage.call().await;
    let (request, from) = callee.receive("INVITE").await;
    assert!(matches!(next(&mut call).await, Some(SipEvent::Failed(_))));

    callee.reply(from, &request, "180 Ringing").await;
    let (cancel, _) = callee.receive("CANCEL").await;
    assert_eq!(branch(&cancel), branch(&request));
    callee.reply(from, &cancel, "200 OK").await;
    callee.reply(from, &request, "487 Request Terminated").await;
    callee.receive("ACK").await;
    stage.is_empty().await;
}

#[tokio::test]
async fn a_carrier_that_answers_too_late_is_hung_up_on() {
    let callee = Peer::on("127.0.0.1").await;
    let stage = Stage::set(trunk(callee.address), impatient()).await;
    let mut call = stage.call().await;
    let (request, from) = callee.receive("INVITE").await;
    assert!(matches!(next(&mut call).await, Some(SipEvent::Failed(_))));

    callee.reply(from, &request, "200 OK").await;
    callee.receive("ACK").await;
    let (bye, _) = callee.receive("BYE").await;
    callee.reply(from, &bye, "200 OK").await;
    stage.is_empty().await;
}

#[tokio::test]
async fn a_challenge_that_crosses_the_cancel_does_not_leave_a_phone_ringing() {
    let callee = Peer::on("127.0.0.1").await;
    let stage = Stage::with(callee.address).await;
    let mut call = stage.call().await;
    let (request, from) = callee.receive("INVITE").await;
    callee.reply(from, &request, "180 Ringing").await;
    assert_eq!(told(&mut call).await, "Provisional(180)");

    // Another proxy of the carrier challenges us just as we cancel.
    let hung_up = call.control();
    let hanging_up = tokio::spawn(async move { hung_up.hang_up().await });
    let (cancel, _) = callee.receive("CANCEL").await;
    let challenge = "WWW-Authenticate: Digest realm=\"r\", nonce=\"n\", algorithm=MD5\r\n";
    callee.reply(from, &cancel, "200 OK").await;
    callee
        .send(
            from,
            callee.answer(&request, "401 Unauthorized", challenge, ""),
        )
        .await;
    callee.receive("ACK").await;
    hanging_up.await.unwrap();
    assert!(callee.hears_nothing(Duration::from_millis(300)).await);
    stage.is_empty().await;
}

#[tokio::test]
async fn nobody_is_called_where_there_is_no_way() {
    let stage = Stage::with("127.0.0.1:9".parse().unwrap()).await;
    let error = stage.trunks.call("other", invite(1)).await.unwrap_err();
    assert_eq!(error.to_string(), "there is no trunk `other`");

    let mut nowhere = trunk("127.0.0.1:1".parse().unwrap());
    nowhere.transport = Some("tcp".to_owned());
    let stage = Stage::set(nowhere, Timers::default()).await;
    let error = stage.trunks.call("carrier", invite(1)).await.unwrap_err();
    let expected = "trunk `carrier`: the carrier cannot be connected to";
    assert_eq!(error.to_string(), expected);
    stage.is_empty().await;
}
