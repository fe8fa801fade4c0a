//! Legacy agents: listed, renamed and called, with the provider's reports on the calls.

use offhook_domain::{CredentialProvider, Plan};
use serde_json::{Value, json};

use crate::it::app::{CUSTOMER, TestApp, members, text};
use crate::it::client::must;

/// Stores a credential and lists its agents, newest first: the second agent, then the first.
pub(crate) async fn agents(app: &TestApp) -> Vec<Value> {
    let provider = CredentialProvider::Legacy;
    let credentials = app.services.credentials();
    must(credentials.set(app.account, provider, "sim_acme").await);
    let synced = must(app.services.legacy().sync(app.account).await);
    assert_eq!((synced.listed, synced.added, synced.archived), (2, 2, 0));
    let list = app.read("/v1/agents?runtime=legacy").await;
    let mut agents: Vec<Value> = list["data"]
        .as_array()
        .into_iter()
        .flatten()
        .cloned()
        .collect();
    agents.sort_by_key(|agent| text(&agent["name"]));
    agents
}

#[tokio::test(flavor = "multi_thread")]
async fn legacy_agents_are_listed_and_only_their_name_changes() {
    let app = TestApp::start().await;
    let agents = agents(&app).await;
    let [reception, reminders] = [&agents[0], &agents[1]];
    let expected = "id runtime name status language created_at updated_at phone_numbers \
                    provider_agent_id";
    assert_eq!(members(reminders), expected);
    assert_eq!(reminders["phone_numbers"], json!([]));
    let number = &reception["phone_numbers"][0];
    assert_eq!(members(number), "id phone_number label");
    assert!(text(&number["phone_number"]).starts_with("+1500556"));
    assert!(text(&reception["provider_agent_id"]).starts_with("agent_"));
    let one = format!("/v1/agents/{}", text(&reception["id"]));
    let read = app.read(&one).await;
    assert_eq!(
        read["config"],
        json!({
            "system_prompt": "You answer for the front desk.\nsay: Thank you, I have noted that.",
            "first_message": "Hello {{name}}, this is the front desk.",
            "language": "en",
            "llm": {"model": "simulated-1"},
            "voice": {"voice_id": "simulated-voice-1"},
        })
    );
    let patch = async |body: Value| app.patch(&one, body).await;
    let renamed = patch(json!({"name": "Front"})).await.assert(200);
    assert_eq!(renamed["name"], "Front");
    assert_eq!(renamed["phone_numbers"], reception["phone_numbers"]);
    for body in [
        json!({"language": "es"}),
        json!({"name": "x", "config": {}}),
    ] {
        patch(body).await.assert_error(422, "unsupported_runtime");
    }
    let publish = app.post(&format!("{one}/publish"), "{}").await;
    publish.assert_error(422, "unsupported_runtime");
    // The local name stays.
    must(app.services.legacy().sync(app.account).await);
    assert_eq!(app.read(&one).await["name"], "Front");

    // A refusal by the provider changes nothing here.
    let credentials = app.services.credentials();
    let wrong = credentials.set(app.account, CredentialProvider::Legacy, "gone");
    must(wrong.await);
    let answer = patch(json!({"name": "Other"})).await;
    answer.assert_error(502, "upstream_error");
    let removed = credentials.remove(app.account, CredentialProvider::Legacy);
    must(removed.await);
    let answer = patch(json!({"name": "Other"})).await;
    answer.assert_error(409, "conflict");
    let id = one.rsplit('/').next().unwrap_or_default();
    let call = json!({"agent_id": id, "to": "+14155550123"});
    let call = app.post("/v1/calls", call).await;
    let message = call.assert_error(409, "conflict");
    assert!(
        message.starts_with("The account has no credential"),
        "{message}"
    );
    assert_eq!(app.read(&one).await["name"], "Front");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_legacy_agents_call_is_told_like_every_other_and_has_a_recording() {
    let app = TestApp::start().await;
    let agents = agents(&app).await;
    app.dial();
    let reception = &agents[0];
    for reference in ["id", "provider_agent_id"] {
        let reference = text(&reception[reference]);
        let body = json!({"agent_id": reference, "to": CUSTOMER, "metadata": {"name": "Ana"}});
        let placed = app.post("/v1/calls", body).await.assert(201);
        assert_eq!(placed["agent_id"], reference);
        let call = app.ended(&text(&placed["id"])).await;
        assert_eq!(call["status"], "completed", "{call}");
        assert_eq!(call["runtime"], "legacy");
        assert_eq!(call["has_audio"], true);
        assert_eq!(call["from"], reception["phone_numbers"][0]["phone_number"]);
        let expected = json!({"id": reception["id"], "name": "Reception"});
        assert_eq!(call["agent"], expected);
        let seconds = call["duration_seconds"].as_i64().unwrap_or(0);
        assert_eq!(call["credits"], (seconds + 59) / 60);
        assert!(!text(&call["summary"]).is_empty());
        let id = text(&call["conversation_id"]);
        let conversation = format!("/v1/conversations/{id}");
        let read = app.read(&conversation).await;
        let expected = "Hello Ana, this is the front desk.";
        assert_eq!(read["transcript"][0]["text"], expected);
        let audio = format!("{conversation}/audio");
        assert_eq!(read["recording_url"], audio);
        check_recording(&app, &audio).await;
        let stranger = app.stranger(Plan::Pro).await;
        let theirs = app.bare("GET", &audio).key(&stranger).await;
        theirs.assert_error(404, "not_found");
    }
}

async fn check_recording(app: &TestApp, audio: &str) {
    let whole = app.get(audio).await;
    assert_eq!((whole.status, &whole.body[..4]), (200, b"RIFF".as_slice()));
    assert_eq!(whole.header("content-type"), Some("audio/wav"));
    assert_eq!(whole.header("accept-ranges"), Some("bytes"));
    let size = whole.body.len();
    let tag = whole.header("etag").unwrap_or_default().to_owned();
    let part = app.get(audio).header("Range", "bytes=8-11").await;
    assert_eq!(part.status, 206);
    assert_eq!(part.body.as_slice(), b"WAVE".as_slice());
    let range = format!("bytes 8-11/{size}");
    assert_eq!(part.header("content-range"), Some(range.as_str()));
    let same = app
        .get(audio)
        .header("Range", "bytes=0-0")
        .header("If-Range", &tag);
    assert_eq!(same.await.status, 206);
    let other = app
        .get(audio)
        .header("Range", "bytes=0-0")
        .header("If-Range", "\"x\"");
    assert_eq!(other.await.body.len(), size);
    let beyond = app
        .get(audio)
        .header("Range", format!("bytes={size}-"))
        .await;
    beyond.assert_error(416, "range_not_satisfiable");
    let range = format!("bytes */{size}");
    assert_eq!(beyond.header("content-range"), Some(range.as_str()));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_becomes_of_a_legacy_call_is_said_in_the_same_words() {
    let app = TestApp::start().await;
    let agents = agents(&app).await;
    app.dial();
    let agent = text(&agents[1]["id"]);
    for (to, reason) in [
        ("+15005550001", "busy"),
        ("+15005550002", "no_answer"),
        ("+15005550003", "rejected"),
        ("+15005550005", "invalid_number"),
        ("+15005550007", "carrier_error"),
    ] {
        let placed = app.call(&agent, to).await;
        let call = app.ended(&text(&placed["id"])).await;
        assert_eq!(
            (&call["status"], &call["failure_reason"]),
            (&json!("failed"), &json!(reason)),
            "{call}"
        );
        assert_eq!(call["credits"], 0);
        assert_eq!(call["has_audio"], false);
        let audio = format!("/v1/conversations/{}/audio", text(&call["conversation_id"]));
        app.get(&audio).await.assert_error(404, "not_found");
    }
    // With an invalid credential the service cannot query the provider.
    let credentials = app.services.credentials();
    let wrong = credentials.set(app.account, CredentialProvider::Legacy, "gone");
    must(wrong.await);
    let placed = app.call(&agent, CUSTOMER).await;
    let call = app.ended(&text(&placed["id"])).await;
    assert_eq!(call["failure_reason"], "agent_error");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_legacy_call_can_be_hung_up() {
    let app = TestApp::start().await;
    let agents = agents(&app).await;
    app.dial();
    // The callee stays silent, so the call would go on.
    let placed = app.call(&text(&agents[0]["id"]), "+15005550010").await;
    let handle = text(&placed["id"]);
    let conversation = format!("/v1/conversations/{}", handle.trim_start_matches("call_"));
    loop {
        let read = app.read(&conversation).await;
        if read["messages_count"] != 0 || read["status"] != "initiated" {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(2)).await;
    }
    app.request("POST", &format!("/v1/calls/{handle}/hangup"))
        .await;
    let call = app.ended(&handle).await;
    let reason = text(&call["termination_reason"]);
    assert!(
        ["api_hangup", "silence_timeout"].contains(&reason.as_str()),
        "{call}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_credential_that_no_header_can_carry_is_refused_where_one_has_to() {
    use CredentialProvider::{Legacy, LegacyWebhook, VoicesA, VoicesB};
    let app = TestApp::start().await;
    let credentials = app.services.credentials();
    for secret in ["xi\nkey", "xi\rkey", "clé", "xi\0key"] {
        for provider in [Legacy, VoicesA, VoicesB] {
            let refused = credentials.set(app.account, provider, secret).await;
            let said = refused.unwrap_err().to_string();
            let expected = "the credential holds characters that no HTTP header can carry";
            assert_eq!(said, expected, "{provider}");
        }
        must(credentials.set(app.account, LegacyWebhook, secret).await);
    }
    must(credentials.set(app.account, Legacy, " xi_key \n").await);
}

#[tokio::test(flavor = "multi_thread")]
async fn numbers_are_imported_with_the_accounts_own_credential() {
    let app = TestApp::start().await;
    let import = async || app.request("POST", "/v1/phone-numbers/import").await;
    let message = import().await.assert_error(409, "conflict");
    assert!(
        message.contains("offhook account credential set"),
        "{message}"
    );
    let credentials = app.services.credentials();
    let provider = CredentialProvider::Simulator;
    must(credentials.set(app.account, provider, "nonsense").await);
    import().await.assert_error(502, "upstream_error");
    must(credentials.set(app.account, provider, "sim_acme").await);
    let first = import().await.assert(200);
    assert_eq!(first, json!({"imported": 2, "already_present": 0}));
    let second = import().await.assert(200);
    assert_eq!(second, json!({"imported": 0, "already_present": 2}));
    let list = app.read("/v1/phone-numbers").await;
    assert_eq!(list["data"].as_array().map(Vec::len), Some(2));
}
