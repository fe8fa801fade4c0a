//! Deliveries: their contents and signatures.

use std::time::Duration;

use offhook_signing::{DEFAULT_TOLERANCE_SECONDS, SigningSecret, verify};
use offhook_tests::{Account, Received, Receiver, Server, both, eventually, text, unix_seconds};
use serde_json::{Value, json};

use crate::calls::assert_timestamp;

pub(crate) fn is_signed_by(received: &Received, secret: &str) -> bool {
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

/// The account's deliveries, once they satisfy `enough`.
pub(crate) async fn deliveries(
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

pub(crate) fn are(status: &str, count: usize) -> impl Fn(&[Value]) -> bool {
    move |data| {
        data.iter()
            .filter(|delivery| delivery["status"] == status)
            .count()
            == count
    }
}

both! {
    async fn a_delivery_carries_exactly_the_headers_of_the_contract(database: Database) {
        let (_server, account) = Server::furnished(database).await;
        let receiver = Receiver::start().await;
        let (id, secret) = account.webhook(&receiver.url("/hooks?x=1")).await;
        let delivery = account.post(&format!("/v1/webhooks/{id}/test"), "{}").await;
        let delivery = delivery.assert(202);
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
        let time: i64 = time
            .strip_prefix("t=")
            .and_then(|time| time.parse().ok())
            .unwrap_or_default();
        assert!((unix_seconds() - time).abs() < 10, "{signature}");
        assert!(
            signed.len() == 64 && signed.bytes().all(|byte| byte.is_ascii_hexdigit()),
            "{signature}"
        );
        assert!(is_signed_by(&received, &secret));
        let names: Vec<_> = received.headers.iter().map(|(name, _)| name.as_str()).collect();
        for name in &names {
            let known = [
                "content-type",
                "user-agent",
                "x-service-signature",
                "x-service-event",
                "x-service-event-id",
                "x-service-delivery",
                "host",
                "content-length",
                "accept",
            ];
            assert!(known.contains(name), "{name} is no header of the contract");
        }
        let members: Vec<_> = event
            .as_object()
            .into_iter()
            .flatten()
            .map(|(name, _)| name.as_str())
            .collect();
        assert_eq!(members, ["id", "type", "created_at", "data"]);
        assert_timestamp(&event["created_at"]);
        let expected = "call_00000000-0000-7000-8000-000000000000";
        assert_eq!(event["data"]["id"], expected);
        // The record shows the attempt and the exact bytes.
        let delivered = deliveries(&account, "", are("delivered", 1)).await.remove(0);
        let target = format!("/v1/webhooks/deliveries/{}", text(&delivered["id"]));
        let answer = account.get(&target).await;
        let story = answer.assert(200);
        let raw = String::from_utf8_lossy(&received.body).into_owned();
        assert!(answer.text().contains(&format!("\"payload\":{raw}")), "{}", answer.text());
        let expected = json!({
            "id": delivery["id"],
            "webhook_id": delivery["webhook_id"],
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

    async fn each_endpoint_gets_every_event_of_a_call_in_order(database: Database) {
        let (_server, account) = Server::furnished(database).await;
        let receiver = Receiver::start().await;
        let secrets = [
            account.webhook(&receiver.url("/a")).await.1,
            account.webhook(&receiver.url("/b")).await.1,
        ];
        let agent = account.agent().await;
        let mut handles = Vec::new();
        for _ in 0..5 {
            handles.push(account.call(&agent, "+15005550001").await);
        }
        let received = receiver.count(20).await;
        for (path, secret) in ["/a", "/b"].iter().zip(&secrets) {
            for handle in &handles {
                let events: Vec<_> = received
                    .iter()
                    .filter(|one| one.path == *path && one.call() == *handle)
                    .collect();
                let kinds: Vec<_> = events.iter().map(|one| one.kind()).collect();
                assert_eq!(kinds, ["call.initiated", "call.failed"]);
                assert!(events.iter().all(|one| is_signed_by(one, secret)));
            }
        }
        let ids: std::collections::HashSet<_> = received
            .iter()
            .map(|one| one.header("x-service-delivery"))
            .collect();
        assert_eq!(ids.len(), 20, "each attempt has its own id");
        let events: std::collections::HashSet<_> = received
            .iter()
            .map(|one| one.header("x-service-event-id"))
            .collect();
        assert_eq!(events.len(), 10, "an event has one id for all endpoints");
        let all = deliveries(&account, "", are("delivered", 20)).await;
        for delivery in &all {
            assert_eq!(delivery["attempts_count"], 1);
            assert_eq!(delivery["next_attempt_at"], json!(null));
        }
    }
}
