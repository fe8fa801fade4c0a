//! Calls that go out by a trunk, as its carrier sees them. What is heard and said on them is told elsewhere.

mod callee;

use offhook_tests::{Account, Database, Options, Receiver, Server, eventually, text};
use serde_json::{Value, json};

use callee::{ANSWERS, Callee, PATIENCE, RINGS, header};

/// The account's number.
const NUMBER: &str = "+15005550199";

/// Numbers that begin so may be called; three digits behind it say what becomes of the call.
const CUSTOMER: &str = "+52155123450";

struct Stage {
    callee: Callee,
    server: Server,
    account: Account,
    agent: String,
}

impl Stage {
    async fn open() -> Self {
        Self::with(|options| options).await
    }

    async fn with(more: impl FnOnce(Options) -> Options) -> Self {
        let callee = Callee::start().await;
        let options = Options::on(Database::Sqlite)
            .set("calls.carrier", "sip")
            .set("calls.allowed_prefixes", "+52")
            .set("sip.udp", "127.0.0.1:0")
            .set("sip.trunks.carrier.server", callee.address());
        let server = Server::start(more(options)).await;
        let account = server.account("scale").await;
        let number = [
            "number",
            "add",
            "--account",
            &account.id,
            "--phone-number",
            NUMBER,
            "--provider",
            "sip",
        ];
        server.cli(&number).await;
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
            callee,
            server,
            account,
            agent,
        }
    }

    async fn call(&self, ending: &str) -> String {
        let to = format!("{CUSTOMER}{ending}");
        self.account.call(&self.agent, &to).await
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
async fn a_placed_call_is_an_invite_from_the_accounts_number_to_the_customers() {
    let stage = Stage::open().await;
    let handle = stage.call("486").await;
    let invite = stage.callee.receives("INVITE").await;
    let to = format!("{CUSTOMER}486");
    let host = stage.callee.address();
    assert_eq!(
        invite.lines().next(),
        Some(format!("INVITE sip:{to}@{host} SIP/2.0").as_str())
    );
    let from = header(&invite, "From");
    assert!(
        from.starts_with(&format!("<sip:{NUMBER}@127.0.0.1>;tag=")),
        "{from}"
    );
    assert_eq!(header(&invite, "Call-ID"), format!("{handle}@offhook"));
    let call = stage.ended(&handle).await;
    assert_eq!((&call["from"], &call["to"]), (&json!(NUMBER), &json!(to)));
    let log = stage.server.log();
    assert!(
        !log.contains(NUMBER) && !log.contains(CUSTOMER),
        "a number is logged"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_carrier_answers_is_the_calls_reason() {
    let stage = Stage::open().await;
    let events = Receiver::start().await;
    stage.account.webhook(&events.url("/")).await;
    let mut calls = Vec::new();
    for (status, reason) in [
        ("486", "busy"),
        ("600", "busy"),
        ("480", "no_answer"),
        ("603", "rejected"),
        ("403", "rejected"),
        ("404", "invalid_number"),
        ("484", "invalid_number"),
        ("503", "carrier_error"),
        ("488", "carrier_error"),
    ] {
        calls.push((stage.call(status).await, status, reason));
    }
    for (handle, status, reason) in &calls {
        let call = stage.ended(handle).await;
        let told = (&call["status"], &call["failure_reason"], &call["credits"]);
        assert_eq!(
            told,
            (&json!("failed"), &json!(reason), &json!(0)),
            "{status}"
        );
        assert_eq!(call["latency"], Value::Null);
    }
    let told = events
        .wait("every end", |all| {
            all.iter().filter(|one| one.kind() == "call.failed").count() == calls.len()
        })
        .await;
    for (handle, status, reason) in calls {
        let ends = told.iter().filter(|one| one.kind() == "call.failed");
        let end = ends
            .map(|one| one.json())
            .find(|event| event["data"]["id"] == handle.as_str());
        assert_eq!(
            end.map(|end| end["data"]["reason"].clone()),
            Some(json!(reason)),
            "{status}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_ringing_call_that_is_hung_up_is_cancelled_at_the_carrier() {
    let stage = Stage::open().await;
    let handle = stage.call(RINGS).await;
    let invite = stage.callee.receives("INVITE").await;
    stage.hang_up(&handle).await;
    let cancel = stage.callee.receives("CANCEL").await;
    assert_eq!(header(&cancel, "Call-ID"), header(&invite, "Call-ID"));
    assert_eq!(header(&cancel, "Via"), header(&invite, "Via"));
    let call = stage.ended(&handle).await;
    assert_eq!(call["status"], "failed");
    assert_eq!(call["failure_reason"], "cancelled");
    assert!(stage.callee.requests("BYE").is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answered_call_that_is_hung_up_ends_with_a_bye() {
    let stage = Stage::open().await;
    let handle = stage.call(ANSWERS).await;
    stage.answered(&handle).await;
    stage.hang_up(&handle).await;
    let bye = stage.callee.receives("BYE").await;
    assert_eq!(header(&bye, "Call-ID"), format!("{handle}@offhook"));
    let call = stage.ended(&handle).await;
    assert_eq!(call["status"], "completed");
    assert_eq!(call["termination_reason"], "api_hangup");
    assert_eq!(
        stage.callee.requests("INVITE").len(),
        1,
        "it was dialed once"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_that_stops_says_goodbye_and_hangs_up() {
    let mut stage = Stage::with(|options| options.set("calls.drain_seconds", 0)).await;
    let events = Receiver::start().await;
    stage.account.webhook(&events.url("/")).await;
    let handle = stage.call(ANSWERS).await;
    stage.answered(&handle).await;
    stage.server.signal("TERM").await;
    stage.callee.receives("BYE").await;
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
    stage.callee.set_deaf(true);
    let body = json!({"agent_id": stage.agent, "to": format!("{CUSTOMER}486")});
    let refused = eventually("a refusal", PATIENCE, || async {
        let answer = stage.account.post("/v1/calls", &body).await;
        (answer.status != 201).then_some(answer)
    })
    .await;
    refused.assert_error(502, "upstream_unreachable");
    stage.callee.set_deaf(false);
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
    assert!(stage.callee.requests("INVITE").is_empty());
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
