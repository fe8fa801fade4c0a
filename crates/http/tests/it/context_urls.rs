//! Context URLs: what a server of the account says of a call before it begins.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use offhook_browser::{PageEnd, PageLine};
use offhook_domain::{ContextResult, NumberProvider, Plan};
use offhook_engine::ports::DialError;
use offhook_engine::ports::audio::AudioLeg;
use offhook_services::{InboundCall, NotAnswered, WaitingLine};
use offhook_signing::{SIGNATURE_HEADER, verify};
use offhook_testkit::upstream::{Answer, Fault, ReceivedRequest, Upstream};
use offhook_testkit::{TestDatabase, contract};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::it::agent_settings::{app_with, model, prompts, publish, put};
use crate::it::app::{CUSTOMER, Setup, TestApp, text};
use crate::it::client::{eventually, must};

const NUMBER: &str = "+15005550100";

/// A server that gives these answers, one after the other.
struct Desk {
    upstream: Upstream,
    answers: Arc<Mutex<Vec<Answer>>>,
}

impl Desk {
    async fn open() -> Self {
        let answers: Arc<Mutex<Vec<Answer>>> = Arc::default();
        let left = answers.clone();
        let upstream = Upstream::start(move |_: &ReceivedRequest| match left.lock().pop() {
            Some(answer) => answer,
            None => Answer::empty(204),
        });
        Self {
            upstream: upstream.await,
            answers,
        }
    }

    fn says(&self, answer: &Value) {
        self.answers.lock().push(Answer::json(200, answer));
    }

    fn url(&self) -> String {
        format!("{}/context", self.upstream.base_url())
    }
}

/// What was written down of a call's request.
async fn noted(app: &TestApp, handle: &str) -> (ContextResult, String) {
    let id = must(handle.trim_start_matches("call_").parse());
    let note = eventually(async || must(app.services.store().context_note(id).await)).await;
    (note.result, note.detail)
}

async fn agent(app: &TestApp) -> String {
    let config = json!({
        "system_prompt": "You are the desk of {{tier}} {{plan}}.",
        "first_message": "Hello {{tier}}.",
        "llm": {"provider": "local", "model": "small"},
    });
    app.agent_with("en", config).await
}

/// The first words of a call.
async fn opening(app: &TestApp, handle: &str) -> String {
    let call = app.read(&format!("/v1/calls/{handle}")).await;
    let target = format!("/v1/conversations/{}", text(&call["conversation_id"]));
    text(&app.read(&target).await["transcript"][0]["text"])
}

contract! {
    async fn an_outgoing_call_begins_with_what_the_context_url_says(database: TestDatabase) {
        let (model, desk) = (model().await, Desk::open().await);
        let app = app_with(&model, database).await;
        app.dial();
        let agent = agent(&app).await;
        let context = json!({"context_url": {"url": desk.url(), "outgoing": true}});
        let set = put(&app, &agent, context.clone()).await.assert(200);
        let secret = text(&set["signing_secret"]);
        // It is shown once.
        let again = put(&app, &agent, context).await.assert(200);
        assert_eq!(again["signing_secret"], Value::Null);
        publish(&app, &agent).await;

        desk.says(&json!({"variables": {"tier": "gold", "n": 1}, "language": "es-MX"}));
        let body = json!({"agent_id": agent, "to": CUSTOMER, "metadata": {"tier": "none", "plan": "B"}});
        let placed = app.post("/v1/calls", body).await.assert(201);
        let handle = text(&placed["id"]);
        let ended = app.ended(&handle).await;
        assert_eq!(ended["metadata"], json!({"tier": "none", "plan": "B"}), "as it was sent");
        assert_eq!(opening(&app, &handle).await, "Hello gold.");
        let prompt = prompts(&model).pop().unwrap_or_default();
        assert!(prompt.contains("of gold B.") && prompt.contains("language `es-MX`"), "{prompt}");
        assert_eq!(noted(&app, &handle).await, (ContextResult::Answered, String::new()));

        let asked = &desk.upstream.asked()[0];
        let told = json!({
            "direction": "outbound", "channel": "phone", "customer_number": CUSTOMER,
            "agent_number": ended["from"], "agent_id": agent, "call_id": handle,
            "metadata": {"tier": "none", "plan": "B"},
        });
        assert_eq!(asked.json(), told);
        let signature = asked.header(&SIGNATURE_HEADER.to_lowercase()).unwrap_or_default();
        let now = app.services.clock().now().unix_seconds();
        must(verify(signature, &asked.body, &must(secret.parse()), now, 600));
    }

    async fn a_failure_of_the_context_url_loses_no_call(database: TestDatabase) {
        let (model, desk) = (model().await, Desk::open().await);
        let app = app_with(&model, database).await;
        app.dial();
        let agent = agent(&app).await;
        let context = |message: Value| json!({
            "context_url": {"url": desk.url(), "outgoing": true, "failure_message": message}
        });
        put(&app, &agent, context(Value::Null)).await.assert(200);
        publish(&app, &agent).await;
        let called = async || {
            let handle = text(&app.call(&agent, CUSTOMER).await["id"]);
            let ended = app.ended(&handle).await;
            assert_eq!(ended["status"], "completed", "{ended}");
            (opening(&app, &handle).await, noted(&app, &handle).await)
        };
        let stranger = app.stranger(Plan::Scale).await;
        let theirs = json!({"name": "Theirs", "language": "en"});
        let theirs = app.bare("POST", "/v1/agents").json(theirs).key(&stranger).await.assert(201);
        let large = json!({"variables": {"a": "x".repeat(17_000)}});
        let redirect = Answer::empty(302).with("location", "http://127.0.0.1:1/");
        let failed = |detail: &str| (ContextResult::Failed, detail.to_owned());
        for (answer, note) in [
            (Answer::empty(500), failed("status 500")),
            (redirect, failed("status 302")),
            (Answer::json(200, &large), failed("more than 16384 bytes")),
            (Answer::text(200, "text/plain", "no"), failed("not usable: not JSON")),
            (Answer::json(200, &json!({"language": 7})), failed("not usable: `language`: must be a string")),
            (Answer::json(200, &json!({"agent_id": theirs["id"]})),
                (ContextResult::Answered, "agent_id: an outgoing call keeps its agent".to_owned())),
        ] {
            desk.answers.lock().push(answer);
            let (said, (result, detail)) = called().await;
            assert_eq!(said, "Hello .");
            assert_eq!(result, note.0, "{detail}");
            assert!(detail.starts_with(&note.1), "{detail}");
        }
        desk.upstream.fail("*", "/", Fault::Slow(Duration::from_secs(30)), 1);
        assert_eq!(called().await, ("Hello .".to_owned(), failed("timeout")));

        // Or the agent says so, and ends the call.
        put(&app, &agent, context(json!("Sorry, later."))).await.assert(200);
        publish(&app, &agent).await;
        desk.answers.lock().push(Answer::empty(500));
        let handle = text(&app.call(&agent, CUSTOMER).await["id"]);
        let ended = app.ended(&handle).await;
        assert_eq!(ended["termination_reason"], "agent_hangup", "{ended}");
        assert_eq!(opening(&app, &handle).await, "Sorry, later.");
    }

    async fn a_refused_call_is_not_dialed_and_says_why(database: TestDatabase) {
        let (model, desk) = (model().await, Desk::open().await);
        let app = app_with(&model, database).await;
        app.dial();
        let agent = agent(&app).await;
        put(&app, &agent, json!({"context_url": {"url": desk.url(), "outgoing": true}})).await.assert(200);
        publish(&app, &agent).await;
        desk.says(&json!({"refuse": {"reason": "Paid already."}}));
        let handle = text(&app.call(&agent, CUSTOMER).await["id"]);
        let ended = app.ended(&handle).await;
        assert_eq!((&ended["status"], &ended["failure_reason"]), (&json!("failed"), &json!("context_refused")));
        assert_eq!(ended["duration_seconds"], 0);
        assert_eq!(noted(&app, &handle).await, (ContextResult::Refused, "Paid already.".to_owned()));
    }

    async fn a_call_that_comes_in_rings_while_it_is_asked_which_agent_answers(database: TestDatabase) {
        let desk = Desk::open().await;
        let app = TestApp::with(Setup { spoken: true, database: Some(database), ..Setup::default() }).await;
        app.dial();
        let spoken = |greeting: &str| json!({
            "system_prompt": "say: At nine.", "first_message": greeting,
            "llm": {"provider": "scripted", "model": "scripted"},
            "stt": {"provider": "scripted"},
            "voice": {"provider": "scripted", "voice_id": "scripted"},
        });
        let front = app.agent_with("en", spoken("Front.")).await;
        let back = app.agent_with("en", spoken("Back for {{tier}}.")).await;
        put(&app, &front, json!({"context_url": {"url": desk.url()}})).await.assert(200);
        publish(&app, &front).await;
        let numbers = app.services.numbers();
        let of = (NumberProvider::Sip, Some(must(front.parse())));
        must(numbers.add(app.account, must(NUMBER.parse()), "Desk", of).await);

        desk.says(&json!({"agent_id": back, "variables": {"tier": "gold"}}));
        let (handle, line) = come_in(&app).await;
        eventually(async || (!opening_of(&app, &handle).await.is_empty()).then_some(())).await;
        assert!(*line.rang.lock());
        assert_eq!(opening_of(&app, &handle).await, "Back for gold.");
        if let Some(listens) = line.listens.lock().take() {
            listens.abort();
        }
        let ended = app.ended(&handle).await;
        assert_eq!(ended["agent"]["id"], json!(back));
        let told = desk.upstream.asked()[0].json();
        let known = ["direction", "customer_number", "agent_number", "agent_id"].map(|name| told[name].clone());
        assert_eq!(json!(known), json!(["inbound", CUSTOMER, NUMBER, front]));

        desk.says(&json!({"refuse": {"reason": "Blocked."}}));
        let (handle, line) = come_in(&app).await;
        let ended = app.ended(&handle).await;
        assert_eq!(ended["failure_reason"], "context_refused");
        assert!(!*line.answered.lock());
        assert_eq!(noted(&app, &handle).await, (ContextResult::Refused, "Blocked.".to_owned()));
    }
}

async fn opening_of(app: &TestApp, handle: &str) -> String {
    let id = handle.trim_start_matches("call_");
    let read = app.read(&format!("/v1/conversations/{id}")).await;
    let first = &read["transcript"][0]["text"];
    first.as_str().unwrap_or_default().to_owned()
}

/// What happens on a caller's line.
struct Caller {
    rang: Mutex<bool>,
    answered: Mutex<bool>,
    /// Listens until the caller hangs up.
    listens: Mutex<Option<JoinHandle<()>>>,
}

struct Waiting(Arc<Caller>, PageLine);

#[async_trait]
impl WaitingLine for Waiting {
    fn ring(&self) {
        *self.0.rang.lock() = true;
    }

    async fn answer(self: Box<Self>) -> Result<AudioLeg, DialError> {
        *self.0.answered.lock() = true;
        Ok(self.1.answer())
    }

    fn refuse(self: Box<Self>, _why: NotAnswered) {}
}

async fn listen(page: PageEnd) {
    while page.next().await.is_some() {}
}

/// A customer calls the number.
async fn come_in(app: &TestApp) -> (String, Arc<Caller>) {
    let (page, line) = offhook_browser::page().unwrap_or_else(|| panic!("no sound"));
    let caller = Arc::new(Caller {
        rang: Mutex::default(),
        answered: Mutex::default(),
        listens: Mutex::new(Some(tokio::spawn(listen(page)))),
    });
    let inbound = app.services.inbound();
    let call = InboundCall {
        id: inbound.mint(),
        from: Some(must(CUSTOMER.parse())),
        to: must(NUMBER.parse()),
        dialog: None,
    };
    let line = Box::new(Waiting(caller.clone(), line));
    let id = inbound.answer(call, line).await;
    let id = id.unwrap_or_else(|why| panic!("not answered: {why:?}"));
    (format!("call_{id}"), caller)
}
