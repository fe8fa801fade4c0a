//! Text conversations of web pages: `/widget/v1/sessions`.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::future::join_all;
use offhook_domain::Plan;
use offhook_providers::ProviderSettings;
use offhook_testkit::{TestDatabase, contract};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::timeout;

use crate::it::app::{PAGE, Setup, TestApp, text};
use crate::it::client::{Answer, Request, eventually, must};

const SESSIONS: &str = "/widget/v1/sessions";

/// A page with a session.
struct Session<'a> {
    app: &'a TestApp,
    id: String,
    token: String,
}

/// Creates and publishes an agent with this prompt, and enables its widget.
async fn agent(app: &TestApp, prompt: &str, llm: Value, tools: &[String]) -> String {
    let config = json!({
        "system_prompt": prompt, "first_message": "Hi {{name}}.", "llm": llm, "tool_ids": tools,
    });
    let id = app.agent_with("en", config).await;
    app.widget(&id, json!({})).await;
    id
}

fn scripted() -> Value {
    json!({"provider": "scripted", "model": "scripted"})
}

fn page(app: &TestApp, method: &str, target: &str) -> Request {
    app.bare(method, target).header("Origin", PAGE)
}

async fn try_begin(app: &TestApp, agent: &str) -> Answer {
    let body = json!({"agent_id": agent, "metadata": {"name": "Ana"}});
    page(app, "POST", SESSIONS).json(body).await
}

impl<'a> Session<'a> {
    async fn begin(app: &'a TestApp, agent: &str) -> Self {
        let begun = try_begin(app, agent).await.assert(201);
        Self {
            app,
            id: text(&begun["id"]),
            token: text(&begun["token"]),
        }
    }

    fn request(&self, method: &str, rest: &str) -> Request {
        let target = format!("{SESSIONS}/{}{rest}", self.id);
        page(self.app, method, &target).key(&self.token)
    }

    async fn send(&self, body: Value) -> Answer {
        self.request("POST", "/messages").json(body).await
    }

    async fn say(&self, words: &str) -> Value {
        self.send(json!({"text": words})).await.assert(200)
    }

    /// The connection of a message whose reply comes as events.
    async fn stream(&self, body: Value) -> TcpStream {
        let request = self.request("POST", "/messages").json(body);
        let request = request.header("Accept", "text/event-stream");
        request.header("Connection", "close").open().await
    }

    async fn transcript(&self) -> Value {
        self.request("GET", "").await.assert(200)["transcript"].clone()
    }

    /// Waits until the conversation is over.
    async fn over(&self) -> Value {
        let target = format!("/v1/conversations/{}", self.id);
        self.app
            .until(&target, |read| read["status"] != "initiated")
            .await
    }
}

/// Name and data of every event, to the end of the stream.
async fn events(mut stream: TcpStream) -> Vec<(String, Value)> {
    let mut bytes = Vec::new();
    must(must(
        timeout(Duration::from_secs(20), stream.read_to_end(&mut bytes)).await,
    ));
    let all = String::from_utf8_lossy(&bytes).into_owned();
    assert!(all.contains("content-type: text/event-stream"), "{all}");
    let mut events = Vec::new();
    for block in all.split("\n\n") {
        let line = |name: &str| block.lines().find_map(|line| line.strip_prefix(name));
        if let (Some(name), Some(data)) = (line("event: "), line("data: ")) {
            events.push((name.to_owned(), must(serde_json::from_str(data))));
        }
    }
    events
}

/// Reads from a stream until it contains these words.
async fn until(stream: &mut TcpStream, words: &str) {
    let mut seen = String::new();
    while !seen.contains(words) {
        let mut bytes = [0; 1_024];
        let read = timeout(Duration::from_secs(20), stream.read(&mut bytes)).await;
        let count = must(must(read));
        assert!(count > 0, "{seen}");
        seen.push_str(&String::from_utf8_lossy(&bytes[..count]));
    }
}

/// A model server that writes `Half `, and ` done.` once it is allowed to.
struct Model {
    url: String,
    go: Arc<Semaphore>,
    asked: Arc<AtomicUsize>,
    left: Arc<Semaphore>,
}

impl Model {
    async fn start() -> Self {
        let listener = must(TcpListener::bind("127.0.0.1:0").await);
        let model = Self {
            url: format!("http://{}/v1", must(listener.local_addr())),
            go: Arc::new(Semaphore::new(0)),
            asked: Arc::default(),
            left: Arc::new(Semaphore::new(0)),
        };
        let (go, asked, left) = (model.go.clone(), model.asked.clone(), model.left.clone());
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (go, left) = (go.clone(), left.clone());
                asked.fetch_add(1, Ordering::SeqCst);
                tokio::spawn(async move {
                    if write_answer(stream, &go).await.is_none() {
                        left.add_permits(1);
                    }
                });
            }
        });
        model
    }

    fn settings(&self) -> Vec<(String, ProviderSettings)> {
        let settings = ProviderSettings {
            base_url: self.url.clone(),
            api_key: None,
        };
        vec![("openai".to_owned(), settings)]
    }

    /// Waits for `times` requests.
    async fn is_asked(&self, times: usize) {
        let asked = async || (self.asked.load(Ordering::SeqCst) >= times).then_some(());
        eventually(asked).await;
    }
}

/// Whether these bytes are a complete request.
fn is_whole(request: &[u8]) -> bool {
    let text = String::from_utf8_lossy(request).to_lowercase();
    let Some((head, body)) = text.split_once("\r\n\r\n") else {
        return false;
    };
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length: "));
    let length = length.and_then(|length| length.parse().ok()).unwrap_or(0);
    body.len() >= length
}

/// `None` if the client disconnected.
async fn write_answer(mut stream: TcpStream, go: &Semaphore) -> Option<()> {
    let mut request = Vec::new();
    while !is_whole(&request) {
        if stream.read_buf(&mut request).await.ok()? == 0 {
            return None;
        }
    }
    let piece = |text: &str| {
        let delta = json!({"choices": [{"index": 0, "delta": {"content": text}}]});
        format!("data: {delta}\n\n")
    };
    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n";
    stream.write_all(head.as_bytes()).await.ok()?;
    stream.write_all(piece("Half ").as_bytes()).await.ok()?;
    let mut rest = [0; 1_024];
    tokio::select! {
        permit = go.acquire() => must(permit).forget(),
        read = stream.read(&mut rest) => if !matches!(read, Ok(more) if more > 0) { return None },
    }
    let stop = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]});
    let rest = format!("{}data: {stop}\n\ndata: [DONE]\n\n", piece("done."));
    stream.write_all(rest.as_bytes()).await.ok()?;
    stream.shutdown().await.ok()
}

async fn with_model(database: TestDatabase) -> (Model, TestApp) {
    let model = Model::start().await;
    let setup = Setup {
        models: model.settings(),
        database: Some(database),
        ..Setup::default()
    };
    (model, TestApp::with(setup).await)
}

fn openai() -> Value {
    json!({"provider": "openai", "model": "gpt-4.1"})
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_talks_to_an_agent_and_the_account_reads_it() {
    let app = TestApp::start().await;
    let prompt = "say: We open at nine.\nsay: Yes, on Sundays too.";
    let agent = agent(&app, prompt, scripted(), &[]).await;
    let begun = try_begin(&app, &agent).await.assert(201);
    assert_eq!(begun["first_message"], "Hi Ana.");
    let session = Session {
        app: &app,
        id: text(&begun["id"]),
        token: text(&begun["token"]),
    };
    let first = session.say("When do you open?").await;
    let usage = |answers: i64| json!({"answers": answers, "credits": 0});
    let answer = |said: &str, answers| json!({"text": said, "interrupted": false, "status": "open", "usage": usage(answers)});
    assert_eq!(first, answer("We open at nine.", 1));
    let second = session.say("On Sundays?").await;
    assert_eq!(second, answer("Yes, on Sundays too.", 2));
    let loaded = session.request("GET", "").await.assert(200);
    assert_eq!(loaded["status"], "open");
    assert_eq!(loaded["answering"], json!(false));
    let said: Vec<_> = loaded["transcript"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|turn| (text(&turn["role"]), text(&turn["text"])))
        .collect();
    let expected = [
        ("agent", "Hi Ana."),
        ("user", "When do you open?"),
        ("agent", "We open at nine."),
        ("user", "On Sundays?"),
        ("agent", "Yes, on Sundays too."),
    ];
    let expected = expected.map(|(role, text)| (role.to_owned(), text.to_owned()));
    assert_eq!(said, expected);

    let listed = app.get("/v1/conversations?channel=widget_chat").await;
    let listed = listed.assert(200)["data"][0].clone();
    assert_eq!(listed["id"], json!(session.id));
    assert_eq!(listed["status"], "unknown");
    assert_eq!(listed["from"], Value::Null);
    assert_eq!(listed["to"], Value::Null);
    let calls = app.read("/v1/calls").await;
    assert_eq!(calls["data"], json!([]));
    let me = app.read("/v1/me").await;
    assert_eq!(me["live_calls"], 0);

    for _ in 0..2 {
        let ended = session.request("POST", "/end").await.assert(200);
        assert_eq!(ended, json!({"id": session.id, "status": "ended"}));
    }
    let over = session.over().await;
    assert_eq!(over["status"], "completed");
    assert_eq!(over["termination_reason"], "customer_hangup");
    assert_eq!(over["messages_count"], 5);
    assert_eq!(over["metadata"], json!({"name": "Ana"}));
    assert!(!text(&over["summary"]).is_empty());
    assert_eq!(over["transcript"].as_array().map(Vec::len), Some(5));
    let refused = session.send(json!({"text": "Hello?"})).await;
    refused.assert_error(409, "conflict");
    let loaded = session.request("GET", "").await.assert(200);
    assert_eq!(loaded["status"], "ended");
    let expected = Vec::<String>::new();
    assert_eq!(must(app.services.billing().faults().await), expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_is_streamed_with_the_tools_that_it_uses() {
    let app = TestApp::start().await;
    let bye = json!({"name": "bye", "description": "Ends the chat.", "kind": "end_call"});
    let bye = app.post("/v1/agents/tools", bye).await.assert(201);
    let transfer = json!({
        "name": "desk", "description": "To a person.", "kind": "transfer",
        "transfer": {"targets": [{"name": "desk", "to": "+15005550009"}]},
    });
    let transfer = app.post("/v1/agents/tools", transfer).await.assert(201);
    let tools = [text(&bye["id"]), text(&transfer["id"])];
    let prompt = "say: One two.\nsay: \ncall: desk {\"target\":\"desk\"}\nthen: Not from here.\nsay: Goodbye.\ncall: bye";
    let agent = agent(&app, prompt, scripted(), &tools).await;
    let session = Session::begin(&app, &agent).await;
    let stream = session
        .stream(json!({"text": "Count", "message_id": "m-1"}))
        .await;
    let told = events(stream).await;
    let (completed, before) = must(told.split_last().ok_or(()));
    let expected = ("message.started".to_owned(), json!({"message_id": "m-1"}));
    assert_eq!(before[0], expected);
    let deltas = &before[1..];
    assert!(
        deltas.iter().all(|(name, _)| name == "message.delta"),
        "{told:?}"
    );
    let put_together: String = deltas.iter().map(|(_, data)| text(&data["text"])).collect();
    assert_eq!(put_together, "One two.");
    assert!(deltas.len() > 1, "it comes in pieces");
    let expected = json!({
        "text": "One two.", "interrupted": false, "status": "open", "usage": {"answers": 1, "credits": 0},
    });
    assert_eq!(
        completed,
        &("message.completed".to_owned(), expected.clone())
    );
    // A retry gets the same reply, streamed or whole, and is not charged again.
    let again = session
        .stream(json!({"text": "Count", "message_id": "m-1"}))
        .await;
    let again = events(again).await;
    assert_eq!(
        again[1],
        ("message.delta".to_owned(), json!({"text": "One two."}))
    );
    assert_eq!(again[2].1, expected);
    let whole = session
        .send(json!({"text": "Count", "message_id": "m-1"}))
        .await;
    assert_eq!(whole.assert(200), expected);
    let other = session
        .send(json!({"text": "Other", "message_id": "m-1"}))
        .await;
    other.assert_error(409, "idempotency_conflict");

    // Tools that need a phone call are not offered.
    let desk = events(session.stream(json!({"text": "A person"})).await).await;
    let names: Vec<&str> = desk.iter().map(|(name, _)| name.as_str()).collect();
    let expected = ["message.started", "tool.started", "tool.finished"];
    assert_eq!(&names[..3], expected);
    assert_eq!(desk[1].1, json!({"name": "desk"}));
    let last = &desk[desk.len() - 1].1;
    assert_eq!(last["text"], "Not from here.");
    assert_eq!(last["status"], "open");

    let bye = events(session.stream(json!({"text": "Bye"})).await).await;
    let last = &bye[bye.len() - 1].1;
    assert_eq!(last["text"], "Goodbye.");
    assert_eq!(last["status"], "ended");
    let over = session.over().await;
    assert_eq!(over["termination_reason"], "agent_hangup");
    // Only the account sees tool requests and results.
    let roles = |turns: &Value| -> Vec<String> {
        let turns = turns.as_array().into_iter().flatten();
        turns.map(|turn| text(&turn["role"])).collect()
    };
    assert_eq!(
        roles(&over["transcript"])
            .iter()
            .filter(|role| *role == "tool")
            .count(),
        2
    );
    assert!(!roles(&session.transcript().await).contains(&"tool".to_owned()));
}

#[tokio::test(flavor = "multi_thread")]
async fn only_pages_of_listed_origins_are_let_in() {
    let app = TestApp::start().await;
    let ours = agent(&app, "say: Hi.", scripted(), &[]).await;
    let theirs = agent(&app, "say: Hi.", scripted(), &[]).await;
    let elsewhere = "https://other.example";
    app.widget(&theirs, json!({"allowed_origins": [elsewhere]}))
        .await;
    let allow = "access-control-allow-origin";
    let preflight = |origin: &'static str| {
        app.bare("OPTIONS", SESSIONS)
            .header("Origin", origin)
            .header("Access-Control-Request-Method", "POST")
            .header("Access-Control-Request-Headers", "content-type")
    };
    let allowed = preflight(PAGE).await;
    assert_eq!((allowed.status, allowed.body.len()), (204, 0));
    assert_eq!(allowed.header(allow), Some(PAGE));
    let expected = Some("GET, POST");
    assert_eq!(allowed.header("access-control-allow-methods"), expected);
    assert_eq!(allowed.header("vary"), Some("Origin"));
    for origin in [
        "https://evil.example",
        "null",
        "https://shop.example.evil.example",
        "http://shop.example",
    ] {
        let refused = preflight(origin).await;
        refused.assert_error(403, "forbidden");
        assert_eq!(refused.header(allow), None, "{origin}");
    }
    let body = json!({"agent_id": ours});
    for origin in ["https://evil.example", elsewhere] {
        let begin = app.bare("POST", SESSIONS).header("Origin", origin);
        let refused = begin.json(&body).await;
        refused.assert_error(403, "forbidden");
    }
    let nowhere = app.bare("POST", SESSIONS).json(&body).await;
    nowhere.assert_error(403, "forbidden");
    let readable = page(&app, "POST", SESSIONS).json("{").await;
    readable.assert_error(400, "invalid_json");
    assert_eq!(readable.header(allow), Some(PAGE), "errors can be read too");

    // A session belongs to its origin, whatever another widget of the account allows.
    let session = Session::begin(&app, &ours).await;
    let foreign = |method: &str, rest: &str| {
        let target = format!("{SESSIONS}/{}{rest}", session.id);
        app.bare(method, &target)
            .header("Origin", elsewhere)
            .key(&session.token)
    };
    foreign("GET", "").await.assert_error(403, "forbidden");
    let spoken = foreign("POST", "/messages").json(json!({"text": "Hi"}));
    spoken.await.assert_error(403, "forbidden");
    foreign("POST", "/end").await.assert_error(403, "forbidden");
    // A disabled widget stops at once.
    app.widget(&ours, json!({"enabled": false})).await;
    app.widget(&theirs, json!({"allowed_origins": [elsewhere, PAGE]}))
        .await;
    let refused = session.send(json!({"text": "Hi"})).await;
    refused.assert_error(403, "forbidden");
    try_begin(&app, &ours).await.assert_error(404, "not_found");
    for nobody in ["0190163d-8694-739b-aea5-966c26f8ad91", "x"] {
        try_begin(&app, nobody).await.assert_error(404, "not_found");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_opens_its_own_session_and_for_four_hours() {
    let app = TestApp::start().await;
    let agent = agent(&app, "say: Hi.", scripted(), &[]).await;
    let (one, two) = (
        Session::begin(&app, &agent).await,
        Session::begin(&app, &agent).await,
    );
    let forged = format!("chat_{}", "0".repeat(64));
    let short = &one.token[..one.token.len() - 1];
    for token in ["", "x", &forged, short, &two.token, &app.token] {
        let ask = |method: &str, rest: &str| {
            page(&app, method, &format!("{SESSIONS}/{}{rest}", one.id)).key(token)
        };
        ask("GET", "").await.assert_error(401, "unauthorized");
        let spoken = ask("POST", "/messages").json(json!({"text": "Hi"}));
        spoken.await.assert_error(401, "unauthorized");
        ask("POST", "/end").await.assert_error(401, "unauthorized");
    }
    let absent = page(&app, "GET", &format!("{SESSIONS}/x")).key(&one.token);
    absent.await.assert_error(401, "unauthorized");
    let bare = page(&app, "GET", &format!("{SESSIONS}/{}", one.id));
    bare.await.assert_error(401, "unauthorized");
    // A session token is not an API key.
    let key = app.bare("GET", "/v1/me").key(&one.token).await;
    key.assert_error(401, "unauthorized");
    app.clock.advance(Duration::from_secs(4 * 3_600 - 1));
    one.say("Hello").await;
    app.clock.advance(Duration::from_secs(1));
    let late = one.send(json!({"text": "Hi"})).await;
    late.assert_error(401, "unauthorized");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_has_four_kibibytes_at_most() {
    let app = TestApp::start().await;
    let agent = agent(&app, "say: Hi.", scripted(), &[]).await;
    let session = Session::begin(&app, &agent).await;
    for (body, said) in [
        (
            json!({"text": "x".repeat(4_097)}),
            "`text`: longer than 4096 bytes",
        ),
        (
            json!({"text": "ñ".repeat(2_049)}),
            "`text`: longer than 4096 bytes",
        ),
        (json!({"text": " \n"}), "`text`: must not be empty"),
        (json!({"text": ""}), "`text`: must not be empty"),
        (json!({}), "`text`: is required"),
        (
            json!({"text": "x", "message_id": "a b"}),
            "`message_id`: must be printable ASCII without spaces",
        ),
        (
            json!({"text": "x", "message_id": "m".repeat(65)}),
            "`message_id`: longer than 64 characters",
        ),
        (
            json!({"text": "x", "role": "agent"}),
            "`role`: unknown field",
        ),
    ] {
        let refused = session.send(body).await;
        assert_eq!(refused.assert_error(400, "invalid_body"), said);
    }
    session.say(&"x".repeat(4_096)).await;
    assert_eq!(session.transcript().await.as_array().map(Vec::len), Some(3));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_without_an_id_ends_where_its_client_went_away() {
    let (model, app) = with_model(TestDatabase::sqlite()).await;
    let agent = agent(&app, "Be brief.", openai(), &[]).await;
    let session = Session::begin(&app, &agent).await;
    let mut stream = session.stream(json!({"text": "Hello"})).await;
    until(&mut stream, "Half").await;
    drop(stream);
    let left = timeout(Duration::from_secs(20), model.left.acquire()).await;
    must(must(left)).forget();
    let kept = eventually(async || session.transcript().await.get(2).cloned()).await;
    assert_eq!(kept["text"], "Half");
    assert_eq!(kept["interrupted"], true);
    model.go.add_permits(1);
    assert_eq!(session.say("Go on").await["text"], "Half done.");
}

#[tokio::test(flavor = "multi_thread")]
async fn ending_a_session_ends_the_answer_that_is_being_written() {
    let (model, app) = with_model(TestDatabase::sqlite()).await;
    let agent = agent(&app, "Be brief.", openai(), &[]).await;
    let session = Session::begin(&app, &agent).await;
    let stream = session
        .stream(json!({"text": "Hello", "message_id": "m1"}))
        .await;
    model.is_asked(1).await;
    session.request("POST", "/end").await.assert(200);
    model.go.add_permits(10);
    let told = events(stream).await;
    let (name, data) = &told[told.len() - 1];
    assert_eq!(name.as_str(), "error");
    assert_eq!(data["error"], "conflict");
    let over = session.over().await;
    assert_eq!(over["status"], "completed");
    assert_eq!(over["credits"], 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_model_the_words_are_kept_and_nothing_is_charged() {
    let app = TestApp::with(Setup {
        models: vec![(
            "openai".to_owned(),
            ProviderSettings {
                base_url: "http://127.0.0.1:1/v1".to_owned(),
                api_key: None,
            },
        )],
        ..Setup::default()
    })
    .await;
    let lonely = agent(&app, "Be brief.", openai(), &[]).await;
    let session = Session::begin(&app, &lonely).await;
    let message = json!({"text": "Hello", "message_id": "m1"});
    for _ in 0..2 {
        let failed = session.send(message.clone()).await;
        failed.assert_error(502, "upstream_error");
    }
    let told = events(session.stream(message.clone()).await).await;
    assert_eq!(told[1].0, "error");
    assert_eq!(told[1].1["error"], "upstream_error");
    assert_eq!(session.transcript().await.as_array().map(Vec::len), Some(2));
    session.request("POST", "/end").await.assert(200);
    assert_eq!(session.over().await["credits"], 0);

    // A fallback model replies as on a call.
    let mut llm = openai();
    llm["fallback"] = json!([{"provider": "scripted", "model": "scripted"}]);
    let helped = agent(&app, "say: From the other one.", llm, &[]).await;
    let session = Session::begin(&app, &helped).await;
    assert_eq!(session.say("Hello").await["text"], "From the other one.");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_ends_half_an_hour_after_its_last_message() {
    let app = TestApp::start().await;
    let agent = agent(&app, "say: Hi.", scripted(), &[]).await;
    let silent = Session::begin(&app, &agent).await;
    let lively = Session::begin(&app, &agent).await;
    for session in [&silent, &lively] {
        app.clock.advance(Duration::from_secs(1));
        session.say("Hello").await;
    }
    app.clock.advance(Duration::from_secs(30 * 60));
    app.dial();
    let over = silent.over().await;
    assert_eq!(over["termination_reason"], "silence_timeout");
    assert_eq!(over["duration_seconds"], 1);
    assert!(!text(&over["summary"]).is_empty());
    // The other session, one second younger, was checked as well.
    lively.say("Still there?").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_does_not_serve_answers_no_page() {
    let app = TestApp::start().await;
    let agent = agent(&app, "say: Hi.", scripted(), &[]).await;
    let session = Session::begin(&app, &agent).await;
    let pause = app.request("PATCH", &format!("/v1/agents/{agent}"));
    pause.json(json!({"status": "paused"})).await.assert(200);
    let answer = try_begin(&app, &agent).await;
    answer.assert_error(403, "agent_disabled");
    let refused = session.send(json!({"text": "Hello"})).await;
    refused.assert_error(403, "agent_disabled");

    // The plan has lost the API.
    let app = TestApp::start().await;
    let agent = self::agent(&app, "say: Hi.", scripted(), &[]).await;
    let changes = app.services.plan_changes();
    let change = must(changes.look(app.account, Plan::Free).await);
    must(changes.make(change).await);
    let answer = try_begin(&app, &agent).await;
    answer.assert_error(403, "plan_limit");
}

contract! {
    async fn sessions_of_one_instant_are_as_many_as_the_widget_says(database: TestDatabase) {
        let app = TestApp::on(database).await;
        let agent = agent(&app, "say: Hi.", scripted(), &[]).await;
        app.widget(&agent, json!({"max_sessions_per_minute": 5}))
            .await;
        let answers = join_all((0..20).map(|_| try_begin(&app, &agent))).await;
        let (begun, refused): (Vec<_>, Vec<_>) =
            answers.iter().partition(|answer| answer.status == 201);
        assert_eq!(begun.len(), 5);
        for answer in refused {
            answer.assert_error(429, "rate_limit_exceeded");
            assert!((1..=60).contains(&answer.number("retry-after")));
            assert_eq!(answer.header("access-control-allow-origin"), Some(PAGE));
        }
        app.clock.advance(Duration::from_secs(60));
        try_begin(&app, &agent).await.assert(201);
    }

    async fn what_a_widget_may_cost_is_bounded_by_its_cap_and_by_the_wallet(database: TestDatabase) {
        let (model, app) = with_model(database).await;
        model.go.add_permits(1_000);
        let agent = agent(&app, "Be brief.", openai(), &[]).await;
        app.widget(&agent, json!({"daily_credit_cap": 1})).await;
        let session = Session::begin(&app, &agent).await;
        for answers in 1..=3 {
            let answer = session.say("Hello").await;
            assert_eq!(answer["usage"], json!({"answers": answers, "credits": 1}));
        }
        let refused = session.send(json!({"text": "More"})).await;
        let said = refused.assert_error(429, "rate_limit_exceeded");
        assert!(said.contains("daily credits"), "{said}");
        assert!(refused.number("retry-after") > 0);
        let answer = try_begin(&app, &agent).await;
        answer.assert_error(429, "rate_limit_exceeded");
        // A chat that ends without an answer leaves its credit to others.
        app.widget(&agent, json!({"daily_credit_cap": 2})).await;
        for _ in 0..2 {
            let idle = Session::begin(&app, &agent).await;
            let answer = try_begin(&app, &agent).await;
            answer.assert_error(429, "rate_limit_exceeded");
            idle.request("POST", "/end").await.assert(200);
            assert_eq!(idle.over().await["credits"], 0);
        }
        app.widget(&agent, json!({})).await;
        let held = app.read("/v1/billing/credits").await;
        assert_eq!(held["reserved_credits"], 1);
        session.request("POST", "/end").await.assert(200);
        assert_eq!(session.over().await["credits"], 1);
        let left = app.read("/v1/billing/credits").await;
        assert_eq!(left["balance_credits"], 99_999);
        assert_eq!(left["reserved_credits"], 0);
        let expected = Vec::<String>::new();
        assert_eq!(must(app.services.billing().faults().await), expected);

        // What was spent counts until midnight.
        app.widget(&agent, json!({"daily_credit_cap": 1})).await;
        let answer = try_begin(&app, &agent).await;
        answer.assert_error(429, "rate_limit_exceeded");
        app.clock.advance(Duration::from_secs(86_400));
        try_begin(&app, &agent).await.assert(201);

        let model = Model::start().await;
        let poor = TestApp::with(Setup {
            models: model.settings(),
            credits: 0,
            ..Setup::default()
        })
        .await;
        let agent = self::agent(&poor, "Be brief.", openai(), &[]).await;
        let answer = try_begin(&poor, &agent).await;
        answer.assert_error(402, "payment_required");
    }

    async fn one_message_is_answered_at_a_time_and_a_retry_waits_for_the_same_answer(database: TestDatabase) {
        let (model, app) = with_model(database).await;
        let agent = agent(&app, "Be brief.", openai(), &[]).await;
        let session = Session::begin(&app, &agent).await;
        let first = json!({"text": "Hello", "message_id": "m1"});
        // The client disconnects before the reply is complete.
        let mut stream = session.stream(first.clone()).await;
        until(&mut stream, "Half").await;
        drop(stream);
        let other = session.send(json!({"text": "Bye", "message_id": "m1"}));
        other.await.assert_error(409, "idempotency_conflict");
        for body in [first.clone(), json!({"text": "Another"})] {
            let busy = session.send(body).await;
            busy.assert_error(409, "conflict");
            assert_eq!(busy.number("retry-after"), 1);
        }
        let loaded = session.request("GET", "").await.assert(200);
        assert_eq!(loaded["answering"], json!(true));
        model.go.add_permits(1);
        let answer = eventually(async || {
            let answer = session.send(first.clone()).await;
            if answer.status == 200 {
                return Some(answer.json());
            }
            answer.assert_error(409, "conflict");
            None
        })
        .await;
        assert_eq!(answer["text"], "Half done.");
        assert_eq!(answer["interrupted"], json!(false));
        assert_eq!(
            model.asked.load(Ordering::SeqCst),
            1,
            "the model was asked once"
        );
        assert_eq!(session.transcript().await.as_array().map(Vec::len), Some(3));
    }
}
