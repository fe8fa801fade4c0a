//! Live events.

use std::time::Duration;

use offhook_http::HttpConfig;
use offhook_services::{CallSettings, Looks};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::it::app::{CUSTOMER, Setup, TestApp, text};
use crate::it::client::must;

/// An event: its id, name and data.
pub(crate) type Event = (i64, String, Value);

/// Reads events until the stream ends.
pub(crate) async fn events(stream: TcpStream) -> Vec<Event> {
    let mut bytes = Vec::new();
    let mut reader = BufReader::new(stream);
    must(must(
        timeout(Duration::from_secs(20), reader.read_to_end(&mut bytes)).await,
    ));
    let text = String::from_utf8_lossy(&bytes).into_owned();
    for line in ["content-type: text/event-stream", "cache-control: no-store"] {
        assert!(text.to_lowercase().contains(line), "{text}");
    }
    assert!(text.contains("x-content-type-options: nosniff"), "{text}");
    let mut events = Vec::new();
    for block in text.split("\n\n") {
        let line = |name: &str| {
            let lines = block.lines();
            lines
                .into_iter()
                .find_map(|line| line.strip_prefix(name))
                .map(str::to_owned)
        };
        if let (Some(id), Some(name), Some(data)) = (line("id: "), line("event: "), line("data: "))
        {
            events.push((must(id.parse()), name, must(serde_json::from_str(&data))));
        }
    }
    events
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_is_followed_live_and_from_where_a_client_left_off() {
    let app = TestApp::start().await;
    let agent = app.agent().await;
    let handle = text(&app.call(&agent, CUSTOMER).await["id"]);
    let id = handle.trim_start_matches("call_");
    let target = format!("/v1/conversations/{id}/events");
    let open = app.get(&target).header("Connection", "close").open().await;
    let following = tokio::spawn(events(open));
    app.dial();
    let live = must(following.await);
    let states: Vec<&Value> = live
        .iter()
        .filter(|(_, name, _)| name == "state")
        .map(|(_, _, data)| &data["state"])
        .collect();
    assert_eq!(states, ["dialing", "live", "closing", "completed"]);
    let turns = live.iter().filter(|(_, name, _)| name == "turn");
    let turns: Vec<&Value> = turns.map(|(_, _, data)| data).collect();
    let conversation = app.read(&format!("/v1/conversations/{id}")).await;
    assert_eq!(json!(turns), conversation["transcript"]);
    assert!(live.is_sorted_by_key(|(seq, _, _)| *seq));

    // After its end the whole stream reads the same, and a client resumes after the last event it saw.
    let again = app.get(&target).header("Connection", "close").open().await;
    assert_eq!(events(again).await, live);
    let seen = live[1].0.to_string();
    let rest = app.get(&target).header("Last-Event-ID", &seen);
    let rest = rest.header("Connection", "close").open().await;
    assert_eq!(events(rest).await, live[2..]);
    for garbage in ["x", "-1", "", "99999999999"] {
        let answer = app.get(&target).header("Last-Event-ID", garbage).await;
        let message = answer.assert_error(400, "invalid_query");
        assert!(message.starts_with("`Last-Event-ID`"), "{message}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_eleventh_stream_of_a_key_is_refused_until_one_is_closed() {
    let app = TestApp::start().await;
    let agent = app.agent().await;
    let handle = text(&app.call(&agent, CUSTOMER).await["id"]);
    let target = format!(
        "/v1/conversations/{}/events",
        handle.trim_start_matches("call_")
    );
    let mut open = Vec::new();
    for _ in 0..10 {
        let mut stream = BufReader::new(app.get(&target).open().await);
        let mut line = String::new();
        must(stream.read_line(&mut line).await);
        assert!(line.starts_with("HTTP/1.1 200"), "{line}");
        open.push(stream);
    }
    let campaign = json!({"name": "Spring", "agent_id": agent});
    let campaign = app.post("/v1/campaigns", campaign).await.assert(201);
    let progress = format!("/v1/campaigns/{}/events", text(&campaign["id"]));
    let scenario = json!({"name": "Greets", "turns": ["Hello."], "checks": [{"kind": "honest"}]});
    let runs = format!("/v1/agents/{agent}/test-runs");
    let run = app.post(&runs, json!({"scenarios": [scenario]})).await;
    let run = format!("{runs}/{}/events", text(&run.assert(201)["id"]));
    for target in [
        &target,
        &progress,
        &run,
        "/v1/logs/stream",
        "/v1/webhooks/stream",
    ] {
        let refused = app.get(target).await;
        refused.assert_error(409, "conflict");
        assert!(refused.number("x-ratelimit-remaining") > 0);
    }
    // A client that goes away makes room.
    open.pop();
    let reopened = async {
        loop {
            let mut stream = BufReader::new(app.get(&target).open().await);
            let mut line = String::new();
            must(stream.read_line(&mut line).await);
            if line.starts_with("HTTP/1.1 200") {
                return stream;
            }
        }
    };
    open.push(must(timeout(Duration::from_secs(5), reopened).await));
    // A stopping server ends the streams.
    app.state.end_streams();
    for stream in &mut open {
        let mut rest = Vec::new();
        must(must(
            timeout(Duration::from_secs(5), read_last_chunk(stream, &mut rest)).await,
        ));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_streams_of_a_revoked_key_end() {
    let app = TestApp::with(Setup {
        config: HttpConfig {
            stream_key_check: Duration::from_millis(20),
            ..HttpConfig::default()
        },
        ..Setup::default()
    })
    .await;
    let agent = app.agent().await;
    let handle = text(&app.call(&agent, CUSTOMER).await["id"]);
    let target = format!(
        "/v1/conversations/{}/events",
        handle.trim_start_matches("call_")
    );
    let mut following = Following::open(&app, &target, None).await;
    app.revoke(&app.token).await;
    let mut rest = Vec::new();
    let ending = read_last_chunk(&mut following.0, &mut rest);
    must(must(timeout(Duration::from_secs(20), ending).await));
    let rest = String::from_utf8_lossy(&rest);
    assert!(!rest.contains("event: "), "{rest}");
}

/// Reads up to the chunk that ends the body.
async fn read_last_chunk(
    stream: &mut BufReader<TcpStream>,
    read: &mut Vec<u8>,
) -> std::io::Result<()> {
    while !read.ends_with(b"0\r\n\r\n") {
        read.push(stream.read_u8().await?);
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn logs_and_events_of_the_account_alone_are_followed_and_from_where_a_client_left_off() {
    let app = TestApp::with(Setup {
        calls: CallSettings {
            looks: Looks {
                streams: Duration::from_millis(10),
                ..Looks::default()
            },
            ..CallSettings::default()
        },
        ..Setup::default()
    })
    .await;
    let agent = app.agent().await;
    for (target, name, member) in [
        ("/v1/logs/stream", "log", ("path", "/v1/calls")),
        (
            "/v1/webhooks/stream",
            "call.initiated",
            ("type", "call.initiated"),
        ),
    ] {
        app.clock.advance(Duration::from_secs(1));
        let mut following = Following::open(&app, target, None).await;
        let before = text(&app.call(&agent, CUSTOMER).await["id"]);
        must(app.services.request_logs().flush().await);
        let first = following.next(name, member).await;
        app.clock.advance(Duration::from_secs(1));
        let placed = app.call(&agent, CUSTOMER).await;
        must(app.services.request_logs().flush().await);
        let second = following.next(name, member).await;
        assert_ne!(first, second, "{target}: each once");
        // A client that has seen no event goes on from the beginning of its stream.
        let mut idle = Following::open(&app, target, Some(&following.1)).await;
        assert_eq!(idle.next(name, member).await, first, "{target}");
        // Behind the first comes the second, at once.
        let mut again = Following::open(&app, target, Some(&first.0)).await;
        assert_eq!(again.next(name, member).await, second, "{target}");
        if name == "log" {
            assert_eq!(
                (&second.1["path"], &second.1["status"]),
                (&json!("/v1/calls"), &json!(201))
            );
        } else {
            let ids = [&first.1, &second.1].map(|event| event["data"]["id"].clone());
            assert_eq!(ids, [json!(before), placed["id"].clone()]);
        }
        for garbage in ["x", "7", "-1"] {
            let answer = app.get(target).header("Last-Event-ID", garbage).await;
            let message = answer.assert_error(400, "invalid_query");
            assert!(message.starts_with("`Last-Event-ID`"), "{message}");
        }
    }
}

/// An open stream.
struct Following(BufReader<TcpStream>, String);

impl Following {
    async fn open(app: &TestApp, target: &str, after: Option<&str>) -> Self {
        let mut request = app.get(target);
        if let Some(id) = after {
            request = request.header("Last-Event-ID", id);
        }
        let mut following = Self(BufReader::new(request.open().await), String::new());
        while following.line().await != ": open" {}
        let begins = following.line().await;
        following.1 = begins.strip_prefix("id: ").unwrap_or_default().to_owned();
        following
    }

    async fn line(&mut self) -> String {
        let mut line = String::new();
        must(must(
            timeout(Duration::from_secs(20), self.0.read_line(&mut line)).await,
        ));
        line.trim_end().to_owned()
    }

    /// The id and the data of the next event of this name whose data has this member.
    async fn next(&mut self, name: &str, (member, value): (&str, &str)) -> (String, Value) {
        loop {
            let line = self.line().await;
            let Some(id) = line.strip_prefix("id: ") else {
                continue;
            };
            let event = self.line().await;
            let data = self.line().await;
            let data: Value = must(serde_json::from_str(
                data.strip_prefix("data: ").unwrap_or_default(),
            ));
            if event == format!("event: {name}") && data[member] == value {
                return (id.to_owned(), data);
            }
        }
    }
}
