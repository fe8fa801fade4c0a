//! Other user agents than our telephone: SIPp, which says exactly what a scenario says, and baresip, which people use.

use std::time::Duration;

use offhook_tests::{Baresip, Sipp, eventually, has_program, needs_speech, silence, speech, text};
use serde_json::Value;

use super::is;
use super::stage::{CUSTOMER, PATIENCE, Stage, config, said};

/// Skips the test, loudly, where SIPp is missing; in CI nothing is skipped.
macro_rules! needs_sipp {
    () => {
        if !has_program("sipp", "sip-tester") {
            return;
        }
    };
}

/// A stage whose trunk leads to SIPp.
async fn facing(sipp: &Sipp) -> Stage {
    let server = sipp.address();
    Stage::with(|options| {
        options
            .set("sip.trunks.carrier.server", server)
            .set("sip.trunks.carrier.user", "engine")
            .set("sip.trunks.carrier.password", "secret")
            .set("sip.trunks.carrier.keep_alive_seconds", 0)
    })
    .await
}

/// A header's value.
fn header<'a>(message: &'a str, name: &str) -> &'a str {
    let mut lines = message.lines();
    let value = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
    value
        .unwrap_or_else(|| panic!("{name} is missing in:\n{message}"))
        .trim()
}

fn branch(message: &str) -> &str {
    let (_, branch) = header(message, "Via")
        .split_once("branch=")
        .unwrap_or_default();
    branch.split(';').next().unwrap_or_default()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_given_up_after_a_challenge_cancels_the_invite_that_rings() {
    needs_sipp!();
    let mut sipp = Sipp::callee("ring_cancel", &[]).await;
    let stage = facing(&sipp).await;
    let agent = stage.account.agent_with(config()).await;
    let handle = stage.account.call(&agent, CUSTOMER).await;
    sipp.received_times("INVITE", 2).await;
    let hang_up = stage
        .account
        .post(&format!("/v1/calls/{handle}/hangup"), "{}");
    hang_up.await.assert(202);
    sipp.succeeds().await;
    let (invites, cancels) = (sipp.received("INVITE"), sipp.received("CANCEL"));
    let rang = invites.last().unwrap();
    assert_ne!(branch(&invites[0]), branch(rang));
    assert_eq!(branch(&cancels[0]), branch(rang));
    assert_eq!(header(rang, "Call-ID"), format!("{handle}@offhook"));
    is(&stage.ended(&handle).await, "failed", "cancelled");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_crosses_the_cancel_is_confirmed_and_ended() {
    needs_sipp!();
    let mut sipp = Sipp::callee("cancel_crossing", &[]).await;
    let stage = facing(&sipp).await;
    let agent = stage.account.agent_with(config()).await;
    let handle = stage.account.call(&agent, CUSTOMER).await;
    sipp.received_times("INVITE", 2).await;
    let hang_up = stage
        .account
        .post(&format!("/v1/calls/{handle}/hangup"), "{}");
    hang_up.await.assert(202);
    sipp.succeeds().await;
    is(&stage.ended(&handle).await, "failed", "cancelled");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_password_is_a_rejected_call() {
    needs_sipp!();
    let mut sipp = Sipp::callee("digest_401", &[]).await;
    let server = sipp.address();
    let stage = Stage::with(|options| {
        options
            .set("sip.trunks.carrier.server", server)
            .set("sip.trunks.carrier.user", "engine")
            .set("sip.trunks.carrier.password", "guess")
            .set("sip.trunks.carrier.keep_alive_seconds", 0)
    })
    .await;
    let agent = stage.account.agent_with(config()).await;
    let handle = stage.account.call(&agent, CUSTOMER).await;
    sipp.succeeds().await;
    is(&stage.ended(&handle).await, "failed", "rejected");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_sipp_does_in_a_call_ends_as_it_should() {
    needs_sipp!();
    for (scenario, reason) in [
        ("remote_bye", "customer_hangup"),
        ("hold", "customer_hangup"),
        ("refresh", "customer_hangup"),
    ] {
        let mut sipp = Sipp::callee(scenario, &[]).await;
        let stage = facing(&sipp).await;
        let agent = stage.account.agent_with(config()).await;
        let handle = stage.account.call(&agent, CUSTOMER).await;
        sipp.succeeds().await;
        is(&stage.ended(&handle).await, "completed", reason);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_carrier_that_challenges_and_sends_sound_early_is_talked_to_until_we_hang_up() {
    needs_sipp!();
    for scenario in ["digest_401", "digest_407", "early_answer"] {
        let mut sipp = Sipp::callee(scenario, &[]).await;
        let stage = facing(&sipp).await;
        let agent = stage.account.agent_with(config()).await;
        let handle = stage.account.call(&agent, CUSTOMER).await;
        sipp.received_times("ACK", if scenario == "early_answer" { 1 } else { 2 })
            .await;
        let hang_up = stage
            .account
            .post(&format!("/v1/calls/{handle}/hangup"), "{}");
        hang_up.await.assert(202);
        sipp.succeeds().await;
        is(&stage.ended(&handle).await, "completed", "api_hangup");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn baresip_asks_and_is_answered() {
    needs_speech!();
    if !has_program("baresip", "baresip-core") {
        return;
    }
    let pause = |seconds| silence(Duration::from_secs(seconds));
    let asks = [
        pause(5),
        speech("kal", "When is my appointment?").await,
        pause(12),
    ];
    let baresip = Baresip::start(CUSTOMER, &asks.concat()).await;
    // It names an address of the machine and sends from the loopback.
    let stage = Stage::with(|options| {
        options
            .set("sip.trunks.carrier.server", baresip.address())
            .set("sip.rtp_from_anywhere", true)
    })
    .await;
    let agent = stage.account.agent_with(config()).await;
    let handle = stage.account.call(&agent, CUSTOMER).await;
    let target = format!("/v1/conversations/{}", &handle["call_".len()..]);
    eventually("the reply", PATIENCE, || async {
        let conversation = stage.account.read(&target).await;
        let turns = conversation["transcript"].as_array()?;
        let replied = |turn: &Value| text(&turn["text"]).contains("on Monday at ten");
        turns.iter().any(replied).then_some(())
    })
    .await;
    let hang_up = stage
        .account
        .post(&format!("/v1/calls/{handle}/hangup"), "{}");
    hang_up.await.assert(202);
    let ended = stage.ended(&handle).await;
    is(&ended, "completed", "api_hangup");
    let (_, turns) = stage.transcript(&ended).await;
    assert_eq!(
        said(&turns, "user"),
        ["when is my appointment"],
        "{turns:?}"
    );
}
