//! Every field of an agent's configuration that is accepted has an effect in a conversation (decision 6.2). What a
//! field may be is tested elsewhere, and so are `max_duration_s` (it takes its time) and `llm.endpoint` (its target is
//! public).

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use offhook_providers::ProviderSettings;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use crate::app::{CUSTOMER, Setup, TestApp, text};
use crate::client::must;

const MACHINE: &str = "+15005550004";
const INTERRUPTS: &str = "+15005550009";
const SILENT: &str = "+15005550010";

/// How long the model of `local` thinks.
const THINKS: Duration = Duration::from_millis(100);

/// A call that was made with a configuration.
struct Made {
    call: Value,
    /// `agent` and what it said, ` --` where it was cut.
    said: Vec<String>,
    took: Duration,
}

impl Made {
    fn says(&self, words: &str) -> bool {
        self.said.iter().any(|said| said == words)
    }
}

type Effect = fn(&Made) -> bool;

/// A field, what it is set to, whom to call, and what that changes.
fn cases(bye: &Value) -> Vec<(&'static str, Value, &'static str, Effect)> {
    let turns = |turns: Value| json!({"conversation": {"turns": turns}});
    let talking = |interruptions: bool| {
        let prompt = format!("say: {}.", ["so much to say"; 15].join(", "));
        json!({"system_prompt": prompt, "conversation": {"turns": {"interruptions": interruptions}}})
    };
    let openai = json!({"provider": "openai", "model": "gpt-4.1"});
    let scripted = json!([{"provider": "scripted", "model": "scripted"}]);
    vec![
        (
            "system_prompt",
            json!({"system_prompt": "say: Alpha."}),
            CUSTOMER,
            |made| made.says("Alpha.") && !made.says("Beta."),
        ),
        (
            "first_message",
            json!({"first_message": "Good day."}),
            CUSTOMER,
            |made| made.said[0] == "Good day.",
        ),
        ("language", json!({"language": "de"}), SILENT, |made| {
            made.says("Sind Sie noch da?")
        }),
        (
            "llm.provider",
            json!({"llm": {"provider": "local", "model": "m7"}}),
            CUSTOMER,
            |made| made.says("All right."),
        ),
        (
            "llm.fallback",
            json!({"llm": {"provider": openai["provider"], "model": openai["model"], "fallback": scripted}}),
            CUSTOMER,
            |made| made.says("Beta."),
        ),
        (
            "llm.routing",
            json!({"llm": {"provider": "local", "model": "slow", "routing": "fastest", "fallback": scripted}}),
            CUSTOMER,
            |made| made.says("All right.") && made.says("Beta."),
        ),
        (
            "dynamic_variables",
            json!({"first_message": "Hi {{who}}.", "dynamic_variables": {"who": {"default": "Ana"}}}),
            CUSTOMER,
            |made| made.said[0] == "Hi Ana.",
        ),
        (
            "turns.endpointing_ms",
            turns(json!({"endpointing_ms": 3000})),
            CUSTOMER,
            |made| made.call["latency"]["p50_ms"].as_i64() >= Some(30),
        ),
        ("turns.interruptions", talking(true), INTERRUPTS, |made| {
            made.said.iter().any(|said| said.ends_with("--"))
        }),
        ("turns.interruptions", talking(false), INTERRUPTS, |made| {
            !made.said.iter().any(|said| said.ends_with("--"))
        }),
        (
            "turns.silence_timeout_s",
            turns(json!({"silence_timeout_s": 120})),
            SILENT,
            |made| {
                made.took >= Duration::from_millis(2_400)
                    && made.call["termination_reason"] == "silence_timeout"
            },
        ),
        (
            "turns.voicemail",
            turns(json!({"voicemail": "hang_up"})),
            MACHINE,
            |made| made.said.is_empty() && made.call["termination_reason"] == "voicemail",
        ),
        (
            "turns.voicemail",
            turns(json!({"voicemail": "leave_message"})),
            MACHINE,
            |made| made.said == ["Hello."] && made.call["termination_reason"] == "voicemail",
        ),
        (
            "turns.voicemail",
            turns(json!({"voicemail": "ignore"})),
            MACHINE,
            |made| !made.said.is_empty() && made.call["termination_reason"] != "voicemail",
        ),
        (
            "tool_ids",
            json!({"system_prompt": "say: Bye.\ncall: bye", "tool_ids": [bye["id"]]}),
            CUSTOMER,
            |made| made.call["termination_reason"] == "agent_hangup",
        ),
    ]
}

/// A model that thinks, says "All right.", and remembers what it was asked.
async fn model() -> (String, Arc<Mutex<Vec<Value>>>) {
    let listener = must(TcpListener::bind("127.0.0.1:0").await);
    let url = format!("http://{}/v1", must(listener.local_addr()));
    let asked: Arc<Mutex<Vec<Value>>> = Arc::default();
    let seen = Arc::clone(&asked);
    tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            let seen = Arc::clone(&seen);
            tokio::spawn(async move {
                let mut request = Vec::new();
                while !request.ends_with(b"}") {
                    let mut piece = [0; 4_096];
                    match socket.read(&mut piece).await {
                        Ok(0) | Err(_) => return,
                        Ok(length) => request.extend_from_slice(&piece[..length]),
                    }
                }
                let request = String::from_utf8_lossy(&request);
                let body = request.split_once("\r\n\r\n").map_or("", |(_, body)| body);
                let body = serde_json::from_str(body).unwrap_or_default();
                seen.lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .push(body);
                tokio::time::sleep(THINKS).await;
                let answer = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n\
                              data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"All right.\"}}]}\n\n\
                              data: [DONE]\n\n";
                drop(socket.write_all(answer.as_bytes()).await);
            });
        }
    });
    (url, asked)
}

fn provider(name: &str, base_url: &str) -> (String, ProviderSettings) {
    let settings = ProviderSettings {
        base_url: base_url.to_owned(),
        api_key: None,
    };
    (name.to_owned(), settings)
}

/// Publishes an agent with the usual configuration changed by `change`; returns its id.
async fn agent(app: &TestApp, change: &Value) -> String {
    let config = json!({
        "system_prompt": "say: Beta.",
        "first_message": "Hello.",
        "llm": {"provider": "scripted", "model": "scripted", "temperature": 0.3},
        "conversation": {"turns": {"silence_timeout_s": 60}},
    });
    let body = json!({"name": "Eva", "language": "en", "config": config});
    let made = app.post("/v1/agents", body).send().await.assert(201);
    let target = format!("/v1/agents/{}", text(&made["id"]));
    let change = json!({"config": change});
    let changed = app.request("PATCH", &target).json(change);
    changed.send().await.assert(200);
    let publish = app.post(&format!("{target}/publish"), "{}");
    publish.send().await.assert(200);
    text(&made["id"])
}

async fn made(app: &TestApp, change: &Value, to: &str) -> Made {
    let agent = agent(app, change).await;
    let began = Instant::now();
    let call = app.call(&agent, to).await;
    let target = format!("/v1/calls/{}", text(&call["id"]));
    let call = loop {
        let call = app.get(&target).send().await.assert(200);
        if call["status"] != "initiated" {
            break call;
        }
        assert!(
            began.elapsed() < Duration::from_secs(30),
            "the call goes on"
        );
        tokio::time::sleep(Duration::from_millis(50)).await;
    };
    let took = began.elapsed();
    let conversation = format!("/v1/conversations/{}", text(&call["conversation_id"]));
    let read = app.get(&conversation).send().await.assert(200);
    let turns = read["transcript"].as_array().into_iter().flatten();
    let said = turns.filter(|turn| turn["role"] == "agent").map(|turn| {
        let cut = if turn["interrupted"] == true {
            " --"
        } else {
            ""
        };
        format!("{}{cut}", text(&turn["text"]))
    });
    Made {
        said: said.collect(),
        call,
        took,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_field_of_the_configuration_has_its_effect_in_a_conversation() {
    let (url, asked) = model().await;
    let app = TestApp::with(Setup {
        speed: 100.0,
        models: vec![
            provider("local", &url),
            provider("openai", "http://127.0.0.1:1/v1"),
        ],
        ..Setup::default()
    })
    .await;
    app.dial();
    let bye = json!({"name": "bye", "description": "Ends the call.", "kind": "end_call"});
    let bye = app.post("/v1/agents/tools", bye).send().await.assert(201);
    let calls = cases(&bye).into_iter().map(|(field, change, to, effect)| {
        let app = &app;
        async move {
            let made = made(app, &change, to).await;
            let told = format!("{field} {change}: {:?} {}", made.said, made.call);
            (effect(&made), told)
        }
    });
    let calls = join_all(calls).await.into_iter();
    let without: Vec<String> = calls
        .filter(|(has_effect, _)| !has_effect)
        .map(|(_, told)| told)
        .collect();
    assert!(without.is_empty(), "{without:#?}");
    let asked = asked.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let replies = asked.iter().filter(|body| body["model"] == "m7");
    let replies: Vec<&Value> = replies
        .filter(|body| {
            body["messages"][0]["content"]
                .as_str()
                .is_some_and(|p| p.starts_with("say:"))
        })
        .collect();
    assert!(!replies.is_empty());
    assert!(replies.iter().all(|body| body["temperature"] == 0.3));

    let closed = json!({"conversation": {"calling_hours":
        {"timezone": "UTC", "days": [1], "start": "09:00", "end": "10:00"}}});
    let agent = agent(&app, &closed).await;
    let call = json!({"agent_id": agent, "to": CUSTOMER});
    let refused = app.post("/v1/calls", call).send().await;
    refused.assert_error(409, "conflict");
    app.close().await;
}
