//! Incoming calls over a trunk: answered by the number's agent, refused with a reason, and ended if their process
//! died.

use std::net::SocketAddr;
use std::os::unix::process::ExitStatusExt;
use std::time::Duration;

use offhook_failpoints as failpoints;
use offhook_tests::{
    Account, Database, LostReplies, Options, Phone, Receiver, Server, both, eventually, free_port,
    model_server, text, unix_seconds,
};
use serde_json::{Value, json};

/// How long any step may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// The expiry of a dead process's leases, with room for a busy machine.
const SETTLED_WITHIN: Duration = Duration::from_secs(150);

const CUSTOMER: &str = "+5215512345678";
const NUMBER: &str = "+15005550100";
const OTHER: &str = "+15005550101";
const UNASSIGNED: &str = "+15005550102";

const SIGABRT: i32 = 6;

/// An agent that greets with one hum per word, and recognizes no words.
fn config() -> Value {
    json!({
        "system_prompt": "You confirm appointments.",
        "first_message": "Hello, this is the harbour hotel.",
        "llm": {"provider": "scripted", "model": "scripted"},
        "stt": {"provider": "scripted"},
        "voice": {"provider": "scripted", "voice_id": "scripted"},
        "conversation": {"turns": {"silence_timeout_s": 60}},
    })
}

/// A service on a trunk, with the telephone at the other end.
struct Desk {
    server: Server,
    phone: Phone,
    sip: SocketAddr,
    account: Account,
    agent: String,
    events: Receiver,
}

impl Desk {
    async fn open(database: Database) -> Self {
        Self::with(database, |options| options).await
    }

    async fn with(database: Database, more: impl FnOnce(Options) -> Options) -> Self {
        let phone = Phone::start().await;
        let sip = free_address();
        let options = Options::on(database)
            .set("calls.carrier", "sip")
            .set("calls.allowed_prefixes", "+52")
            .set("sip.udp", sip)
            .set("sip.trunks.carrier.server", phone.address())
            .set("sip.trunks.carrier.keep_alive_seconds", 0);
        let server = Server::start(more(options)).await;
        let account = server.account("starter").await;
        let agent = account.agent_with(config()).await;
        server.add_number(&account.id, NUMBER, Some(&agent)).await;
        let events = Receiver::start().await;
        account.webhook(&events.url("/")).await;
        Self {
            server,
            phone,
            sip,
            account,
            agent,
            events,
        }
    }

    /// Calls a number; returns the status code of the refusal.
    async fn refused(&self, to: &str) -> u16 {
        let call = self.phone.call(self.sip, CUSTOMER, to).await;
        call.is_answered().await.expect_err("a refusal")
    }

    /// The account's calls, newest first.
    async fn calls(&self) -> Vec<Value> {
        list(&self.account, "/v1/calls").await
    }

    /// Waits for the end of the account's only call.
    async fn ended(&self) -> Value {
        let handle = text(&self.calls().await[0]["call_id"]).to_owned();
        self.account.ended_within(&handle, SETTLED_WITHIN).await
    }
}

async fn list(account: &Account, target: &str) -> Vec<Value> {
    let list = account.read(target).await;
    list["data"].as_array().cloned().unwrap_or_default()
}

/// The weekday number in three days; 1970 began on a Thursday.
fn in_three_days() -> i64 {
    (unix_seconds() / 86_400 + 3 + 3) % 7 + 1
}

/// An address with a free UDP port.
fn free_address() -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], free_port()))
}

both! {
    async fn a_call_is_answered_by_the_agent_of_its_number(database: Database) {
        let desk = Desk::open(database).await;
        let neighbour = desk.server.account("starter").await;
        let theirs = neighbour.agent_with(config()).await;
        desk.server.add_number(&neighbour.id, OTHER, Some(&theirs)).await;

        let call = desk.phone.call(desk.sip, CUSTOMER, NUMBER).await;
        call.is_answered().await.expect("an answer");
        // A hum for each word of the greeting.
        assert!(!call.hears().await.samples.is_empty());
        let live = &desk.calls().await[0];
        assert_eq!(live["status"], "unknown", "{live}");
        call.hang_up().await;
        let ended = desk.ended().await;
        for (field, value) in [
            ("from", json!(CUSTOMER)),
            ("to", json!(NUMBER)),
            ("customer_phone", json!(CUSTOMER)),
            ("channel", json!("phone")),
            ("status", json!("completed")),
            ("termination_reason", json!("customer_hangup")),
            ("failure_reason", Value::Null),
            ("metadata", json!({})),
        ] {
            assert_eq!(ended[field], value, "{field} of {ended}");
        }
        assert_eq!(ended["agent"]["id"], json!(desk.agent));
        assert!(ended["duration_seconds"].as_i64() > Some(0), "{ended}");
        let target = format!("/v1/conversations/{}", text(&ended["conversation_id"]));
        let conversation = desk.account.read(&target).await;
        let first = &conversation["transcript"][0];
        assert_eq!((&first["role"], &first["text"]), (&json!("agent"), &json!("Hello, this is the harbour hotel.")));

        // No POST /v1/calls placed it.
        let events = desk.events.count(1).await;
        assert_eq!(events[0].kind(), "call.completed");
        assert_eq!(events[0].json()["data"]["agent_id"], json!(desk.agent));
        assert_eq!(events[0].call(), text(&ended["call_id"]));

        // The neighboring number belongs to another account.
        let call = desk.phone.call(desk.sip, CUSTOMER, OTHER).await;
        call.is_answered().await.expect("an answer");
        call.hang_up().await;
        let handle = text(&list(&neighbour, "/v1/calls").await[0]["call_id"]).to_owned();
        neighbour.ended_within(&handle, PATIENCE).await;
        assert_eq!(desk.calls().await.len(), 1);
        assert_eq!(list(&neighbour, "/v1/conversations").await.len(), 1);
        assert_eq!(desk.events.received().len(), 1);

        // Both numbers find it in the list.
        for phone in [CUSTOMER, NUMBER] {
            let target = format!("/v1/calls?phone={}", phone.replace('+', "%2B"));
            assert_eq!(list(&desk.account, &target).await.len(), 1, "{phone}");
        }
    }

    async fn who_cannot_be_served_is_told_so_and_nothing_is_written(database: Database) {
        let models = model_server().await;
        let desk = Desk::with(database, |options| {
            options
                .set("plans.starter.live_calls", 1)
                .set("models.openai.base_url", models)
                .set("models.openai.api_key", "sk-test")
        })
        .await;
        assert_eq!(desk.refused("+15005559999").await, 404);
        assert_eq!(desk.refused("reception").await, 404);
        desk.server.add_number(&desk.account.id, UNASSIGNED, None).await;
        assert_eq!(desk.refused(UNASSIGNED).await, 480);

        // The trunk cannot reach numbers of other networks.
        let simulated = ["number", "add", "--account", &desk.account.id, "--phone-number", "+15005550103",
            "--agent", &desk.agent];
        desk.server.cli(&simulated).await;
        assert_eq!(desk.refused("+15005550103").await, 404);

        let path = format!("/v1/agents/{}", desk.agent);
        desk.account.patch(&path, json!({"status": "paused"})).await.assert(200);
        assert_eq!(desk.refused(NUMBER).await, 480);
        desk.account.patch(&path, json!({"status": "active"})).await.assert(200);

        let draft = json!({"name": "Eva", "language": "en-US", "config": config()});
        let draft = desk.account.post("/v1/agents", draft).await.assert(201);
        let assign = |agent: &Value| {
            let body = json!({"agent_id": agent});
            let account = desk.account.clone();
            async move {
                let numbers = list(&account, "/v1/phone-numbers").await;
                let found = numbers.iter().find(|number| number["phone_number"] == UNASSIGNED);
                let id = text(&found.expect("the number")["id"]).to_owned();
                let patch = account.patch(&format!("/v1/phone-numbers/{id}"), body);
                patch.await.assert(200);
            }
        };
        assign(&draft["id"]).await;
        assert_eq!(desk.refused(UNASSIGNED).await, 480, "it was never published");

        let mut closed = config();
        closed["conversation"]["calling_hours"] =
            json!({"timezone": "UTC", "days": [in_three_days()], "start": "09:00", "end": "18:00"});
        let closed = desk.account.agent_with(closed).await;
        assign(&json!(closed)).await;
        assert_eq!(desk.refused(UNASSIGNED).await, 480, "outside its hours");

        let poor = desk.server.account_with("starter", 0).await;
        let mut dear = config();
        dear["llm"] = json!({"provider": "openai", "model": "gpt-4.1"});
        let dear = poor.agent_with(dear).await;
        desk.server.add_number(&poor.id, OTHER, Some(&dear)).await;
        assert_eq!(desk.refused(OTHER).await, 486, "no credits");

        assert_eq!(desk.calls().await, Vec::<Value>::new());
        let call = desk.phone.call(desk.sip, CUSTOMER, NUMBER).await;
        call.is_answered().await.expect("an answer");
        assert_eq!(desk.refused(NUMBER).await, 486, "its one line is taken");
        call.hang_up().await;
        desk.ended().await;
        assert_eq!(desk.calls().await.len(), 1);
        assert_eq!(list(&poor, "/v1/calls").await.len(), 0);
        let kinds: Vec<_> = desk.events.count(1).await.iter().map(|event| event.kind()).collect();
        assert_eq!(kinds, ["call.completed"]);
    }

    async fn a_withheld_number_is_null_and_the_call_is_hung_up_by_the_interface(database: Database) {
        let desk = Desk::open(database).await;
        let call = desk.phone.call(desk.sip, "anonymous", NUMBER).await;
        call.is_answered().await.expect("an answer");
        let handle = text(&desk.calls().await[0]["call_id"]).to_owned();
        let hang_up = desk.account.post(&format!("/v1/calls/{handle}/hangup"), "{}");
        hang_up.await.assert(202);
        call.ends().await;
        let ended = desk.ended().await;
        for (field, value) in [
            ("from", Value::Null),
            ("to", json!(NUMBER)),
            ("customer_phone", Value::Null),
            ("status", json!("completed")),
            ("termination_reason", json!("api_hangup")),
        ] {
            assert_eq!(ended[field], value, "{field} of {ended}");
        }
        let target = format!("/v1/calls?phone={}", NUMBER.replace('+', "%2B"));
        assert_eq!(list(&desk.account, &target).await.len(), 1);
    }

    async fn a_process_that_is_killed_leaves_a_call_that_its_successor_hangs_up(database: Database) {
        let mut desk = Desk::with(database, Options::in_haste).await;
        let call = desk.phone.call(desk.sip, CUSTOMER, NUMBER).await;
        call.is_answered().await.expect("an answer");
        call.hears().await;
        desk.server.crash_and_restart().await;
        eventually("a goodbye of the next process", SETTLED_WITHIN, || async {
            call.has_ended().then_some(())
        })
        .await;
        let ended = desk.ended().await;
        assert_eq!(
            (&ended["status"], &ended["failure_reason"]),
            (&json!("failed"), &json!("interrupted")),
            "{ended}"
        );
        let events = desk.events.count(1).await;
        assert_eq!(events[0].kind(), "call.failed");
    }

    async fn a_call_is_not_lost_between_its_being_written_and_its_answer(database: Database) {
        let mut desk = Desk::with(database, Options::in_haste).await;
        assert!(desk.server.stop().await.success());
        let point = [("OFFHOOK_FAILPOINT", failpoints::ANSWER_AFTER_COMMIT)];
        desk.server.start_again(&point).await;
        let call = desk.phone.call(desk.sip, CUSTOMER, NUMBER).await;
        let status = desk.server.ended_within(PATIENCE).await;
        assert_eq!(status.signal(), Some(SIGABRT), "{status}");
        desk.server.start_again(&[]).await;
        let ended = desk.ended().await;
        assert_eq!(
            (&ended["status"], &ended["failure_reason"], &ended["duration_seconds"]),
            (&json!("failed"), &json!("interrupted"), &json!(0)),
            "{ended}"
        );
        assert_eq!(desk.events.count(1).await[0].kind(), "call.failed");
        drop(call);
    }

    async fn a_process_that_stops_takes_no_calls_and_ends_none(database: Database) {
        let mut desk = Desk::open(database).await;
        let call = desk.phone.call(desk.sip, CUSTOMER, NUMBER).await;
        call.is_answered().await.expect("an answer");
        desk.server.signal("TERM").await;
        eventually("a process that says it stops", PATIENCE, || async {
            let answer = desk.server.client().get("/readyz").await;
            (answer.status == 503).then_some(())
        })
        .await;
        assert_eq!(desk.refused(NUMBER).await, 503);
        assert!(!call.has_ended());
        call.hang_up().await;
        assert!(desk.server.ended().await.success());
        desk.server.start_again(&[]).await;
        let ended = desk.ended().await;
        assert_eq!(ended["termination_reason"], "customer_hangup", "{ended}");
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL: just test"]
async fn a_call_is_answered_whose_writing_the_database_did_not_confirm() {
    let database = Database::postgres().await;
    let proxy = LostReplies::before(&database).await;
    let through = proxy.address();
    let desk = Desk::with(database, |options| options.through(through)).await;
    proxy.lose_every(1);
    let calling = desk.phone.call(desk.sip, CUSTOMER, NUMBER);
    let stopping = eventually("a lost answer", PATIENCE, || async {
        (proxy.lost() > 0).then(|| proxy.lose_every(0))
    });
    let (call, ()) = tokio::join!(calling, stopping);
    call.is_answered().await.expect("an answer");
    call.hears().await;
    call.hang_up().await;
    let ended = desk.ended().await;
    assert_eq!(ended["termination_reason"], "customer_hangup", "{ended}");
    assert_eq!(desk.calls().await.len(), 1);
}
