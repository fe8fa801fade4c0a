//! Failed deliveries: retried, exhausted, cancelled, redelivered.

use std::time::Duration;

use offhook_tests::{Receiver, Server, both, text};
use serde_json::{Value, json};

use crate::deliveries::{are, deliveries, is_signed_by};

both! {
    async fn a_delivery_that_fails_four_times_is_exhausted(database: Database) {
        let (_server, account) = Server::furnished(database).await;
        let receiver =
            Receiver::scripted(|_, before| [500, 404, 302, 429, 200][before.min(4)]).await;
        let (id, secret) = account.webhook(&receiver.url("/")).await;
        let answer = account.post(&format!("/v1/webhooks/{id}/test"), "{}").await;
        answer.assert(202);
        let received = receiver.count(4).await;
        for pair in received.windows(2) {
            let gap = pair[1].at - pair[0].at;
            assert!(gap >= Duration::from_secs(1), "never early: {gap:?}");
            assert!(gap < Duration::from_secs(4), "not late: {gap:?}");
            assert_eq!(pair[0].body, pair[1].body, "frozen");
            let expected = pair[1].header("x-service-event-id");
            assert_eq!(pair[0].header("x-service-event-id"), expected);
            assert_ne!(pair[0].header("x-service-delivery"), pair[1].header("x-service-delivery"));
        }
        assert!(received.iter().all(|one| is_signed_by(one, &secret)));
        let exhausted = deliveries(&account, "", are("exhausted", 1)).await.remove(0);
        assert_eq!(exhausted["attempts_count"], 4);
        assert_eq!(exhausted["next_attempt_at"], json!(null));
        let target = format!("/v1/webhooks/deliveries/{}", text(&exhausted["id"]));
        let story = account.read(&target).await;
        let codes: Vec<_> = story["attempts"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|one| one["status_code"].clone())
            .collect();
        assert_eq!(codes, [500, 404, 302, 429].map(Value::from));
        // A manual redelivery sends it once more, and its success counts.
        let again = account
            .post(&format!("{target}/redeliver"), "{}")
            .await
            .assert(202);
        assert_eq!(again["id"], exhausted["id"]);
        let received = receiver.count(5).await;
        assert_eq!(received[4].body, received[0].body);
        let delivered = deliveries(&account, "", are("delivered", 1)).await.remove(0);
        assert_eq!(delivered["id"], exhausted["id"]);
        assert_eq!(account.read(&target).await["attempts"].as_array().map(Vec::len), Some(5));
    }

    async fn one_dead_endpoint_holds_up_no_other(database: Database) {
        let (_server, account) = Server::furnished(database).await;
        let receiver = Receiver::start().await;
        // It accepts connections and never responds.
        let dead = offhook_tests::must(
            "a listener",
            tokio::net::TcpListener::bind("127.0.0.1:0").await,
        );
        let port = offhook_tests::must("its address", dead.local_addr()).port();
        account.webhook(&format!("http://localhost:{port}/")).await;
        account.webhook(&receiver.url("/")).await;
        let agent = account.agent().await;
        let began = std::time::Instant::now();
        for _ in 0..10 {
            account.call(&agent, "+15005550001").await;
        }
        receiver.count(20).await;
        assert!(began.elapsed() < Duration::from_secs(8), "{:?}", began.elapsed());
        // After 10 s the attempt has failed.
        let retrying = deliveries(&account, "&status=retrying", |data| !data.is_empty())
            .await
            .remove(0);
        let story = account
            .read(&format!("/v1/webhooks/deliveries/{}", text(&retrying["id"])))
            .await;
        assert_eq!(story["attempts"][0]["error"], "timeout", "{story}");
        assert_eq!(story["attempts"][0]["status_code"], json!(null), "{story}");
        let took = story["attempts"][0]["duration_ms"].as_i64().unwrap_or(0);
        assert!((9_900..12_000).contains(&took), "{took} ms");
    }
}
