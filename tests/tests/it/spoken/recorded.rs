//! Recordings of calls.

use offhook_tests::{Listener, eventually, needs_speech, read_channels, speech};
use serde_json::{Value, json};

use super::is;
use super::stage::{AGENT, CUSTOMER, GREETING, PATIENCE, QUESTION, REPLY, Stage, config};

const CONSENT: &str = "this call is recorded";

/// The rate and the channels of a call's recording.
async fn recording(stage: &Stage, call: &Value) -> (u32, Vec<Vec<i16>>) {
    let url = eventually("the recording", PATIENCE, || async {
        let (conversation, _) = stage.transcript(call).await;
        conversation["recording_url"].as_str().map(str::to_owned)
    })
    .await;
    let answer = stage.account.get(&url).await;
    let kind = answer.header("content-type");
    assert_eq!((answer.status, kind), (200, Some("audio/wav")));
    read_channels(&answer.body)
}

#[tokio::test(flavor = "multi_thread")]
async fn both_sides_of_a_call_are_recorded_after_the_customer_was_told() {
    needs_speech!();
    let stage = Stage::open().await;
    let mut config = config();
    config["conversation"]["recording"] =
        json!({"enabled": true, "consent_text": "This call is recorded."});
    let agent = stage.account.agent_with(config).await;
    let handle = stage.account.call(&agent, CUSTOMER).await;
    let call = stage.phone.answers().await;
    let listener = Listener::of(&[AGENT, &[CONSENT]].concat());
    let mut heard = listener.understands(&call.hears().await.samples).await;
    // There may be a pause between the two.
    if heard == CONSENT {
        heard = format!(
            "{heard} {}",
            listener.understands(&call.hears().await.samples).await
        );
    }
    assert_eq!(heard, format!("{CONSENT} {GREETING}"));
    call.says(&speech("kal", "When is my appointment?").await)
        .await;
    assert_eq!(stage.hears(&call).await, REPLY);
    call.hang_up().await;
    let ended = stage.ended(&handle).await;
    is(&ended, "completed", "customer_hangup");
    let (rate, sides) = recording(&stage, &ended).await;
    assert_eq!((rate, sides.len()), (8_000, 2));
    assert_eq!(sides[0].len(), sides[1].len());
    let customer = Listener::of(QUESTION).understands(&sides[0]).await;
    assert_eq!(customer, "when is my appointment");
    let agent = listener.understands(&sides[1]).await;
    assert_eq!(agent, format!("{CONSENT} {GREETING} {REPLY}"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_that_dies_leaves_a_call_interrupted_and_what_was_recorded() {
    needs_speech!();
    let mut stage = Stage::open().await;
    let mut config = config();
    config["conversation"]["recording"] = json!({"enabled": true});
    let agent = stage.account.agent_with(config).await;
    let handle = stage.account.call(&agent, CUSTOMER).await;
    let call = stage.phone.answers().await;
    assert_eq!(stage.hears(&call).await, GREETING);
    call.says(&speech("kal", "When is my appointment?").await)
        .await;
    assert_eq!(stage.hears(&call).await, REPLY);
    stage.server.crash_and_restart().await;
    // The phone learns that the other side is gone.
    call.ends().await;
    let ended = stage.ended(&handle).await;
    is(&ended, "failed", "interrupted");
    let (_, sides) = recording(&stage, &ended).await;
    let seconds = sides[0].len() / 8_000;
    assert!(seconds >= 3, "{seconds} s were kept");
    let agent_said = Listener::of(AGENT).understands(&sides[1]).await;
    assert!(agent_said.starts_with(GREETING), "{agent_said}");
}
