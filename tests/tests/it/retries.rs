//! Deliveries that fail: retried, exhausted, cancelled, made again (interface, Retries; decisions 6.8, 7.3, 7.5–7.7).

use std::time::Duration;

use offhook_tests::{Options, Receiver, Server, both, text};
use serde_json::{Value, json};

use crate::calls::assert_timestamp;
use crate::deliveries::{are, deliveries, is_signed_by};

both! {
    async fn a_delivery_that_fails_four_times_is_exhausted(database: Database) {
        let server = Server::start(Options::on(database)).await;
        let account = server.account("scale").await;
        let receiver =
            Receiver::scripted(|_, before| [500, 404, 302, 429, 200][before.min(4)]).await;
        let (id, secret) = account.webhook(&receiver.url("/")).await;
        account
            .post(&format!("/v1/webhooks/{id}/test"), "{}")
            .send()
            .await
            .assert(202);
        let received = receiver.count(4).await;
        for pair in received.windows(2) {
            let gap = pair[1].at - pair[0].at;
            assert!(gap >= Duration::from_secs(1), "never early: {gap:?}");
            assert!(gap < Duration::from_secs(4), "not late: {gap:?}");
            assert_eq!(pair[0].body, pair[1].body, "frozen");
            assert_eq!(
                pair[0].header("x-service-event-id"),
                pair[1].header("x-service-event-id")
            );
            assert_ne!(
                pair[0].header("x-service-delivery"),
                pair[1].header("x-service-delivery")
            );
        }
        assert!(received.iter().all(|one| is_signed_by(one, &secret)));
        let exhausted = deliveries(&account, "", are("exhausted", 1))
            .await
            .remove(0);
        assert_eq!(
            (&exhausted["attempts_count"], &exhausted["next_attempt_at"]),
            (&json!(4), &json!(null))
        );
        let target = format!("/v1/webhooks/deliveries/{}", text(&exhausted["id"]));
        let story = account.read(&target).await;
        let codes: Vec<_> = story["attempts"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|one| one["status_code"].clone())
            .collect();
        assert_eq!(codes, [500, 404, 302, 429].map(Value::from));
        // By hand it is made once more, and its success counts.
        let again = account
            .post(&format!("{target}/redeliver"), "{}")
            .send()
            .await
            .assert(202);
        assert_eq!(again["id"], exhausted["id"]);
        let received = receiver.count(5).await;
        assert_eq!(received[4].body, received[0].body);
        let delivered = deliveries(&account, "", are("delivered", 1))
            .await
            .remove(0);
        assert_eq!(delivered["id"], exhausted["id"]);
        assert_eq!(
            account.read(&target).await["attempts"]
                .as_array()
                .map(Vec::len),
            Some(5)
        );
    }

    async fn a_receiver_that_comes_back_gets_the_event(database: Database) {
        let server = Server::start(Options::on(database)).await;
        let account = server.account("scale").await;
        let receiver = Receiver::scripted(|_, before| if before < 2 { 503 } else { 204 }).await;
        let (id, _) = account.webhook(&receiver.url("/")).await;
        account
            .post(&format!("/v1/webhooks/{id}/test"), "{}")
            .send()
            .await
            .assert(202);
        let retrying = deliveries(&account, "&status=retrying", |data| data.len() == 1)
            .await
            .remove(0);
        assert_timestamp(&retrying["next_attempt_at"]);
        let delivered = deliveries(&account, "", are("delivered", 1))
            .await
            .remove(0);
        assert_eq!(delivered["attempts_count"], 3);
        assert_eq!(receiver.received().len(), 3);
    }

    async fn one_dead_endpoint_holds_up_no_other(database: Database) {
        let server = Server::start(Options::on(database)).await;
        let account = server.account("scale").await;
        let receiver = Receiver::start().await;
        // It accepts connections and never answers.
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
        assert!(
            began.elapsed() < Duration::from_secs(8),
            "{:?}",
            began.elapsed()
        );
        // After 10 s the attempt has failed.
        let retrying = deliveries(&account, "&status=retrying", |data| !data.is_empty())
            .await
            .remove(0);
        let story = account
            .read(&format!(
                "/v1/webhooks/deliveries/{}",
                text(&retrying["id"])
            ))
            .await;
        assert_eq!(story["attempts"][0]["error"], "timeout", "{story}");
        assert_eq!(story["attempts"][0]["status_code"], json!(null), "{story}");
        let took = story["attempts"][0]["duration_ms"].as_i64().unwrap_or(0);
        assert!((9_900..12_000).contains(&took), "{took} ms");
    }

    async fn a_disabled_endpoint_gets_nothing(database: Database) {
        let server = Server::start(Options::on(database)).await;
        let account = server.account("scale").await;
        let receiver =
            Receiver::scripted(|one, _| if one.path == "/bad" { 500 } else { 200 }).await;
        let (id, _) = account.webhook(&receiver.url("/bad")).await;
        let (good, _) = account.webhook(&receiver.url("/good")).await;
        let target = format!("/v1/webhooks/{id}");
        account
            .post(&format!("{target}/test"), "{}")
            .send()
            .await
            .assert(202);
        let retrying = deliveries(&account, "", are("retrying", 1)).await.remove(0);
        account
            .patch(&target, r#"{"status":"disabled"}"#)
            .send()
            .await
            .assert(200);
        let cancelled = deliveries(&account, "", are("cancelled", 1))
            .await
            .remove(0);
        assert_eq!(
            (&cancelled["id"], &cancelled["next_attempt_at"]),
            (&retrying["id"], &json!(null))
        );
        let since = retrying["created_at"].clone();
        for (action, body) in [("test", json!({})), ("recover", json!({"since": since}))] {
            account
                .post(&format!("{target}/{action}"), body)
                .send()
                .await
                .assert_error(409, "conflict");
        }
        let redeliver = format!(
            "/v1/webhooks/deliveries/{}/redeliver",
            text(&retrying["id"])
        );
        account
            .post(&redeliver, "{}")
            .send()
            .await
            .assert_error(409, "conflict");
        let agent = account.agent().await;
        account.call(&agent, "+15005550001").await;
        receiver
            .wait("events at the other one", |all| {
                all.iter().filter(|one| one.path == "/good").count() == 2
            })
            .await;
        let bad = receiver
            .received()
            .iter()
            .filter(|one| one.path == "/bad" && one.kind() != "call.completed")
            .count();
        assert_eq!(bad, 0);
        account
            .delete(&format!("/v1/webhooks/{good}"))
            .send()
            .await
            .assert(200);
        account.delete(&target).send().await.assert(200);
        account
            .post(&redeliver, "{}")
            .send()
            .await
            .assert_error(409, "conflict");
    }

    async fn recover_makes_missed_deliveries_again(database: Database) {
        let server =
            Server::start(Options::on(database).set("webhooks.retry_offsets", "100ms,100ms,100ms"))
                .await;
        let account = server.account("scale").await;
        let down = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(true));
        let is_down = down.clone();
        let receiver = Receiver::scripted(move |_, _| {
            if is_down.load(std::sync::atomic::Ordering::SeqCst) {
                500
            } else {
                200
            }
        })
        .await;
        let (id, _) = account.webhook(&receiver.url("/")).await;
        let agent = account.agent().await;
        for _ in 0..3 {
            account.call(&agent, "+15005550001").await;
        }
        let exhausted = deliveries(&account, "", are("exhausted", 6)).await;
        let since = exhausted
            .iter()
            .map(|delivery| text(&delivery["created_at"]))
            .min()
            .unwrap_or_default();
        down.store(false, std::sync::atomic::Ordering::SeqCst);
        let recovered = account
            .post(
                &format!("/v1/webhooks/{id}/recover"),
                json!({"since": since}),
            )
            .send()
            .await;
        assert_eq!(recovered.assert(202), json!({"count": 6}));
        deliveries(&account, "", are("delivered", 6)).await;
        let again = account
            .post(
                &format!("/v1/webhooks/{id}/recover"),
                json!({"since": since}),
            )
            .send()
            .await;
        assert_eq!(again.assert(202), json!({"count": 0}));
    }

    async fn an_endpoint_that_the_rules_refuse_by_now_is_not_connected_to(database: Database) {
        let receiver = Receiver::start().await;
        let mut server = Server::start(Options::on(database)).await;
        let account = server.account("scale").await;
        let (id, _) = account.webhook(&receiver.url("/")).await;
        // The endpoint was allowed when it was made; the rule holds from now on all the same.
        assert!(server.stop().await.success());
        server.set("webhooks.allow_private_targets", "false");
        server.start_again(&[]).await;
        account
            .post(&format!("/v1/webhooks/{id}/test"), "{}")
            .send()
            .await
            .assert(202);
        let retrying = deliveries(&account, "", |data| {
            data.iter()
                .any(|one| one["attempts_count"] != 0 && one["status"] != "pending")
        });
        let story = account
            .read(&format!(
                "/v1/webhooks/deliveries/{}",
                text(&retrying.await[0]["id"])
            ))
            .await;
        let error = text(&story["attempts"][0]["error"]);
        assert!(
            ["invalid_url", "blocked_address"].contains(&error),
            "{story}"
        );
        assert_eq!(story["attempts"][0]["response_snippet"], json!(null));
        assert!(receiver.received().is_empty());
        assert!(
            !story["attempts"].to_string().contains("127.0.0.1"),
            "the customer never reads the address: {story}"
        );
    }
}
