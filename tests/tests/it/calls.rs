//! Placing a call and reading it.

use offhook_tests::{Receiver, Server, both, text};
use serde_json::{Value, json};

/// Metadata whose order, literals and escapes a careless server would change.
const METADATA: &str = r#"{"z":1.50,"a":1E3,"m":-0,"big":12345678901234567890,"año":"J\u00f3se \ud83d\ude00","t":true,"n":null,"e":""}"#;
/// The same, compact and with its escapes decoded.
const KEPT: &str = r#"{"z":1.50,"a":1E3,"m":-0,"big":12345678901234567890,"año":"Jóse 😀","t":true,"n":null,"e":""}"#;

/// The text of a member in a body.
fn member(body: &str, name: &str) -> String {
    let Some((_, rest)) = body.split_once(&format!("\"{name}\":")) else {
        panic!("no {name} in {body}");
    };
    let end = rest.find('}').map_or(rest.len(), |end| end + 1);
    rest[..end].to_owned()
}

pub(crate) fn assert_timestamp(value: &Value) {
    let text = text(value);
    assert!(
        text.len() == 24 && text.ends_with('Z') && text.as_bytes()[19] == b'.',
        "{text}"
    );
}

both! {
    async fn a_call_reads_in_full_once_it_has_ended(database: Database) {
        let (_server, account) = Server::furnished(database).await;
        let agent = account.agent().await;
        let handle = account.call(&agent, "+5215512345678").await;
        let call = account.ended(&handle).await;
        let id = &handle["call_".len()..];
        assert_timestamp(&call["started_at"]);
        assert_timestamp(&call["ended_at"]);
        let (duration, summary) = (&call["duration_seconds"], &call["summary"]);
        assert!(duration.as_i64() >= Some(1), "{call}");
        assert!(!text(summary).is_empty(), "{call}");
        let latency = &call["latency"];
        assert!(latency["turns"].as_i64() >= Some(1), "{call}");
        let mut expected = json!({
            "id": id,
            "call_id": handle,
            "runtime": "engine",
            "channel": "phone",
            "agent": {"id": agent, "name": "Eva"},
            "status": "completed",
            "from": "+15005550100",
            "to": "+5215512345678",
            "customer_phone": "+5215512345678",
            "started_at": call["started_at"],
            "ended_at": call["ended_at"],
            "duration_seconds": duration,
            "credits": 0,
            "summary": summary,
            "has_audio": false,
            "termination_reason": "customer_hangup",
            "metadata": {},
            "failure_reason": null,
            "outcome": "answered_human",
            "conversation_id": id,
            "latency": {"turns": latency["turns"], "p50_ms": latency["p50_ms"], "p95_ms": latency["p95_ms"]},
            "simulated": true,
            "opted_out": false,
            "consent": null,
            "compliance_rule": null,
        });
        assert_eq!(call, expected);
        // The list only has the item.
        if let Some(item) = expected.as_object_mut() {
            for name in [
                "metadata", "failure_reason", "outcome", "conversation_id", "latency", "simulated", "opted_out", "consent",
                "compliance_rule",
            ] {
                item.shift_remove(name);
            }
        }
        let list = account.read("/v1/calls").await;
        let expected = json!({"data": [expected], "has_more": false, "next_cursor": null});
        assert_eq!(list, expected);
    }

    async fn metadata_comes_back_as_it_was_sent(database: Database) {
        let (_server, account) = Server::furnished(database).await;
        let agent = account.agent().await;
        let receiver = Receiver::start().await;
        account.webhook(&receiver.url("/")).await;
        let spaced = METADATA.replace(":", " : ").replace(",\"", " ,\n\"");
        let body = format!(r#"{{"to":"+15005550001","metadata":{spaced},"agent_id":"{agent}"}}"#);
        let placed = account.post("/v1/calls", body).await.assert(201);
        let read = account.get(&format!("/v1/calls/{}", text(&placed["id"]))).await;
        assert_eq!(member(&read.text(), "metadata"), KEPT);
        let received = receiver.count(1).await;
        assert_eq!(received[0].kind(), "call.initiated");
        let event = String::from_utf8_lossy(&received[0].body).into_owned();
        assert_eq!(member(&event, "metadata"), KEPT);
        for none in ["", r#","metadata":null"#, r#","metadata":{}"#] {
            let body = format!(r#"{{"agent_id":"{agent}","to":"+15005550001"{none}}}"#);
            let placed = account.post("/v1/calls", body).await.assert(201);
            let read = account.read(&format!("/v1/calls/{}", text(&placed["id"]))).await;
            assert_eq!(read["metadata"], json!({}));
        }
    }

    async fn metadata_fills_the_agent_s_variables(database: Database) {
        let (_server, account) = Server::furnished(database).await;
        let agent = account
            .agent_with(json!({
                "system_prompt": "Greet.",
                "first_message": "Hi {{name}}, {{age}}, {{city}}, {{nobody}}!",
                "llm": {"provider": "scripted", "model": "scripted"},
                "dynamic_variables": {"city": {"default": "Oaxaca"}, "name": {"default": "friend"}},
            }))
            .await;
        let body = json!({"agent_id": agent, "to": "+5215512345678", "metadata": {"name": "José", "age": 1.50}});
        let placed = account
            .post("/v1/calls", body.to_string().replace("1.5", "1.50"))
            .await
            .assert(201);
        let handle = text(&placed["id"]);
        account.ended(handle).await;
        let conversation = account.read(&format!("/v1/conversations/{}", &handle[5..])).await;
        let expected = "Hi José, 1.50, Oaxaca, !";
        assert_eq!(conversation["transcript"][0]["text"], expected);
    }

    async fn the_log_of_a_call_names_the_request_that_placed_it(database: Database) {
        let (server, account) = Server::furnished(database).await;
        let agent = account.agent().await;
        let body = json!({"agent_id": agent, "to": "+15005550001"});
        let placed = account.post("/v1/calls", body).await;
        let handle = placed.assert(201)["id"].as_str().unwrap_or_default().to_owned();
        account.ended(&handle).await;
        let request = placed.header("x-request-id").unwrap_or_default();
        let log = server.log();
        let ended = log.lines().find(|line| line.contains("call ended") && line.contains(&handle[5..]));
        let ended = ended.unwrap_or_else(|| panic!("no end of {handle}: {log}"));
        assert!(ended.contains(&format!("request_id={request}")), "{ended}");
    }
}
