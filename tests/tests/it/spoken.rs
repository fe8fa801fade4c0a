//! Calls that are spoken and heard: the real binary on a trunk, a telephone at its other end, and between them nothing
//! but SIP and RTP on loopback. A voice (flite) asks, the service's own recogniser (pocketsphinx, with a grammar)
//! understands, the scripted model answers, the service's voice (flite) says it, and an ear of ours (pocketsphinx
//! again) reads it back from the packets.
//!
//! Sound takes its time, and machines that test are busy: these tests wait for what is to happen, and measure time by
//! samples.

mod agents;
mod faults;
mod recorded;
mod stage;
mod turns;

use std::time::Duration;

use offhook_tests::{Weather, needs_speech, speech};
use serde_json::{Value, json};
use tokio::time::timeout;

use self::stage::{CUSTOMER, GREETING, NUMBER, PARTING, REPLY, Stage, config, said};

#[tokio::test(flavor = "multi_thread")]
async fn a_question_is_heard_and_answered() {
    needs_speech!();
    let stage = Stage::open().await;
    let agent = stage.account.agent_with(config()).await;
    let handle = stage.account.call(&agent, CUSTOMER).await;

    let call = stage.phone.answers().await;
    assert_eq!(call.handle(), handle.clone());
    assert_eq!(call.from(), NUMBER.to_owned());
    assert_eq!(call.to(), CUSTOMER.to_owned());
    assert_eq!(stage.hears(&call).await, GREETING);
    call.says(&speech("kal", "When is my appointment?").await)
        .await;
    assert_eq!(stage.hears(&call).await, REPLY);
    call.says(&speech("kal", "Goodbye.").await).await;
    assert_eq!(stage.hears(&call).await, PARTING);
    call.hang_up().await;

    let ended = stage.account.ended_within(&handle, stage::PATIENCE).await;
    assert_eq!(
        (&ended["status"], &ended["termination_reason"]),
        (&json!("completed"), &json!("customer_hangup")),
        "{ended}"
    );
    let latency = &ended["latency"];
    assert_eq!(latency["turns"], 2, "{ended}");
    // It waits for the end of the customer's turn before it answers.
    assert!(latency["p50_ms"].as_i64() >= Some(500), "{ended}");
    let (_, turns) = stage.transcript(&ended).await;
    assert_eq!(
        turns,
        [
            "agent: Hello, this is the harbour hotel.",
            "user: when is my appointment",
            "agent: Your appointment is on Monday at ten.",
            "user: goodbye",
            "agent: We wish you a good evening.",
        ]
    );

    let events = stage.events.count(2).await;
    let kinds: Vec<String> = events.iter().map(|event| event.kind()).collect();
    assert_eq!(kinds, ["call.initiated", "call.completed"]);
    assert_eq!(events[1].call(), handle);
}

#[tokio::test(flavor = "multi_thread")]
async fn words_come_through_a_network_that_delays_and_reorders() {
    needs_speech!();
    let stage = Stage::open().await;
    let agent = stage.account.agent_with(config()).await;
    let handle = stage.account.call(&agent, CUSTOMER).await;
    let call = stage.phone.answers().await;
    call.weather(Weather {
        lost_percent: 0,
        jitter: Duration::from_millis(80),
    });
    assert_eq!(stage.hears(&call).await, GREETING);
    let question = speech("kal", "When is my appointment?").await;
    // Who is not understood asks again.
    let mut heard = None;
    for _ in 0..3 {
        call.says(&question).await;
        heard = timeout(Duration::from_secs(15), stage.hears(&call))
            .await
            .ok();
        if heard.is_some() {
            break;
        }
    }
    assert_eq!(heard.as_deref(), Some(REPLY));
    call.hang_up().await;
    let ended = stage.ended(&handle).await;
    is(&ended, "completed", "customer_hangup");
    assert!(!said(&stage.transcript(&ended).await.1, "user").is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stranger_who_finds_the_port_is_not_heard() {
    needs_speech!();
    let stage = Stage::open().await;
    let agent = stage.account.agent_with(config()).await;
    let handle = stage.account.call(&agent, CUSTOMER).await;
    let call = stage.phone.answers().await;
    assert_eq!(stage.hears(&call).await, GREETING);
    let strange = speech("awb", "What time do you open?").await;
    call.is_disturbed("127.0.0.2", &strange).await;
    call.says(&speech("kal", "When is my appointment?").await)
        .await;
    assert_eq!(stage.hears(&call).await, REPLY);
    call.hang_up().await;
    let ended = stage.account.ended_within(&handle, stage::PATIENCE).await;
    let (_, turns) = stage.transcript(&ended).await;
    assert_eq!(
        said(&turns, "user"),
        ["when is my appointment"],
        "{turns:?}"
    );
}

fn is(value: &Value, status: &str, reason: &str) {
    let field = match status {
        "failed" => "failure_reason",
        _ => "termination_reason",
    };
    assert_eq!(
        (&value["status"], &value[field]),
        (&json!(status), &json!(reason)),
        "{value}"
    );
}
