//! Web pages that talk with an agent: a microphone and a loudspeaker over a WebSocket.

mod page;

use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use offhook_tests::{Account, Options, Receiver, Server, both, model_server, must, within};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::time::sleep;
use tokio_tungstenite::tungstenite::Message;

use self::page::{Heard, Page, connect, connect_speaking, speech};

const PAGE: &str = "https://shop.example";

/// An agent that hums a note for each word, and recognizes the lines of its script.
fn config(lines: &[&str]) -> Value {
    json!({
        "system_prompt": "say: At nine.",
        "first_message": "Hello {{name}}.",
        "llm": {"provider": "scripted", "model": "scripted"},
        "stt": {"provider": "scripted", "settings": {"lines": lines}},
        "voice": {"provider": "scripted", "voice_id": "scripted"},
        "conversation": {"turns": {"silence_timeout_s": 60}},
    })
}

/// A published agent with its widget enabled, with these changes.
async fn agent(account: &Account, config: Value, change: Value) -> String {
    let agent = account.agent_with(config).await;
    let mut widget =
        json!({"enabled": true, "allowed_origins": [PAGE], "max_sessions_per_minute": 100});
    for (name, value) in change.as_object().into_iter().flatten() {
        widget[name] = value.clone();
    }
    let set = account.request("PUT", &format!("/v1/agents/{agent}/widget"));
    set.json(widget).await.assert(200);
    agent
}

async fn ended(account: &Account, id: &str) -> Value {
    let handle = format!("call_{id}");
    account.ended_within(&handle, Duration::from_secs(60)).await
}

fn turns(conversation: &Value) -> Vec<String> {
    let transcript = conversation["transcript"].as_array();
    let turns = transcript.into_iter().flatten();
    turns
        .map(|turn| {
            format!(
                "{}: {}",
                turn["role"].as_str().unwrap_or_default(),
                turn["text"].as_str().unwrap_or_default()
            )
        })
        .collect()
}

both! {
    async fn a_visitor_is_heard_and_answered(database: Database) {
        let (server, account) = Server::furnished(database).await;
        let events = Receiver::start().await;
        account.webhook(&events.url("/")).await;
        let agent = agent(&account, config(&["When do you open?"]), json!({})).await;
        let door = server.client().get(&format!("/widget/v1/agents/{agent}"));
        let door = door.header("Origin", PAGE).await.assert(200);
        assert_eq!(door, json!({"name": "Eva", "chat": true, "voice": true}));

        let (mut page, id) = Page::talks(server.address(), &agent, PAGE).await;
        page.hears(15).await;
        let said = page.text("turn").await;
        assert_eq!(said, json!({"type": "turn", "role": "agent", "text": "Hello Ana.", "interrupted": false}));
        page.says(speech());
        let asked = page.text("turn").await;
        assert_eq!((&asked["role"], &asked["text"]), (&json!("user"), &json!("When do you open?")));
        page.hears(10).await;
        assert_eq!(page.text("turn").await["text"], "At nine.");
        let live = account.read("/v1/me").await;
        assert_eq!(live["live_calls"], 1, "{live}");
        page.send(&json!({"type": "end"}));
        let over = page.text("ended").await;
        assert_eq!(over, json!({"type": "ended", "status": "completed", "reason": "customer_hangup"}));
        assert_eq!(page.closed().await, (1000, "customer_hangup".to_owned()));

        let call = ended(&account, &id).await;
        assert_eq!(
            (&call["status"], &call["termination_reason"], &call["channel"], &call["metadata"]),
            (&json!("completed"), &json!("customer_hangup"), &json!("widget_voice"), &json!({"name": "Ana"})),
            "{call}"
        );
        for number in ["from", "to", "customer_phone"] {
            assert_eq!(call[number], Value::Null, "{call}");
        }
        assert_eq!(call["latency"]["turns"], 1, "{call}");
        let conversation = account.read(&format!("/v1/conversations/{id}")).await;
        assert_eq!(turns(&conversation), ["agent: Hello Ana.", "user: When do you open?", "agent: At nine."]);
        let listed = account.read("/v1/calls?channel=widget_voice").await;
        assert_eq!(listed["data"][0]["id"], json!(id), "{listed}");
        let told = events.count(1).await;
        assert_eq!((told[0].kind(), told[0].call()), ("call.completed".to_owned(), format!("call_{id}")));
    }

    async fn what_a_widget_may_cost_bounds_talks_too(database: Database) {
        let options = Options::on(database)
            .set("models.openai.base_url", model_server().await)
            .set("models.openai.api_key", "sk-test");
        let server = Server::start(options).await;
        let account = server.account("scale").await;
        let mut dear = config(&[]);
        dear["llm"] = json!({"provider": "openai", "model": "gpt-4.1"});
        let refused = async |agent: &str| {
            let mut page = Page::starts(server.address(), agent, PAGE).await;
            let error = page.text("error").await;
            let (code, reason) = page.closed().await;
            assert_eq!((code, Some(&reason[..])), (1008, error["error"].as_str()), "{error}");
            error
        };
        let capped = agent(&account, dear.clone(), json!({"daily_credit_cap": 0})).await;
        let error = refused(&capped).await;
        assert_eq!(error["error"], "rate_limit_exceeded");
        assert!(error["retry_after"].as_i64().is_some_and(|seconds| seconds <= 86_400), "{error}");

        let rare = agent(&account, config(&[]), json!({"max_sessions_per_minute": 1})).await;
        // The minute may end between the two.
        let mut refusals = 0;
        for _ in 0..3 {
            let mut page = Page::starts(server.address(), &rare, PAGE).await;
            if let Heard::Text(text) = page.next().await {
                refusals += usize::from(text["error"] == "rate_limit_exceeded");
            }
        }
        assert!(refusals >= 1);

        let mut silent = config(&[]);
        silent["stt"] = json!({});
        let silent = agent(&account, silent, json!({})).await;
        assert_eq!(refused(&silent).await["error"], "conflict");
        let door = server.client().get(&format!("/widget/v1/agents/{silent}"));
        let door = door.header("Origin", PAGE).await.assert(200);
        assert_eq!(door["voice"], false);

        let poor = server.account_with("starter", 0).await;
        let dear = agent(&poor, dear, json!({})).await;
        assert_eq!(refused(&dear).await["error"], "payment_required");
        let listed = poor.read("/v1/calls").await;
        assert_eq!(listed["data"], json!([]), "nothing is written of it");
    }

    async fn pages_that_may_not_talk_get_no_socket(database: Database) {
        let (server, account) = Server::furnished(database).await;
        let ours = agent(&account, config(&[]), json!({})).await;
        let elsewhere = "https://other.example";
        let theirs = agent(&account, config(&[]), json!({"allowed_origins": [elsewhere]})).await;
        let address = server.address();
        for forged in ["https://evil.example", "null", "https://shop.example.evil.example", "http://shop.example"] {
            assert_eq!(connect(address, &ours, forged).await.err(), Some(403), "{forged}");
        }
        let missing = connect_speaking(address, &ours, (None, "offhook.voice.v1")).await;
        assert_eq!(missing.err(), Some(403));
        let other = connect_speaking(address, &ours, (Some(PAGE), "chat")).await;
        assert_eq!(other.err(), Some(400));
        // After the handshake of a page that may talk to some agent.
        for (agent, code) in [(&theirs[..], "forbidden"), ("00000000-0000-7000-8000-000000000000", "not_found")] {
            let mut page = Page::starts(address, agent, PAGE).await;
            assert_eq!(page.text("error").await["error"], code);
        }
        let listed = account.read("/v1/conversations").await;
        assert_eq!(listed["data"], json!([]));
    }

    /// The length in a frame's head is refused before the frame is buffered.
    async fn a_frame_of_eight_gibibytes_is_refused_by_its_first_hundred_kilobytes(database: Database) {
        let (server, account) = Server::furnished(database).await;
        let agent = agent(&account, config(&[]), json!({})).await;
        let Ok(mut socket) = connect(server.address(), &agent, PAGE).await else {
            panic!("no socket");
        };
        let mut frame = vec![0x82, 0xff];
        frame.extend((8_u64 << 30).to_be_bytes());
        frame.extend([0; 4 + 100 * 1024]);
        must("a socket", socket.get_mut().write_all(&frame).await);
        let closed = within("a close", Duration::from_secs(4), async {
            loop {
                match socket.next().await {
                    Some(Ok(Message::Close(Some(frame)))) => return u16::from(frame.code),
                    Some(Ok(_)) => {}
                    other => panic!("{other:?}"),
                }
            }
        });
        assert_eq!(closed.await, 1009);
    }

    async fn a_page_that_sends_what_it_should_not_is_let_go_of(database: Database) {
        let (server, account) = Server::furnished(database).await;
        let agent = agent(&account, config(&[]), json!({})).await;
        let start = || Message::text(r#"{"type":"start"}"#);
        let floods = || vec![Message::binary(vec![0; 640]); 2_000];
        for (what, messages, code) in [
            ("a frame of more than 4 KiB", vec![start(), Message::binary(vec![0; 4_098])], 1009),
            ("a text of more than 64 KiB", vec![start(), Message::text(" ".repeat(65_537))], 1009),
            ("half a sample", vec![start(), Message::binary(vec![0; 639])], 1008),
            ("a flood of sound", std::iter::once(start()).chain(floods()).collect(), 1008),
            ("no JSON", vec![Message::text("hello")], 1008),
            ("two beginnings", vec![start(), start()], 1008),
            ("variables that are none", vec![Message::text(r#"{"type":"start","metadata":[]}"#)], 1008),
            ("a flood of pings", vec![Message::Ping(vec![].into()); 1_200], 1008),
            ("nothing", vec![], 1008),
        ] {
            let mut socket = connect(server.address(), &agent, PAGE).await.ok().into_iter();
            let Some(socket) = socket.next() else { panic!("{what}") };
            let (mut sink, mut events) = socket.split();
            let sending = async {
                for message in messages {
                    let begins = message == start();
                    if sink.send(message).await.is_err() {
                        break;
                    }
                    if begins {
                        // Audio before the conversation has begun is dropped.
                        sleep(Duration::from_millis(500)).await;
                    }
                }
                std::future::pending::<()>().await;
            };
            let closed = async {
                loop {
                    match events.next().await {
                        Some(Ok(Message::Close(Some(frame)))) => return u16::from(frame.code),
                        Some(Ok(_)) => {}
                        other => panic!("{what}: {other:?}"),
                    }
                }
            };
            let closed = within(what, Duration::from_secs(40), async {
                tokio::select! {
                    () = sending => 0,
                    code = closed => code,
                }
            });
            assert_eq!(closed.await, code, "{what}");
        }
        // None of them keeps a call slot.
        let listed = account.read("/v1/calls").await;
        for call in listed["data"].as_array().into_iter().flatten() {
            ended(&account, call["id"].as_str().unwrap_or_default()).await;
        }
        assert_eq!(account.read("/v1/me").await["live_calls"], 0);
    }
}
