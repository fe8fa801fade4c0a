//! Calls that do not go as they should: packets that are lost, programs that hang, carriers that say nothing.

use std::time::Duration;

use offhook_tests::{Weather, needs_speech, speech};
use serde_json::json;

use super::is;
use super::stage::{CUSTOMER, GREETING, REPLY, Stage, config};

/// The ear hears a line of its script for what was said: what a recogniser makes of a torn sound is not ours.
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

#[tokio::test(flavor = "multi_thread")]
async fn programs_that_hang_end_the_call_and_not_the_service() {
    needs_speech!();
    for (setting, value) in [
        ("speech.local.speak.command", "/bin/sleep,60"),
        ("speech.local.listen.command", "/bin/sleep,60"),
    ] {
        let stage = Stage::with(|options| {
            options
                .set(setting, value)
                .set("speech.local.listen.limit_seconds", 1)
        })
        .await;
        let mut agent = config();
        if setting.contains("listen") {
            agent["stt"] = json!({"provider": "local"});
        } else {
            agent["voice"] = json!({"provider": "local"});
        }
        let agent = stage.account.agent_with(agent).await;
        let handle = stage.account.call(&agent, CUSTOMER).await;
        let call = stage.phone.answers().await;
        if setting.contains("listen") {
            assert_eq!(stage.hears(&call).await, GREETING);
            call.says(&speech("kal", "When is my appointment?").await)
                .await;
        }
        call.ends().await;
        is(&stage.ended(&handle).await, "failed", "agent_error");
        // No program is left behind, and the next call is taken.
        let next = stage.account.call(&agent, CUSTOMER).await;
        stage.phone.is_called().await.refuse("486 Busy Here").await;
        is(&stage.ended(&next).await, "failed", "busy");
    }
}
