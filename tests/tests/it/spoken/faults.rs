//! A line with lost and late packets.

use std::time::Duration;

use offhook_tests::{Weather, needs_speech, speech};
use serde_json::json;

use super::is;
use super::stage::{CUSTOMER, GREETING, REPLY, Stage, config};

/// The scripted recognizer returns a line of its script: recognizing damaged audio is not the service's task.
#[tokio::test(flavor = "multi_thread")]
async fn a_line_that_loses_every_fifth_packet_carries_the_call() {
    needs_speech!();
    let question = "When is my appointment?";
    let stage = Stage::open().await;
    let mut config = config();
    config["stt"] = json!({"provider": "scripted", "settings": {"lines": [question]}});
    let agent = stage.account.agent_with(config).await;
    let handle = stage.account.call(&agent, CUSTOMER).await;
    let call = stage.phone.answers().await;
    call.weather(Weather {
        lost_percent: 20,
        jitter: Duration::from_millis(80),
    });
    assert_eq!(stage.hears(&call).await, GREETING);
    call.says(&speech("kal", question).await).await;
    assert_eq!(stage.hears(&call).await, REPLY);
    call.hang_up().await;
    let ended = stage.ended(&handle).await;
    is(&ended, "completed", "customer_hangup");
    let (_, turns) = stage.transcript(&ended).await;
    assert_eq!(turns[1], format!("user: {question}"), "{turns:?}");
}
