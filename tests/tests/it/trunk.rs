//! Outgoing calls over a trunk, from the carrier's side. Other tests cover their audio.

use std::time::{Duration, Instant};

use offhook_tests::{Account, Database, Options, Phone, Receiver, Server, eventually, text};
use serde_json::{Value, json};

/// How long any step may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(30);

/// How long a call may continue after a hang-up request to the API.
const OBEYED_WITHIN: Duration = Duration::from_millis(500);

/// The account's number.
const NUMBER: &str = "+15005550199";

const CUSTOMER: &str = "+5215512345678";

struct Stage {
    phone: Phone,
    server: Server,
    account: Account,
    agent: String,
}

impl Stage {
    async fn open() -> Self {
        Self::with(|options| options).await
    }

    async fn with(more: impl FnOnce(Options) -> Options) -> Self {
        let phone = Phone::start().await;
        let options = Options::on(Database::Sqlite)
            .set("calls.carrier", "sip")
            .set("calls.allowed_prefixes", "+52")
            .set("sip.udp", "127.0.0.1:0")
            .set("sip.trunks.carrier.server", phone.address());
        let server = Server::start(more(options)).await;
        let account = server.account("scale").await;
        server.add_number(&account.id, NUMBER, None).await;
        let agent = account
            .agent_with(json!({
                "system_prompt": "say: Goodbye!",
                "first_message": "Hello. ".repeat(50),
                "llm": {"provider": "scripted", "model": "scripted"},
                "stt": {"provider": "scripted", "model": "scripted"},
                "voice": {"provider": "scripted", "voice_id": "hum"},
                "conversation": {"turns": {"voicemail": "ignore"}},
            }))
            .await;
        Self {
            phone,
            server,
            account,
            agent,
        }
    }

    async fn call(&self) -> String {
        self.account.call(&self.agent, CUSTOMER).await
    }

    async fn hang_up(&self, handle: &str) {
        let target = format!("/v1/calls/{handle}/hangup");
        self.account.post(&target, "{}").await.assert(202);
    }

    async fn ended(&self, handle: &str) -> Value {
        self.account.ended_within(handle, PATIENCE).await
    }

    async fn answered(&self, handle: &str) {
        let target = format!("/v1/conversations/{}/events", &handle[5..]);
        let mut stream = self.account.get(&target).stream().await;
        while stream
            .next()
            .await
            .is_some_and(|event| event.data["state"] != "live")
        {}
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_placed_call_is_an_invite_from_the_accounts_number_and_what_refuses_it_is_its_reason() {
    let stage = Stage::open().await;
    let events = Receiver::start().await;
    stage.account.webhook(&events.url("/")).await;
    let handle = stage.call().await;
    let invite = stage.phone.is_called().await;
    assert_eq!(
        [invite.from(), invite.to(), invite.handle()],
        [NUMBER, CUSTOMER, handle.as_str()]
    );
    invite.refuse("486 Busy Here").await;
    let call = stage.ended(&handle).await;
    for (field, value) in [
        ("from", json!(NUMBER)),
        ("to", json!(CUSTOMER)),
        ("status", json!("failed")),
        ("failure_reason", json!("busy")),
        ("credits", json!(0)),
        ("latency", Value::Null),
        ("simulated", json!(false)),
    ] {
        assert_eq!(call[field], value, "{field} of {call}");
    }
    let told = events.count(2).await;
    let end = &told[1].json()["data"];
    assert_eq!(
        (told[1].kind().as_str(), &end["id"], &end["reason"]),
        ("call.failed", &json!(handle), &json!("busy"))
    );
    let log = stage.server.log();
    assert!(
        !log.contains(NUMBER) && !log.contains(CUSTOMER),
        "a number is logged"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_ringing_call_that_is_hung_up_is_cancelled_at_the_carrier() {
    let stage = Stage::open().await;
    let handle = stage.call().await;
    let ringing = stage.phone.is_called().await;
    ringing.ring().await;
    stage.hang_up(&handle).await;
    ringing.gives_up().await;
    let call = stage.ended(&handle).await;
    assert_eq!(call["status"], "failed");
    assert_eq!(call["failure_reason"], "cancelled");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answered_call_that_is_hung_up_ends_with_a_bye() {
    let stage = Stage::open().await;
    let mut times = Vec::new();
    // A busy machine may delay some of them.
    while times.len() < 3 && times.iter().all(|time| *time >= OBEYED_WITHIN) {
        let handle = stage.call().await;
        let answered = stage.phone.answers().await;
        stage.answered(&handle).await;
        let asked = Instant::now();
        stage.hang_up(&handle).await;
        answered.ends().await;
        times.push(asked.elapsed());
        let call = stage.ended(&handle).await;
        assert_eq!(call["status"], "completed");
        assert_eq!(call["termination_reason"], "api_hangup");
        assert_eq!(stage.phone.calls(), times.len(), "it was dialed once");
    }
    assert!(times.last() < Some(&OBEYED_WITHIN), "{times:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_that_stops_says_goodbye_and_hangs_up() {
    let mut stage = Stage::with(|options| options.set("calls.drain_seconds", 0)).await;
    let events = Receiver::start().await;
    stage.account.webhook(&events.url("/")).await;
    let handle = stage.call().await;
    let answered = stage.phone.answers().await;
    stage.answered(&handle).await;
    stage.server.signal("TERM").await;
    answered.ends().await;
    assert!(stage.server.ended_within(PATIENCE).await.success());
    let told = events
        .received()
        .into_iter()
        .find(|one| one.kind() == "call.failed");
    let reason = told.map(|one| one.json()["data"]["reason"].clone());
    assert_eq!(reason, Some(json!("interrupted")));
    assert!(!stage.server.data_dir().join("sip-listen").exists());
    assert!(
        !stage.server.log().contains("panicked"),
        "{}",
        stage.server.log()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn while_the_carrier_is_silent_nothing_is_placed() {
    let stage =
        Stage::with(|options| options.set("sip.trunks.carrier.keep_alive_seconds", 5)).await;
    stage.phone.set_deaf(true);
    let body = json!({"agent_id": stage.agent, "to": CUSTOMER});
    let refused = eventually("a refusal", PATIENCE, || async {
        let answer = stage.account.post("/v1/calls", &body).await;
        (answer.status != 201).then_some(answer)
    })
    .await;
    refused.assert_error(502, "upstream_unreachable");
    stage.phone.set_deaf(false);
    eventually("the carrier's return", PATIENCE, || async {
        let answer = stage.account.post("/v1/calls", &body).await;
        (answer.status == 201).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn numbers_are_the_operators_to_give_and_prefixes_bound_what_is_dialed() {
    let stage = Stage::open().await;
    let body = json!({"phone_number": "+15005550123"});
    let refused = stage.account.post("/v1/phone-numbers", &body).await;
    let message = refused.assert_error(409, "conflict");
    assert!(message.contains("`offhook number add`"), "{message}");
    let refused = stage.account.post("/v1/phone-numbers/import", "{}").await;
    refused.assert_error(409, "conflict");
    let body = json!({"agent_id": stage.agent, "to": "+15005550001"});
    let refused = stage.account.post("/v1/calls", &body).await;
    let message = refused.assert_error(400, "invalid_body");
    assert!(message.starts_with("`to`: "), "{message}");
    assert_eq!(stage.phone.calls(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_trunk_without_prefixes_is_not_served() {
    let options = Options::on(Database::Sqlite)
        .set("calls.carrier", "sip")
        .set("sip.udp", "127.0.0.1:0")
        .set("sip.trunks.carrier.server", "127.0.0.1:9");
    let sentence = Server::refused(options).await;
    assert!(
        sentence.contains("setting `calls.allowed_prefixes` is missing: "),
        "{sentence}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_beside_a_service_leave_its_listeners_alone() {
    let stage = Stage::open().await;
    let address = std::fs::read_to_string(stage.server.data_dir().join("sip-listen")).unwrap();
    let listening = [("OFFHOOK_SIP__UDP", address.trim())];
    let listed = stage
        .server
        .run_with(&["account", "list", "--json"], &listening)
        .await;
    assert!(listed.status.success(), "{listed:?}");
    let looked = stage
        .server
        .run_with(&["doctor", "--json"], &listening)
        .await;
    let findings: Value = serde_json::from_slice(&looked.stdout).unwrap();
    let carrier = findings
        .as_array()
        .into_iter()
        .flatten()
        .filter(|one| ["sip_listener", "rtp", "carrier"].contains(&text(&one["check"])));
    let states: Vec<_> = carrier
        .map(|one| (text(&one["check"]), text(&one["status"])))
        .collect();
    assert_eq!(
        states,
        [("sip_listener", "ok"), ("rtp", "ok"), ("carrier", "ok")],
        "{findings}"
    );
}
