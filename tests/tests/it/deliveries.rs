//! Deliveries: what goes out, how it is signed, retried and made again (interface, Events; decision §7).

use std::time::Duration;

use offhook_signing::{DEFAULT_TOLERANCE_SECONDS, SigningSecret, verify};
use offhook_tests::{
    Account, Options, Received, Receiver, Server, both, eventually, text, unix_seconds,
};
use serde_json::{Value, json};

use crate::calls::assert_timestamp;

fn is_signed_by(received: &Received, secret: &str) -> bool {
    let secret: SigningSecret = offhook_tests::must("a secret", secret.parse());
    let header = received.header("x-service-signature").unwrap_or_default();
    verify(
        header,
        &received.body,
        &secret,
        unix_seconds(),
        DEFAULT_TOLERANCE_SECONDS,
    )
    .is_ok()
}

/// The deliveries that the account lists, once `enough` is true of them.
async fn deliveries(
    account: &Account,
    filter: &str,
    enough: impl Fn(&[Value]) -> bool,
) -> Vec<Value> {
    eventually("deliveries", Duration::from_secs(30), || async {
        let list = account
            .read(&format!("/v1/webhooks/deliveries?limit=100{filter}"))
            .await;
        let data = list["data"].as_array().cloned().unwrap_or_default();
        Some(data).filter(|data| enough(data))
    })
    .await
}

fn are(status: &str, count: usize) -> impl Fn(&[Value]) -> bool {
    move |data| {
        data.iter()
            .filter(|delivery| delivery["status"] == status)
            .count()
            == count
    }
}

both! {
    async fn a_delivery_carries_exactly_the_headers_of_the_contract(database: Database) {
        let server = Server::start(Options::on(database)).await;
        let account = server.account("scale").await;
        let receiver = Receiver::start().await;
        let (id, secret) = account.webhook(&receiver.url("/hooks?x=1")).await;
        let delivery = account.post(&format!("/v1/webhooks/{id}/test"), "{}").send().await.assert(202);
        let received = receiver.count(1).await.remove(0);
        assert_eq!(received.path, "/hooks");
        let event = received.json();
        assert_eq!(received.header("content-type"), Some("application/json"));
        assert_eq!(received.header("user-agent"), Some("Service-Webhook/1.0"));
        assert_eq!(received.header("x-service-event"), Some("call.completed"));
        assert_eq!(received.header("x-service-event-id"), event["id"].as_str());
        assert_eq!(delivery["event_id"], event["id"]);
        let attempt = received.header("x-service-delivery").unwrap_or_default();
        assert_eq!(attempt.len(), 36, "{received:?}");
        let signature = received.header("x-service-signature").unwrap_or_default();
        let (time, signed) = signature.split_once(",v1=").unwrap_or_default();
        let time: i64 = time.strip_prefix("t=").and_then(|time| time.parse().ok()).unwrap_or_default();
        assert!((unix_seconds() - time).abs() < 10, "{signature}");
        assert!(signed.len() == 64 && signed.bytes().all(|byte| byte.is_ascii_hexdigit()), "{signature}");
        assert!(is_signed_by(&received, &secret));
        let names: Vec<_> = received.headers.iter().map(|(name, _)| name.as_str()).collect();
        for name in &names {
            let known = [
                "content-type", "user-agent", "x-service-signature", "x-service-event", "x-service-event-id",
                "x-service-delivery", "host", "content-length", "accept",
            ];
            assert!(known.contains(name), "{name} is no header of the contract");
        }
        let members: Vec<_> = event.as_object().into_iter().flatten().map(|(name, _)| name.as_str()).collect();
        assert_eq!(members, ["id", "type", "created_at", "data"]);
        assert_timestamp(&event["created_at"]);
        assert_eq!(event["data"]["id"], "call_00000000-0000-7000-8000-000000000000");
        // The record shows the attempt and the very bytes.
        let delivered = deliveries(&account, "", are("delivered", 1)).await.remove(0);
        let target = format!("/v1/webhooks/deliveries/{}", text(&delivered["id"]));
        let answer = account.get(&target).send().await;
        let story = answer.assert(200);
        let raw = String::from_utf8_lossy(&received.body).into_owned();
        assert!(answer.text().contains(&format!("\"payload\":{raw}")), "{}", answer.text());
        let expected = json!({
            "id": delivery["id"],
            "event_id": event["id"],
            "type": "call.completed",
            "status": "delivered",
            "attempts_count": 1,
            "next_attempt_at": null,
            "created_at": delivery["created_at"],
            "payload": event,
            "attempts": [{
                "id": attempt,
                "at": story["attempts"][0]["at"],
                "status_code": 200,
                "duration_ms": story["attempts"][0]["duration_ms"],
                "error": null,
                "response_snippet": "noted",
            }],
        });
        assert_eq!(story, expected);
        assert_timestamp(&story["attempts"][0]["at"]);
    }

    async fn every_type_can_be_tested(database: Database) {
        let server = Server::start(Options::on(database)).await;
        let account = server.account("scale").await;
        let receiver = Receiver::start().await;
        let (id, secret) = account.webhook(&receiver.url("/")).await;
        for kind in ["call.initiated", "call.completed", "call.failed"] {
            let test = json!({"type": kind});
            let delivery = account.post(&format!("/v1/webhooks/{id}/test"), test).send().await.assert(202);
            assert_eq!(delivery["type"], kind);
            assert!(["pending", "delivered"].contains(&text(&delivery["status"])), "{delivery}");
        }
        let received = receiver.count(3).await;
        assert!(received.iter().all(|one| is_signed_by(one, &secret)));
        let bodies = received.iter().map(|one| String::from_utf8_lossy(&one.body).into_owned());
        let catalog = account.read("/v1/webhooks/events").await;
        for body in bodies {
            let event: Value = offhook_tests::must("an event", serde_json::from_str(&body));
            let example = catalog["data"].as_array().into_iter().flatten().find(|item| item["type"] == event["type"]);
            let names = |value: &Value| -> Vec<String> {
                value["data"].as_object().into_iter().flatten().map(|(name, _)| name.clone()).collect()
            };
            assert_eq!(example.map(|item| names(&item["example"])), Some(names(&event)));
        }
    }

    async fn each_endpoint_gets_every_event_of_a_call_in_order(database: Database) {
        let server = Server::start(Options::on(database)).await;
        let account = server.account("scale").await;
        let receiver = Receiver::start().await;
        let secrets = [account.webhook(&receiver.url("/a")).await.1, account.webhook(&receiver.url("/b")).await.1];
        let agent = account.agent().await;
        let mut handles = Vec::new();
        for _ in 0..5 {
            handles.push(account.call(&agent, "+15005550001").await);
        }
        let received = receiver.count(20).await;
        for (path, secret) in ["/a", "/b"].iter().zip(&secrets) {
            for handle in &handles {
                let events: Vec<_> = received.iter().filter(|one| one.path == *path && one.call() == *handle).collect();
                let kinds: Vec<_> = events.iter().map(|one| one.kind()).collect();
                assert_eq!(kinds, ["call.initiated", "call.failed"]);
                assert!(events.iter().all(|one| is_signed_by(one, secret)));
            }
        }
        let ids: std::collections::HashSet<_> = received.iter().map(|one| one.header("x-service-delivery")).collect();
        assert_eq!(ids.len(), 20, "each attempt has its own id");
        let events: std::collections::HashSet<_> = received.iter().map(|one| one.header("x-service-event-id")).collect();
        assert_eq!(events.len(), 10, "an event has one id for all endpoints");
        let all = deliveries(&account, "", are("delivered", 20)).await;
        for delivery in &all {
            assert_eq!((&delivery["attempts_count"], &delivery["next_attempt_at"]), (&json!(1), &json!(null)));
        }
        // Filters.
        let failed = deliveries(&account, "&type=call.failed&status=delivered", |data| data.len() == 10).await;
        assert!(failed.iter().all(|delivery| delivery["type"] == "call.failed"));
        assert_eq!(account.read("/v1/webhooks/deliveries?status=exhausted").await["data"], json!([]));
        assert_eq!(account.read("/v1/webhooks/deliveries?to=2020-01-01").await["data"], json!([]));
        let from = text(&all[0]["created_at"]);
        assert_eq!(account.read(&format!("/v1/webhooks/deliveries?from={from}")).await["data"][0], all[0]);
        account.get("/v1/webhooks/deliveries?status=lost").send().await.assert_error(400, "invalid_query");
        let page = account.read("/v1/webhooks/deliveries?limit=19").await;
        let next = account.read(&format!("/v1/webhooks/deliveries?cursor={}", text(&page["next_cursor"]))).await;
        assert_eq!((next["data"].as_array().map(Vec::len), &next["has_more"]), (Some(1), &json!(false)));
        assert_eq!(next["data"][0], all[19]);
    }

    async fn a_delivery_that_fails_four_times_is_exhausted(database: Database) {
        let server = Server::start(Options::on(database)).await;
        let account = server.account("scale").await;
        let receiver = Receiver::scripted(|_, before| [500, 404, 302, 429, 200][before.min(4)]).await;
        let (id, secret) = account.webhook(&receiver.url("/")).await;
        account.post(&format!("/v1/webhooks/{id}/test"), "{}").send().await.assert(202);
        let received = receiver.count(4).await;
        for pair in received.windows(2) {
            let gap = pair[1].at - pair[0].at;
            assert!(gap >= Duration::from_secs(1), "never early: {gap:?}");
            assert!(gap < Duration::from_secs(4), "not late: {gap:?}");
            assert_eq!(pair[0].body, pair[1].body, "frozen");
            assert_eq!(pair[0].header("x-service-event-id"), pair[1].header("x-service-event-id"));
            assert_ne!(pair[0].header("x-service-delivery"), pair[1].header("x-service-delivery"));
        }
        assert!(received.iter().all(|one| is_signed_by(one, &secret)));
        let exhausted = deliveries(&account, "", are("exhausted", 1)).await.remove(0);
        assert_eq!((&exhausted["attempts_count"], &exhausted["next_attempt_at"]), (&json!(4), &json!(null)));
        let target = format!("/v1/webhooks/deliveries/{}", text(&exhausted["id"]));
        let story = account.read(&target).await;
        let codes: Vec<_> = story["attempts"].as_array().into_iter().flatten().map(|one| one["status_code"].clone()).collect();
        assert_eq!(codes, [500, 404, 302, 429].map(Value::from));
        // By hand it is made once more, and its success counts.
        let again = account.post(&format!("{target}/redeliver"), "{}").send().await.assert(202);
        assert_eq!(again["id"], exhausted["id"]);
        let received = receiver.count(5).await;
        assert_eq!(received[4].body, received[0].body);
        let delivered = deliveries(&account, "", are("delivered", 1)).await.remove(0);
        assert_eq!(delivered["id"], exhausted["id"]);
        assert_eq!(account.read(&target).await["attempts"].as_array().map(Vec::len), Some(5));
    }

    async fn a_receiver_that_comes_back_gets_the_event(database: Database) {
        let server = Server::start(Options::on(database)).await;
        let account = server.account("scale").await;
        let receiver = Receiver::scripted(|_, before| if before < 2 { 503 } else { 204 }).await;
        let (id, _) = account.webhook(&receiver.url("/")).await;
        account.post(&format!("/v1/webhooks/{id}/test"), "{}").send().await.assert(202);
        let retrying = deliveries(&account, "&status=retrying", |data| data.len() == 1).await.remove(0);
        assert_timestamp(&retrying["next_attempt_at"]);
        let delivered = deliveries(&account, "", are("delivered", 1)).await.remove(0);
        assert_eq!(delivered["attempts_count"], 3);
        assert_eq!(receiver.received().len(), 3);
    }

    async fn one_dead_endpoint_holds_up_no_other(database: Database) {
        let server = Server::start(Options::on(database)).await;
        let account = server.account("scale").await;
        let receiver = Receiver::start().await;
        // It accepts connections and never answers.
        let dead = offhook_tests::must("a listener", tokio::net::TcpListener::bind("127.0.0.1:0").await);
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
        let retrying = deliveries(&account, "&status=retrying", |data| !data.is_empty()).await.remove(0);
        let story = account.read(&format!("/v1/webhooks/deliveries/{}", text(&retrying["id"]))).await;
        assert_eq!(story["attempts"][0]["error"], "timeout", "{story}");
        assert_eq!(story["attempts"][0]["status_code"], json!(null), "{story}");
        let took = story["attempts"][0]["duration_ms"].as_i64().unwrap_or(0);
        assert!((9_900..12_000).contains(&took), "{took} ms");
    }

    async fn in_an_overlap_every_secret_signs(database: Database) {
        let server = Server::start(Options::on(database)).await;
        let account = server.account("scale").await;
        let receiver = Receiver::start().await;
        let (id, first) = account.webhook(&receiver.url("/")).await;
        let target = format!("/v1/webhooks/{id}");
        let test = async |count: usize| {
            account.post(&format!("{target}/test"), "{}").send().await.assert(202);
            receiver.count(count).await.remove(count - 1)
        };
        let rotated = account.post(&format!("{target}/rotate-secret"), r#"{"overlap_hours":1}"#);
        let rotated = rotated.send().await.assert(200);
        let second = text(&rotated["secret"]).to_owned();
        assert_ne!(first, second);
        assert!(second.starts_with(text(&rotated["secret_prefix"])));
        assert_eq!(account.read(&target).await.get("secret"), None);
        let both = test(1).await;
        assert!(is_signed_by(&both, &first) && is_signed_by(&both, &second));
        let header = both.header("x-service-signature").unwrap_or_default();
        assert_eq!(header.matches("v1=").count(), 2, "{header}");
        // The newest is the last one.
        let (time, signatures) = header.split_once(',').unwrap_or_default();
        let (old, new) = signatures.split_once(',').unwrap_or_default();
        let only = |signature: &str| {
            let headers = vec![("x-service-signature".to_owned(), format!("{time},{signature}"))];
            Received { headers, ..both.clone() }
        };
        assert!(is_signed_by(&only(old), &first) && is_signed_by(&only(new), &second));
        // Without an overlap the old ones end at once.
        let rotated = account.request("POST", &format!("{target}/rotate-secret")).send().await.assert(200);
        let third = text(&rotated["secret"]).to_owned();
        let one = test(2).await;
        assert!(is_signed_by(&one, &third) && !is_signed_by(&one, &second) && !is_signed_by(&one, &first));
        assert_eq!(one.header("x-service-signature").map(|header| header.matches("v1=").count()), Some(1));
    }

    async fn a_disabled_endpoint_gets_nothing(database: Database) {
        let server = Server::start(Options::on(database)).await;
        let account = server.account("scale").await;
        let receiver = Receiver::scripted(|one, _| if one.path == "/bad" { 500 } else { 200 }).await;
        let (id, _) = account.webhook(&receiver.url("/bad")).await;
        let (good, _) = account.webhook(&receiver.url("/good")).await;
        let target = format!("/v1/webhooks/{id}");
        account.post(&format!("{target}/test"), "{}").send().await.assert(202);
        let retrying = deliveries(&account, "", are("retrying", 1)).await.remove(0);
        account.patch(&target, r#"{"status":"disabled"}"#).send().await.assert(200);
        let cancelled = deliveries(&account, "", are("cancelled", 1)).await.remove(0);
        assert_eq!((&cancelled["id"], &cancelled["next_attempt_at"]), (&retrying["id"], &json!(null)));
        let since = retrying["created_at"].clone();
        for (action, body) in [("test", json!({})), ("recover", json!({"since": since}))] {
            account.post(&format!("{target}/{action}"), body).send().await.assert_error(409, "conflict");
        }
        let redeliver = format!("/v1/webhooks/deliveries/{}/redeliver", text(&retrying["id"]));
        account.post(&redeliver, "{}").send().await.assert_error(409, "conflict");
        let agent = account.agent().await;
        account.call(&agent, "+15005550001").await;
        receiver.wait("events at the other one", |all| all.iter().filter(|one| one.path == "/good").count() == 2).await;
        let bad = receiver.received().iter().filter(|one| one.path == "/bad" && one.kind() != "call.completed").count();
        assert_eq!(bad, 0);
        account.delete(&format!("/v1/webhooks/{good}")).send().await.assert(200);
        account.delete(&target).send().await.assert(200);
        account.post(&redeliver, "{}").send().await.assert_error(409, "conflict");
    }

    async fn recover_makes_missed_deliveries_again(database: Database) {
        let server = Server::start(Options::on(database).set("webhooks.retry_offsets", "100ms,100ms,100ms")).await;
        let account = server.account("scale").await;
        let down = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(true));
        let is_down = down.clone();
        let receiver = Receiver::scripted(move |_, _| {
            if is_down.load(std::sync::atomic::Ordering::SeqCst) { 500 } else { 200 }
        })
        .await;
        let (id, _) = account.webhook(&receiver.url("/")).await;
        let agent = account.agent().await;
        for _ in 0..3 {
            account.call(&agent, "+15005550001").await;
        }
        let exhausted = deliveries(&account, "", are("exhausted", 6)).await;
        let since = exhausted.iter().map(|delivery| text(&delivery["created_at"])).min().unwrap_or_default();
        down.store(false, std::sync::atomic::Ordering::SeqCst);
        let recovered = account.post(&format!("/v1/webhooks/{id}/recover"), json!({"since": since})).send().await;
        assert_eq!(recovered.assert(202), json!({"count": 6}));
        deliveries(&account, "", are("delivered", 6)).await;
        let again = account.post(&format!("/v1/webhooks/{id}/recover"), json!({"since": since})).send().await;
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
        account.post(&format!("/v1/webhooks/{id}/test"), "{}").send().await.assert(202);
        let retrying = deliveries(&account, "", |data| {
            data.iter().any(|one| one["attempts_count"] != 0 && one["status"] != "pending")
        });
        let story = account.read(&format!("/v1/webhooks/deliveries/{}", text(&retrying.await[0]["id"]))).await;
        let error = text(&story["attempts"][0]["error"]);
        assert!(["invalid_url", "blocked_address"].contains(&error), "{story}");
        assert_eq!(story["attempts"][0]["response_snippet"], json!(null));
        assert!(receiver.received().is_empty());
        assert!(!story["attempts"].to_string().contains("127.0.0.1"), "the customer never reads the address: {story}");
    }
}
