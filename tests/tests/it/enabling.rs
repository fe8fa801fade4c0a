//! An endpoint is enabled while its open deliveries are being cancelled. The cancellation may take long, but the
//! request only waits for a moment.

mod on_postgres {
    use std::time::{Duration, Instant};

    use offhook_tests::{Database, Receiver, Server, must, text};
    use serde_json::json;
    use tokio_postgres::NoTls;

    /// The lock timeout, and the extra time for a busy machine.
    const WAIT: std::ops::Range<Duration> = Duration::from_millis(1_900)..Duration::from_secs(6);

    #[tokio::test(flavor = "multi_thread")]
    #[ignore = "needs PostgreSQL: just test"]
    async fn enabling_an_endpoint_that_is_being_cancelled_for_longer_than_two_seconds_is_503() {
        let database = Database::postgres().await;
        let url = must("a URL", database.url().ok_or("SQLite"));
        let (_server, account) = Server::furnished(database).await;
        let receiver = Receiver::start().await;
        let (id, _) = account.webhook(&receiver.url("/")).await;
        let target = format!("/v1/webhooks/{id}");
        let turn = |status: &str| account.patch(&target, json!({ "status": status })).send();
        turn("disabled").await.assert(200);

        let connected = tokio_postgres::connect(&url, NoTls).await;
        let (client, connection) = must("a connection", connected);
        tokio::spawn(connection);
        // The lock that a cancelling transaction holds.
        let hold = format!("BEGIN; SELECT id FROM webhook_endpoints WHERE id = '{id}' FOR SHARE");
        must("a hold", client.batch_execute(&hold).await);
        let asked = Instant::now();
        let refused = turn("enabled").await;
        assert!(WAIT.contains(&asked.elapsed()), "{:?}", asked.elapsed());
        refused.assert_error(503, "service_unavailable");
        assert_eq!(refused.number("retry-after"), 5);
        let endpoint = account.read(&target).await;
        assert_eq!(text(&endpoint["status"]), "disabled", "{endpoint}");

        must("its end", client.batch_execute("ROLLBACK").await);
        let enabled = turn("enabled").await.assert(200);
        assert_eq!(text(&enabled["status"]), "enabled", "{enabled}");
    }
}
