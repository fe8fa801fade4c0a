//! Calls over Twilio: the real binary, a fake of Twilio that posts signed callbacks and opens the stream, and a
//! customer who speaks into it. The agent uses a scripted recognizer and a humming synthesizer.

use std::collections::VecDeque;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use offhook_testkit::fakes::twilio::{
    ACCOUNT, FakeTwilio, OWN_ACCOUNT, OWN_TOKEN, PlacedCall, Scheme, Stream, TOKEN, beginning,
    echo, incoming_form, sound, status_form, stop,
};
use offhook_testkit::upstream::{Fault, UPSTREAM_WORDS};
use offhook_tests::{Account, Database, Options, Receiver, Server, both, eventually, must, within};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::{MissedTickBehavior, interval};

/// How long any step may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// The expiry of a dead process's leases.
const SETTLED_WITHIN: Duration = Duration::from_secs(150);

const CUSTOMER: &str = "+5215512345678";

const NUMBER: &str = "+15005550199";

/// "Hello, do you have a table for two?"
const SPEECH: &[u8] = include_bytes!("../../../crates/media/tests/it/speech.ulaw");

/// A service with calls over Twilio, and an account that has imported its number.
struct Desk {
    twilio: FakeTwilio,
    server: Server,
    account: Account,
    events: Receiver,
}

fn options(database: Database, twilio: &FakeTwilio) -> Options {
    Options::on(database)
        .in_haste()
        .set("calls.carrier", "twilio")
        .set("calls.allowed_prefixes", "+52")
        .set("http.public_url", "https://voice.example.com")
        .set("twilio.node_url", "https://voice.example.com")
        .set("twilio.base_url", twilio.upstream().base_url())
        .set("twilio.account_sid", ACCOUNT)
        .set("twilio.auth_token", TOKEN)
}

impl Desk {
    async fn open(database: Database) -> Self {
        let twilio = FakeTwilio::start().await;
        let server = Server::start(options(database, &twilio)).await;
        let account = server.account("scale").await;
        let events = Receiver::start().await;
        account.webhook(&events.url("/")).await;
        twilio.own_numbers(&[(NUMBER, true)]);
        let credential = format!("{OWN_ACCOUNT}:{OWN_TOKEN}");
        let set = server.credential(&account.id, "twilio", &credential);
        set.await;
        let imported = account.post("/v1/phone-numbers/import", "{}").await;
        let expected = json!({"imported": 1, "already_present": 0});
        assert_eq!(imported.assert(200), expected);
        Self {
            twilio,
            server,
            account,
            events,
        }
    }

    /// Places a call and answers it.
    async fn answered(&self, config: Value) -> (String, PlacedCall, Caller) {
        let agent = self.account.agent_with(config).await;
        let handle = self.account.call(&agent, CUSTOMER).await;
        let call = self.twilio.placed(0).await;
        self.tell(&call, "ringing", 1).await;
        self.tell(&call, "in-progress", 2).await;
        let caller = Caller::answers(self, &call).await;
        (handle, call, caller)
    }

    async fn tell(&self, call: &PlacedCall, status: &str, number: u64) {
        let form = self.twilio.tells(call, status, number);
        assert_eq!(form.post(self.server.address()).await, 204, "{status}");
    }

    async fn ended(&self, handle: &str) -> Value {
        self.account.ended_within(handle, PATIENCE).await
    }

    async fn turns(&self, handle: &str) -> Vec<String> {
        let id = handle.trim_start_matches("call_");
        let conversation = self.account.read(&format!("/v1/conversations/{id}")).await;
        let turns = conversation["transcript"].as_array().into_iter().flatten();
        let word = |turn: &Value, name: &str| turn[name].as_str().unwrap_or_default().to_owned();
        turns
            .map(|turn| format!("{}: {}", word(turn, "role"), word(turn, "text")))
            .collect()
    }
}

/// An agent that hums a note for each word, and recognizes the lines of its script.
fn config(lines: &[&str]) -> Value {
    json!({
        "system_prompt": "say: At nine.",
        "first_message": "Hello there.",
        "llm": {"provider": "scripted", "model": "scripted"},
        "stt": {"provider": "scripted", "settings": {"lines": lines}},
        "voice": {"provider": "scripted", "voice_id": "scripted"},
        "conversation": {"turns": {"silence_timeout_s": 60, "voicemail": "ignore"}},
    })
}

/// What Twilio has received and not played yet: one entry per frame, or a mark's name.
#[derive(Default)]
struct Player(VecDeque<Option<String>>);

impl Player {
    /// Handles a message; returns the marks that a clear sends back at once.
    fn take(&mut self, message: &Value) -> Vec<String> {
        match message["event"].as_str() {
            Some("media") => self.0.push_back(None),
            Some("mark") => self
                .0
                .push_back(message["mark"]["name"].as_str().map(str::to_owned)),
            _ => return self.0.drain(..).flatten().collect(),
        }
        Vec::new()
    }

    /// Plays a frame; returns the marks that it reached.
    fn play(&mut self) -> Vec<String> {
        if self.0.front().is_some_and(Option::is_none) {
            self.0.pop_front();
        }
        let mut reached = Vec::new();
        while let Some(Some(_)) = self.0.front() {
            reached.extend(self.0.pop_front().flatten());
        }
        reached
    }
}

/// The customer, at the other end of Twilio: a microphone that never falls silent, and returned marks.
struct Caller {
    texts: mpsc::UnboundedSender<String>,
    says: mpsc::UnboundedSender<Vec<u8>>,
    came: mpsc::UnboundedReceiver<Value>,
    line: JoinHandle<()>,
}

impl Caller {
    async fn answers(desk: &Desk, call: &PlacedCall) -> Self {
        let told = call.asked("StatusCallback").unwrap_or_default();
        let beside = told.replace("https://", "wss://").replace("/status", "");
        assert_eq!(call.stream_url(), format!("{beside}/media"));
        Self::joins(desk, call).await
    }

    async fn joins(desk: &Desk, call: &PlacedCall) -> Self {
        let mut stream = Stream::open(desk.server.address(), &call.stream_path()).await;
        for text in beginning(call, &call.stream_token()) {
            assert!(stream.send(text).await);
        }
        let (texts, mut written) = mpsc::unbounded_channel::<String>();
        let (says, mut said) = mpsc::unbounded_channel::<Vec<u8>>();
        let (came, heard) = mpsc::unbounded_channel();
        let line = tokio::spawn(async move {
            let mut tick = interval(Duration::from_millis(20));
            tick.set_missed_tick_behavior(MissedTickBehavior::Burst);
            let (mut saying, mut number, mut player) = (Vec::new(), 0, Player::default());
            loop {
                let texts = tokio::select! {
                    _ = tick.tick() => {
                        while let Ok(more) = said.try_recv() {
                            saying.extend(more);
                        }
                        let mut codes: Vec<u8> = saying.drain(..160.min(saying.len())).collect();
                        codes.resize(160, 0xff);
                        number += 1;
                        let mut texts = vec![sound(&codes, number)];
                        texts.extend(player.play().iter().map(|name| {
                            let _ = came.send(json!({"event": "played", "name": name}));
                            echo(name)
                        }));
                        texts
                    }
                    Some(text) = written.recv() => vec![text],
                    message = stream.next() => match message {
                        None => return,
                        Some(message) => {
                            let cleared = player.take(&message);
                            let _ = came.send(message);
                            cleared.iter().map(|name| echo(name)).collect()
                        }
                    },
                };
                for text in texts {
                    if !stream.send(text).await {
                        return;
                    }
                }
            }
        });
        Self {
            texts,
            says,
            came: heard,
            line,
        }
    }

    fn send(&self, text: String) {
        let _ = self.texts.send(text);
    }

    fn speaks(&self) {
        let _ = self.says.send(SPEECH.to_vec());
    }

    /// The next message of this kind. Skips others.
    async fn gets(&mut self, kind: &str) -> Value {
        loop {
            let message = within(kind, PATIENCE, self.came.recv()).await;
            let message = must(kind, message.ok_or("the stream is closed"));
            if message["event"] == kind {
                return message;
            }
        }
    }

    /// Waits until a sentence has been played to its end.
    async fn hears_it_out(&mut self) {
        loop {
            let played = self.gets("played").await;
            if played["name"]
                .as_str()
                .is_some_and(|name| name.starts_with('s'))
            {
                return;
            }
        }
    }

    /// Waits for this many frames of loud audio.
    async fn hears(&mut self, frames: usize) {
        let mut heard = 0;
        while heard < frames {
            let message = self.gets("media").await;
            let payload = message["media"]["payload"].as_str().unwrap_or_default();
            let codes = must("base64", STANDARD.decode(payload));
            assert_eq!(codes.len(), 160);
            // µ-law of a magnitude above 500.
            heard += usize::from(codes.iter().any(|code| code & 0x7f < 0x50));
        }
    }

    /// The end of the stream.
    async fn let_go(mut self) {
        let line = std::mem::replace(&mut self.line, tokio::spawn(async {}));
        let _ = within("the end of the stream", PATIENCE, line).await;
    }
}

impl Drop for Caller {
    fn drop(&mut self) {
        self.line.abort();
    }
}

both! {
    async fn a_customer_is_called_heard_and_answered(database: Database) {
        let desk = Desk::open(database).await;
        let numbers = desk.account.read("/v1/phone-numbers").await;
        assert_eq!(numbers["data"][0]["phone_number"], json!(NUMBER));
        assert_eq!(numbers["data"][0]["provider"], "twilio");
        let (handle, call, mut caller) = desk.answered(config(&["When do you open?"])).await;
        assert_eq!((call.asked("From"), call.asked("To")), (Some(NUMBER), Some(CUSTOMER)));
        let told = format!("https://voice.example.com/callbacks/twilio/{handle}/status");
        assert_eq!(call.asked("StatusCallback"), Some(told.as_str()));
        assert_eq!(call.asked("MachineDetection"), None);
        caller.hears(15).await;
        caller.hears_it_out().await;
        caller.speaks();
        caller.hears(15).await;
        caller.hears_it_out().await;
        caller.send(stop(&call));
        desk.tell(&call, "completed", 3).await;
        let ended = desk.ended(&handle).await;
        assert_eq!(
            (&ended["status"], &ended["termination_reason"]),
            (&json!("completed"), &json!("customer_hangup")),
            "{ended}"
        );
        assert_eq!(
            desk.turns(&handle).await,
            ["agent: Hello there.", "user: When do you open?", "agent: At nine."]
        );
        caller.let_go().await;
        let kinds: Vec<String> = desk.events.count(2).await.iter().map(|event| event.kind()).collect();
        assert_eq!(kinds, ["call.initiated", "call.completed"]);
        assert_eq!(desk.twilio.calls().len(), 1);
        assert_eq!(desk.twilio.call(&call.sid).changes, []);
    }

    async fn a_caller_is_answered_by_the_agent_of_the_number(database: Database) {
        let desk = Desk::open(database).await;
        let (to, asked_at) = (desk.server.address(), "https://voice.example.com/callbacks/twilio/incoming");
        assert_eq!(desk.twilio.voice_url(NUMBER).as_deref(), Some(asked_at));
        let incoming = |n: u8| {
            let sid = format!("CA{n:032x}");
            incoming_form(asked_at, &sid, CUSTOMER, NUMBER)
        };
        // No agent serves it yet.
        let (status, said) = incoming(70).exchange(to).await;
        assert_eq!(status, 200, "{said}");
        assert!(said.contains("<Reject reason=\"rejected\"/>"), "{said}");
        let agent = desk.account.agent_with(config(&["When do you open?"])).await;
        let numbers = desk.account.read("/v1/phone-numbers").await;
        let path = format!("/v1/phone-numbers/{}", numbers["data"][0]["id"].as_str().unwrap_or_default());
        let assign = desk.account.request("PATCH", &path).json(json!({"agent_id": agent}));
        assign.send().await.assert(200);
        let mut forged = incoming(71);
        forged.body = forged.body.replace("525512345678", "525512345679").replace("5215512345678", "5215512345679");
        assert_eq!(forged.post(to).await, 403);
        let form = incoming(72);
        let (status, said) = form.exchange(to).await;
        assert_eq!(status, 200, "{said}");
        let call = PlacedCall::answered(OWN_ACCOUNT, &format!("CA{:032x}", 72), &said);
        let mut caller = Caller::joins(&desk, &call).await;
        caller.hears(15).await;
        caller.hears_it_out().await;
        caller.speaks();
        caller.hears(15).await;
        caller.hears_it_out().await;
        caller.send(stop(&call));
        let id = call.stream_path().split('/').find_map(|part| part.strip_prefix("call_")).map(str::to_owned);
        let handle = format!("call_{}", must("a handle", id.ok_or("none")));
        let ended = desk.ended(&handle).await;
        assert_eq!(
            (&ended["status"], &ended["termination_reason"]),
            (&json!("completed"), &json!("customer_hangup")),
            "{ended}"
        );
        assert_eq!((&ended["from"], &ended["to"]), (&json!(CUSTOMER), &json!(NUMBER)), "{ended}");
        assert_eq!(
            desk.turns(&handle).await,
            ["agent: Hello there.", "user: When do you open?", "agent: At nine."]
        );
        caller.let_go().await;
        assert_eq!(desk.twilio.calls(), [], "nobody was called");
        // Without the credential, the account's number no longer takes or places calls.
        desk.server.run(&["account", "credential", "remove", "--account", &desk.account.id, "--provider", "twilio"]).await;
        assert_eq!(incoming(73).post(to).await, 403);
        let handle = desk.account.call(&agent, CUSTOMER).await;
        let ended = desk.ended(&handle).await;
        assert_eq!(ended["failure_reason"], "rejected", "{ended}");
    }

    async fn the_doctor_asks_whether_the_account_may_make_calls(database: Database) {
        let desk = Desk::open(database).await;
        let look = async || {
            let said = desk.server.run(&["doctor", "--json"]).await.stdout;
            let findings: Vec<Value> = must("its findings", serde_json::from_slice(&said));
            let of = findings.into_iter().find(|one| one["check"] == "carrier");
            must("the carrier", of.ok_or("not looked at"))
        };
        assert_eq!(look().await["status"], "ok");
        for fault in [Fault::Status(401), Fault::Status(500), Fault::Malformed] {
            desk.twilio.upstream().fail("GET", "/2010", fault, 1);
            let found = look().await;
            assert_eq!(found["status"], "failed", "{fault:?}");
            assert!(!found.to_string().contains(UPSTREAM_WORDS), "{found}");
        }
        assert_eq!(desk.twilio.calls(), []);
    }

    async fn a_credential_that_twilio_does_not_take_imports_nothing(database: Database) {
        let desk = Desk::open(database).await;
        let import = desk.account.post("/v1/phone-numbers/import", "{}").await;
        assert_eq!(import.assert(200), json!({"imported": 0, "already_present": 1}));
        desk.twilio.upstream().fail("GET", "/2010", Fault::Status(401), 1);
        let import = desk.account.post("/v1/phone-numbers/import", "{}").await;
        let message = import.assert_error(409, "conflict");
        assert!(message.starts_with("Twilio does not accept the account's credential: "), "{message}");
        for fault in [Fault::Status(500), Fault::RetryAfter(429, 30), Fault::CutBody, Fault::Unknown] {
            desk.twilio.upstream().fail("GET", "/2010", fault, 1);
            let import = desk.account.post("/v1/phone-numbers/import", "{}").await;
            let message = import.assert_error(502, "upstream_error");
            assert!(!message.contains(UPSTREAM_WORDS), "{message}");
        }
        let body = json!({"phone_number": "+15005550001"});
        let chosen = desk.account.post("/v1/phone-numbers", &body).await;
        chosen.assert_error(409, "conflict");
    }

    async fn a_call_whose_process_died_is_hung_up_by_the_next_one(database: Database) {
        let mut desk = Desk::open(database).await;
        let agent = desk.account.agent_with(config(&[])).await;
        let handle = desk.account.call(&agent, CUSTOMER).await;
        let call = desk.twilio.placed(0).await;
        desk.tell(&call, "ringing", 1).await;
        // After the commit of Twilio's call id, which the successor needs.
        let path = format!("/2010-04-01/Accounts/{OWN_ACCOUNT}/Calls/{}.json", call.sid);
        eventually("a question after the call", PATIENCE, || async {
            (!desk.twilio.upstream().asked_of("GET", &path).is_empty()).then_some(())
        })
        .await;
        desk.server.kill().await;
        desk.server.start_again(&[]).await;
        let ended = desk.account.through(&desk.server).ended_within(&handle, SETTLED_WITHIN).await;
        assert_eq!(
            (&ended["status"], &ended["failure_reason"]),
            (&json!("failed"), &json!("interrupted")),
            "{ended}"
        );
        let changes = desk.twilio.until("the end at Twilio", |calls| {
            let changes = &calls.first()?.changes;
            (!changes.is_empty()).then(|| changes.clone())
        });
        assert_eq!(changes.await, [("Status".to_owned(), "completed".to_owned())]);
        assert_eq!(desk.twilio.calls().len(), 1, "it was not called again");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_twilios_is_refused_at_the_door_and_ends_no_call() {
    let desk = Desk::open(Database::Sqlite).await;
    let agent = desk.account.agent_with(config(&[])).await;
    let handle = desk.account.call(&agent, CUSTOMER).await;
    let call = desk.twilio.placed(0).await;
    let (to, media) = (desk.server.address(), call.stream_path());
    let busy = |scheme| status_form(&call, "busy", &[("SequenceNumber", "1")], scheme);
    let mut forged = busy(Scheme::Token);
    forged.body = forged.body.replace("busy", "failed");
    let mut unsigned = busy(Scheme::Token);
    unsigned.headers.clear();
    // The last one uses a key that was never agreed on.
    for form in [forged, unsigned, busy(Scheme::SharedKey)] {
        assert_eq!(form.post(to).await, 403, "{form:?}");
    }
    let [_, another] = beginning(&call, "another token");
    for wrong in ["{}".to_owned(), another, "x".repeat(70_000)] {
        let mut stream = Stream::open(to, &media).await;
        stream.send(wrong).await;
        assert_eq!(stream.next().await, None);
    }
    let nobodys = "/callbacks/twilio/somebody/media";
    assert_eq!(Stream::refused(to, nobodys).await, 403);
    let call = desk.account.read(&format!("/v1/calls/{handle}")).await;
    assert_eq!(call["status"], "initiated");
    assert_eq!(busy(Scheme::Token).post(to).await, 204);
    assert_eq!(desk.ended(&handle).await["failure_reason"], "busy");
    assert_eq!(Stream::refused(to, &media).await, 403, "it is over");
}
