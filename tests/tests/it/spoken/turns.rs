//! Who has the floor: interruptions, machines, keys, hold and transfers, as they are heard.

use std::time::Duration;

use offhook_tests::{eventually, needs_speech, silence, speech};
use serde_json::json;

use super::is;
use super::stage::{CUSTOMER, GREETING, PARTING, PATIENCE, REPLY, Stage, config, said};

/// A reply of about eight seconds, in one sentence.
const LONG: &str = "The rooms are on the first floor and the breakfast is at seven in the morning and the pool is open \
                    all day and the garden is open too and the beach is not far away.";

/// Packets of 20 ms that have sound in them.
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
async fn a_murmur_makes_the_agent_pause_and_no_word_is_said_twice() {
    needs_speech!();
    let stage = Stage::open().await;
    let mut config = config();
    config["first_message"] = json!(LONG);
    config["stt"]["model"] = json!("long");
    let agent = stage.account.agent_with(config).await;
    let handle = stage.account.call(&agent, CUSTOMER).await;
    let whole = speech("rms", LONG).await;
    let call = stage.phone.answers().await;
    call.hears_beginning(60).await;
    call.says(&speech("slt", "Uh.").await).await;
    let heard = call.hears().await;
    let (whole_loud, heard_loud) = (loud(&whole), loud(&heard.samples));
    // Where it paused a packet may be cut in two; a word has ten packets at least.
    assert!(
        heard_loud.abs_diff(whole_loud) <= 7,
        "{heard_loud} packets were heard of {whole_loud}"
    );
    call.hang_up().await;
    let ended = stage.ended(&handle).await;
    let (_, turns) = stage.transcript(&ended).await;
    assert_eq!(turns, [format!("agent: {LONG}")]);
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
    // Keys take no longer than a breath.
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

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_said_to_whoever_holds_the_call_and_the_rest_is_said_after() {
    needs_speech!();
    let stage = Stage::open().await;
    let mut config = config();
    config["first_message"] = json!(LONG);
    let agent = stage.account.agent_with(config).await;
    let handle = stage.account.call(&agent, CUSTOMER).await;
    let whole = loud(&speech("rms", LONG).await);
    let call = stage.phone.answers().await;
    call.hears_beginning(60).await;
    call.hold().await;
    let before = loud(&call.heard());
    // Whoever holds a call sends music.
    let music = [
        silence(Duration::from_millis(500)),
        speech("awb", "What time do you open?").await,
    ];
    call.says(&music.concat()).await;
    let during = loud(&call.heard());
    assert!(during <= before + 10, "{before} packets, then {during}");
    call.resume().await;
    let heard = call.hears().await;
    assert!(
        loud(&heard.samples).abs_diff(whole) <= 10,
        "{} packets of {whole} were heard",
        loud(&heard.samples)
    );
    call.hang_up().await;
    let ended = stage.ended(&handle).await;
    is(&ended, "completed", "customer_hangup");
    let (_, turns) = stage.transcript(&ended).await;
    assert_eq!(turns, [format!("agent: {LONG}")]);
}
