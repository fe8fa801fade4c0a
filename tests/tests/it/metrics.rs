//! `/metrics`: what operators see, and what must stay private.

use std::net::SocketAddr;
use std::time::Duration;

use offhook_tests::{
    Address, Client, Database, Exposition, Options, Receiver, Server, both, eventually, exchange,
    must, text,
};
use serde_json::json;

const LIMIT: Duration = Duration::from_secs(20);

/// Labels whose values may be a bound, a route or a version. Other values must be plain words.
const WORDS: [&str; 3] = ["le", "route", "version"];

pub(crate) fn with_metrics(options: Options) -> Options {
    options.set("metrics.listen", "127.0.0.1:0")
}

pub(crate) async fn exposition(server: &Server) -> Exposition {
    let address = must(
        "an address",
        std::fs::read_to_string(server.data_dir().join("metrics-listen")),
    );
    let address: SocketAddr = must("an address", address.trim().parse());
    let answer = Client::new(Address::new(address)).get("/metrics").await;
    assert_eq!(answer.status, 200);
    assert_eq!(
        answer.header("content-type"),
        Some("application/openmetrics-text; version=1.0.0; charset=utf-8")
    );
    Exposition::read(&answer.text())
}

both! {
    async fn what_happens_is_counted_and_nobody_is_named(database: Database) {
        let options = with_metrics(Options::on(database)).set("limits.call_ip_per_minute", 3);
        let server = Server::start(options).await;
        let before = exposition(&server).await;
        let account = server.account("scale").await;
        let receiver = Receiver::scripted(|_, before| if before == 0 { 500 } else { 200 }).await;
        account.webhook(&receiver.url("/path-of-xochitl")).await;
        let agent = account.agent().await;
        let body = json!({"agent_id": agent, "to": "+5215512345678", "metadata": {"lead_name": "Xochitl"}});
        let placed = account.post("/v1/calls", body).await.assert(201);
        let handle = text(&placed["id"]).to_owned();
        account.ended(&handle).await;
        account.ended(&account.call(&agent, "+15005550003").await).await;
        for target in ["/v1/calls/+5215512345678", "/v1/+5215512345678", "/v1/agents/xochitl"] {
            account.get(target).await;
        }
        account.request("XOCHITL", "/v1/me").await;
        // The third call of the minute is placed, the fourth is refused.
        for status in [403, 429] {
            let answer = account
                .post("/v1/calls", json!({"agent_id": "xochitl", "to": "+5215512345678"}))
                .await;
            assert_eq!(answer.status, status);
        }
        receiver.count(4).await;
        let seen = eventually("figures of all that happened", LIMIT, || async {
            let seen = exposition(&server).await;
            let attempts = seen.sum("offhook_delivery_attempts_total", &[("outcome", "2xx")]);
            // Sampled every 15 s, the first time maybe before the database knows this process.
            let ready = seen.sum("offhook_ready", &[]);
            (attempts >= 4.0 && ready > 0.0).then_some(seen)
        })
        .await;
        let counted = |name: &str, labels: &[(&str, &str)]| {
            assert_eq!(before.sum(name, labels), 0.0, "{name}");
            seen.sum(name, labels)
        };
        let calls = [("method", "POST"), ("route", "/v1/calls")];
        let by = |status| [calls[0], calls[1], ("status", status)];
        assert_eq!(counted("offhook_http_requests_total", &by("2xx")), 2.0);
        assert_eq!(counted("offhook_http_requests_total", &by("4xx")), 1.0);
        assert_eq!(counted("offhook_http_request_duration_seconds_count", &calls), 3.0);
        let refused = [("limiter", "address_calls")];
        assert_eq!(counted("offhook_http_refusals_total", &refused), 1.0);
        assert_eq!(counted("offhook_calls_accepted_total", &[]), 2.0);
        let completed = [("status", "completed"), ("reason", "customer_hangup")];
        assert_eq!(counted("offhook_calls_ended_total", &completed), 1.0);
        let rejected = [("status", "failed"), ("reason", "rejected")];
        assert_eq!(counted("offhook_calls_ended_total", &rejected), 1.0);
        assert_eq!(counted("offhook_call_queue_duration_seconds_count", &[]), 2.0);
        assert_eq!(counted("offhook_dial_duration_seconds_count", &[]), 2.0);
        assert!(counted("offhook_turn_latency_seconds_count", &[]) >= 1.0);
        assert_eq!(counted("offhook_delivery_attempts_total", &[("outcome", "5xx")]), 1.0);
        assert!(seen.sum("offhook_db_unit_duration_seconds_count", &[("kind", "write")]) > 5.0);
        assert!(seen.sum("process_resident_memory_bytes", &[]) > 1e6);
        assert_eq!(seen.sum("offhook_build_info", &[]), 1.0);
        assert_eq!(seen.sum("offhook_ready", &[]), 1.0);

        let mut secrets = vec!["5215512345678".to_owned(), "xochitl".to_owned()];
        secrets.extend([account.id.clone(), account.key_id.clone(), agent, handle[5..].to_owned()]);
        secrets.push(account.token["service_live_".len()..][..8].to_owned());
        for sample in &seen.samples {
            for (label, value) in &sample.labels {
                let value = value.to_lowercase();
                for secret in &secrets {
                    assert!(!value.contains(secret.as_str()), "{sample:?}");
                }
                let is_word = value.bytes().all(|b| b.is_ascii_lowercase() || b == b'_');
                let is_class = matches!(value.as_str(), "2xx" | "3xx" | "4xx" | "5xx");
                let is_method = label == "method";
                assert!(
                    WORDS.contains(&label.as_str()) || is_word || is_class || is_method,
                    "{sample:?}"
                );
                if label == "route" {
                    assert!(value == "none" || value.starts_with('/'), "{sample:?}");
                    assert!(!value.contains('-') || value.contains("{id}") || value.starts_with("/v1/"), "{sample:?}");
                }
            }
        }
    }

    async fn the_public_listener_has_no_figures_and_the_other_one_nothing_else(database: Database) {
        let server = Server::start(with_metrics(Options::on(database))).await;
        server.client().get("/metrics").await.assert_error(404, "not_found");
        let address = must(
            "an address",
            std::fs::read_to_string(server.data_dir().join("metrics-listen")),
        );
        let address: SocketAddr = must("an address", address.trim().parse());
        let client = Client::new(Address::new(address));
        for target in ["/", "/healthz", "/metrics/x"] {
            assert_eq!(client.get(target).await.status, 404, "{target}");
        }
        // Sent by hand: the client would record the response as one of the API's.
        let request = b"GET /v1/me HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n";
        let answer = must("an answer", exchange(address, request).await);
        assert!(answer.starts_with(b"HTTP/1.1 404"), "{answer:?}");
        assert_eq!(client.post("/metrics", "{}").await.status, 405);
        let plain = Server::start(Options::on(Database::Sqlite)).await;
        assert!(!plain.data_dir().join("metrics-listen").exists());
    }
}
