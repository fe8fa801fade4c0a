//! The graceful stop: which requests a process still serves while its last calls continue.

use std::time::Duration;

use offhook_tests::{Account, Database, Options, Receiver, Server, both, eventually};
use serde_json::json;

/// A stop without calls waits for nothing; the rest is for a busy machine.
const QUICK: Duration = Duration::from_secs(5);

/// A call that talks at real speed for minutes.
async fn long_call(account: &Account) -> (String, String) {
    let agent = account
        .agent_with(json!({
            "system_prompt": "Talk.",
            "first_message": "Hello. ".repeat(250),
            "llm": {"provider": "scripted", "model": "scripted"},
        }))
        .await;
    let body = json!({"agent_id": agent, "to": "+5215512345678"});
    let placed = account.post("/v1/calls", &body).idempotency_key("the call");
    let placed = placed.await.assert(201);
    (agent, offhook_tests::text(&placed["id"]).to_owned())
}

async fn begin_stop(server: &Server) {
    server.signal("TERM").await;
    eventually("a process that says it stops", QUICK, || async {
        let answer = server.client().get("/readyz").await;
        (answer.status == 503).then(|| assert_eq!(answer.json()["status"], "stopping"))
    })
    .await;
}

both! {
    async fn a_draining_process_refuses_calls_and_answers_all_else(database: Database) {
        let mut server = Server::start(Options::on(database).set("simulator.speed", 1)).await;
        let account = server.account("scale").await;
        let receiver = Receiver::start().await;
        account.webhook(&receiver.url("/")).await;
        let (agent, handle) = long_call(&account).await;
        let events = format!("/v1/conversations/{}/events", &handle[5..]);
        let mut stream = account.get(&events).stream().await;
        while stream.next().await.is_some_and(|event| event.data["state"] != "live")
        {}
        begin_stop(&server).await;

        let body = json!({"agent_id": agent, "to": "+5215512345678"});
        let refused = account.post("/v1/calls", &body).await;
        refused.assert_error(503, "service_unavailable");
        assert!(refused.number("retry-after") >= 1);
        let again = account.post("/v1/calls", &body).idempotency_key("the call").await;
        assert_eq!(again.assert(201)["id"], json!(handle), "a retry is told");
        account.read("/healthz").await;
        let call = account.read(&format!("/v1/calls/{handle}")).await;
        assert_eq!(call["status"], "initiated");
        let page = account.read("/v1/calls").await;
        assert_eq!(page["data"].as_array().map(Vec::len), Some(1), "nothing else was placed");

        let hung_up = account.post(&format!("/v1/calls/{handle}/hangup"), "{}");
        let hung_up = hung_up.await.assert(202);
        assert_eq!(hung_up, json!({"id": handle, "status": "initiated"}));
        let told = stream.rest().await;
        assert_eq!(told.last().map(|event| &event.data["state"]), Some(&json!("completed")));
        assert!(server.ended_within(QUICK).await.success());
        // Its last event was not left to the next start.
        let ends: Vec<_> = receiver
            .received()
            .iter()
            .filter(|one| one.call() == handle)
            .map(|one| one.kind())
            .collect();
        assert_eq!(ends, ["call.initiated", "call.completed"]);
        assert!(!server.log().contains("panicked"), "{}", server.log());
    }

    async fn a_second_signal_ends_the_calls_and_reports_them(database: Database) {
        let mut server = Server::start(Options::on(database).set("simulator.speed", 1)).await;
        let account = server.account("scale").await;
        let receiver = Receiver::start().await;
        account.webhook(&receiver.url("/")).await;
        let (_, handle) = long_call(&account).await;
        let conversation = format!("/v1/conversations/{}", &handle[5..]);
        let mut stream = account.get(&format!("{conversation}/events")).stream().await;
        while stream.next().await.is_some_and(|event| event.data["state"] != "live")
        {}
        begin_stop(&server).await;
        server.signal("TERM").await;
        let told = stream.rest().await;
        assert_eq!(told.last().map(|event| &event.data["state"]), Some(&json!("failed")));
        assert!(server.ended_within(Duration::from_secs(20)).await.success());
        let failed = receiver.received().into_iter().find(|one| one.kind() == "call.failed");
        let reason = failed.map(|one| one.json()["data"]["reason"].clone());
        assert_eq!(reason, Some(json!("interrupted")));
    }

    async fn a_stop_without_calls_waits_for_nothing(database: Database) {
        let options = Options::on(database).set("webhooks.retry_offsets", "1h,1h,1h");
        let mut server = Server::start(options).await;
        let account = server.account("scale").await;
        let receiver = Receiver::scripted(|_, _| 500).await;
        account.webhook(&receiver.url("/")).await;
        let agent = account.agent().await;
        account.ended(&account.call(&agent, "+15005550001").await).await;
        receiver.count(2).await;
        // Deliveries that wait for a retry stay until the next start.
        server.signal("TERM").await;
        assert!(server.ended_within(QUICK).await.success());
        assert!(!server.data_dir().join("listen").exists());
    }
}

/// The write-ahead log is then empty: the database file alone holds everything.
#[tokio::test(flavor = "multi_thread")]
async fn a_clean_stop_leaves_the_database_in_one_file() {
    let mut server = Server::start(Options::on(Database::Sqlite)).await;
    let account = server.account("pro").await;
    let agent = account.agent().await;
    let handle = account.call(&agent, "+5215512345678").await;
    account.ended(&handle).await;
    assert!(server.data_dir().join("offhook.db-wal").exists());
    assert!(server.stop().await.success());
    assert!(server.data_dir().join("offhook.db").exists());
    for left in ["offhook.db-wal", "offhook.db-shm"] {
        assert!(!server.data_dir().join(left).exists(), "{left}");
    }
}
