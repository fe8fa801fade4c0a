//! Another user agent than our telephone: baresip, a real one. `crates/sip` tests against SIPp.

use std::time::Duration;

use offhook_tests::{Baresip, eventually, has_program, needs_speech, silence, speech, text};
use serde_json::Value;

use super::is;
use super::stage::{CUSTOMER, PATIENCE, Stage, config, said};

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
    // baresip names an address of the machine but sends from the loopback.
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
