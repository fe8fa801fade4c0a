//! Spoken calls: the real binary on a trunk, a telephone at the other end, and only SIP and RTP on loopback in
//! between. A synthesizer (flite) asks, the service's own recognizer (pocketsphinx, with a grammar) understands, the
//! scripted model answers, the service's synthesizer (flite) speaks, and our recognizer (pocketsphinx again) reads
//! the answer back from the packets.
//!
//! Audio takes time, and test machines are busy: these tests wait for events, and measure time in samples.

mod agents;
mod faults;
mod opting_out;
mod recorded;
mod stage;
mod turns;

use offhook_tests::{needs_speech, speech};
use serde_json::{Value, json};

use self::stage::{CUSTOMER, GREETING, NUMBER, PARTING, REPLY, Stage, config};

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
    // The agent waits for the end of the customer's turn before it answers.
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
