//! Turn taking: an interruption, keys and a transfer, as they are heard.

use offhook_tests::{eventually, needs_speech, speech};
use serde_json::json;

use super::is;
use super::stage::{CUSTOMER, GREETING, PARTING, PATIENCE, REPLY, Stage, config, said};

/// A reply of about eight seconds, in one sentence.
const LONG: &str = "The rooms are on the first floor and the breakfast is at seven in the morning and the pool is open \
                    all day and the garden is open too and the beach is not far away.";

/// The number of 20 ms packets with sound.
fn loud(samples: &[i16]) -> usize {
    samples
        .chunks(160)
        .filter(|piece| {
            piece
                .iter()
                .map(|sample| i32::from(*sample).abs())
                .sum::<i32>()
                > 200 * 160
        })
        .count()
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_interrupts_is_listened_to_and_the_reply_is_kept_as_it_was_heard() {
    needs_speech!();
    let stage = Stage::open().await;
    let mut config = config();
    config["first_message"] = json!(LONG);
    let agent = stage.account.agent_with(config).await;
    let handle = stage.account.call(&agent, CUSTOMER).await;
    let question = speech("kal", "Please stop talking.").await;
    let whole = loud(&speech("rms", LONG).await);
    let call = stage.phone.answers().await;
    call.hears_beginning(60).await;
    call.says(&question).await;
    let cut = call.hears().await;
    assert!(
        loud(&cut.samples) < whole * 3 / 4,
        "{} packets of {whole} were heard",
        loud(&cut.samples)
    );
    assert_eq!(stage.hears(&call).await, REPLY);
    call.hang_up().await;
    let ended = stage.ended(&handle).await;
    is(&ended, "completed", "customer_hangup");
    let (_, turns) = stage.transcript(&ended).await;
    let [greeting, user, reply] = &turns[..] else {
        panic!("{turns:?}");
    };
    let kept = greeting
        .strip_prefix("agent: ")
        .and_then(|it| it.strip_suffix(" --"));
    let kept = kept.unwrap_or_else(|| panic!("{turns:?}"));
    assert!(
        LONG.starts_with(kept) && kept.len() < LONG.len() * 3 / 4,
        "{kept}"
    );
    assert!(kept.len() > 8, "{kept}");
    assert_eq!(user, "user: please stop talking");
    assert_eq!(reply, "agent: Your appointment is on Monday at ten.");
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_go_both_ways_and_a_customer_is_handed_over() {
    needs_speech!();
    let stage = Stage::open().await;
    let keys = json!({"name": "keys", "description": "Tones.", "kind": "dtmf"});
    let keys = stage.account.post("/v1/agents/tools", keys).await;
    let keys = keys.assert(201);
    let desk = json!({
        "name": "desk", "description": "A person.", "kind": "transfer",
        "transfer": {"targets": [{"name": "front", "to": "+5215598765432"}]},
    });
    let desk = stage.account.post("/v1/agents/tools", desk).await;
    let desk = desk.assert(201);
    let mut config = config();
    config["system_prompt"] = json!(
        "say: Your appointment is on Monday at ten.\ncall: keys {\"digits\":\"12#\"}\n\
         then: We wish you a good evening.\ncall: desk {\"target\":\"front\"}"
    );
    config["tool_ids"] = json!([keys["id"], desk["id"]]);
    let agent = stage.account.agent_with(config).await;
    let handle = stage.account.call(&agent, CUSTOMER).await;
    let call = stage.phone.answers().await;
    assert_eq!(stage.hears(&call).await, GREETING);
    call.press("42#").await;
    let mut heard = stage.hears(&call).await;
    eventually("the agent's keys", PATIENCE, || async {
        (call.keys() == "12#").then_some(())
    })
    .await;
    // Keys take no longer than a pause in speech.
    if heard == REPLY {
        heard = format!("{heard} {}", stage.hears(&call).await);
    }
    assert_eq!(heard, format!("{REPLY} {PARTING}"));
    call.ends().await;
    assert_eq!(call.transferred_to().as_deref(), Some("+5215598765432"));
    let ended = stage.ended(&handle).await;
    is(&ended, "completed", "transferred");
    let (_, turns) = stage.transcript(&ended).await;
    assert_eq!(said(&turns, "user"), ["DTMF 42#"], "{turns:?}");
}
