//! Rate limits as a client meets them (interface, Limits; decisions §4).

use std::time::{Duration, Instant};

use offhook_tests::{Answer, Options, Server, both, unix_seconds};
use serde_json::json;

fn assert_refused(answer: &Answer, at_most: i64) -> Duration {
    answer.assert_error(429, "rate_limit_exceeded");
    let seconds = answer.number("retry-after");
    assert!((1..=at_most).contains(&seconds), "{answer:?}");
    Duration::from_secs(u64::try_from(seconds).unwrap_or(0))
}

fn assert_no_account_headers(answer: &Answer) {
    for name in [
        "x-ratelimit-limit",
        "x-ratelimit-remaining",
        "x-ratelimit-reset",
    ] {
        assert_eq!(answer.header(name), None, "{answer:?}");
    }
}

both! {
    async fn an_account_bursts_its_bucket_and_then_waits_as_told(database: Database) {
        let server =
            Server::start(Options::on(database).set("plans.starter.requests_per_minute", 30)).await;
        let account = server.account("starter").await;
        let second = server.key(&account.id, &["--scopes", "all"]).await;
        let began = Instant::now();
        let mut admitted = 0;
        let refused = loop {
            // One bucket for all keys of the account.
            let client = if admitted % 2 == 0 { &account } else { &second };
            let answer = client.get("/v1/calls/call_x").send().await;
            assert_eq!(answer.number("x-ratelimit-limit"), 30);
            if answer.status == 429 {
                break answer;
            }
            answer.assert_error(404, "not_found");
            admitted += 1;
            assert!(admitted < 60, "the bucket has no bottom");
        };
        let refilled = began.elapsed().as_secs() / 2 + 1;
        assert!(
            admitted >= 30 && admitted <= 30 + refilled,
            "{admitted} admitted"
        );
        assert_eq!(refused.number("x-ratelimit-remaining"), 0);
        assert!(refused.number("x-ratelimit-reset") >= unix_seconds());
        let wait = assert_refused(&refused, 2);
        tokio::time::sleep(wait).await;
        assert_eq!(
            account.get("/v1/me").send().await.status,
            200,
            "a client that waits as told is admitted"
        );
        // Another account is not concerned.
        server.account("starter").await.read("/v1/me").await;
    }

    async fn an_address_has_300_requests_a_minute(database: Database) {
        let server = Server::start(Options::on(database).default_of("limits.ip_per_minute")).await;
        let client = server.client();
        let began = Instant::now();
        let mut admitted: u64 = 0;
        let refused = loop {
            // Without trusted proxies a header changes nothing.
            let forged = format!("203.0.113.{}", admitted % 250);
            let answer = client
                .get("/v1/models?limit=1")
                .header("X-Forwarded-For", forged)
                .send()
                .await;
            if answer.status == 429 {
                break answer;
            }
            answer.assert(200);
            admitted += 1;
            assert!(admitted < 1_000, "the bucket has no bottom");
        };
        let refilled = began.elapsed().as_millis() as u64 / 200 + 1;
        assert!(
            admitted >= 300 && admitted <= 300 + refilled,
            "{admitted} admitted, at most {refilled} refilled"
        );
        assert_no_account_headers(&refused);
        assert_refused(&refused, 1);
        // Unknown paths count as well; what is not under /v1 does not.
        client
            .get("/v1/nothing")
            .send()
            .await
            .assert_error(429, "rate_limit_exceeded");
        client.get("/healthz").send().await.assert(200);
        assert!(
            server.log().contains("trusted_proxies"),
            "the log names the setting"
        );
    }

    async fn placing_calls_has_its_own_window_of_ten_a_minute(database: Database) {
        let server =
            Server::start(Options::on(database).default_of("limits.call_ip_per_minute")).await;
        let account = server.account("scale").await;
        let agent = account.agent().await;
        let body = json!({"agent_id": agent, "to": "+15005550001"});
        loop {
            let minute = unix_seconds().div_euclid(60);
            let mut statuses = Vec::new();
            let mut last = None;
            for _ in 0..12 {
                let answer = account.post("/v1/calls", &body).send().await;
                statuses.push(answer.status);
                last = Some(answer);
            }
            let ends = (minute + 1) * 60;
            if unix_seconds() >= ends {
                // The window changed meanwhile: a fresh one follows.
                continue;
            }
            let expected: Vec<u16> = [[201; 10].as_slice(), &[429; 2]].concat();
            assert_eq!(statuses, expected);
            let Some(refused) = last else {
                panic!("no answer")
            };
            assert_no_account_headers(&refused);
            let wait = assert_refused(&refused, 60);
            let said = unix_seconds() + wait.as_secs() as i64;
            assert!(
                (ends..=ends + 1).contains(&said),
                "the next window begins at {ends}, not {said}"
            );
            // Other requests go on.
            account.read("/v1/calls?limit=1").await;
            return;
        }
    }

    async fn a_refused_request_takes_no_token_of_a_later_limit(database: Database) {
        let options = Options::on(database)
            .set("limits.call_ip_per_minute", 1)
            .set("plans.scale.requests_per_minute", 40);
        let server = Server::start(options).await;
        let account = server.account("scale").await;
        let agent = account.agent().await;
        let body = json!({"agent_id": agent, "to": "+15005550001"});
        loop {
            let minute = unix_seconds().div_euclid(60);
            let first = account.post("/v1/calls", &body).send().await;
            let before = if first.status == 201 {
                first.number("x-ratelimit-remaining")
            } else {
                0
            };
            let mut refused = 0;
            for _ in 0..10 {
                if account.post("/v1/calls", &body).send().await.status == 429 {
                    refused += 1;
                }
            }
            let after = account
                .get("/v1/me")
                .send()
                .await
                .number("x-ratelimit-remaining");
            if unix_seconds().div_euclid(60) == minute && first.status == 201 {
                assert_eq!(refused, 10);
                assert!(after >= before - 1, "{before} before, {after} after");
                return;
            }
            let next = (minute + 1) * 60 - unix_seconds();
            tokio::time::sleep(Duration::from_secs(u64::try_from(next).unwrap_or(0))).await;
        }
    }

    async fn behind_a_trusted_proxy_the_client_s_own_address_counts(database: Database) {
        let options = Options::on(database)
            .set("http.trusted_proxies", "127.0.0.0/8,10.0.0.0/8")
            .set("limits.ip_per_minute", 5);
        let server = Server::start(options).await;
        let client = server.client();
        let ask = async |forwarded: &[&str]| {
            let mut request = client.get("/v1/models?limit=1");
            for line in forwarded {
                request = request.header("X-Forwarded-For", line);
            }
            request.send().await.status
        };
        for _ in 0..5 {
            assert_eq!(ask(&["198.51.100.7"]).await, 200);
        }
        // The right-most address that is not trusted is the client, whatever stands left of it.
        assert_eq!(ask(&["198.51.100.7"]).await, 429);
        assert_eq!(ask(&["1.2.3.4, 198.51.100.7"]).await, 429);
        assert_eq!(ask(&["5.6.7.8, 198.51.100.7, 10.1.1.1"]).await, 429);
        assert_eq!(ask(&["9.9.9.9", "198.51.100.7"]).await, 429);
        assert_eq!(ask(&["198.51.100.8"]).await, 200);
        assert_eq!(ask(&["198.51.100.7, 198.51.100.9"]).await, 200);
        // IPv6 counts per /64.
        for last in 1..=5 {
            assert_eq!(ask(&[&format!("2001:db8:1:2::{last}")]).await, 200);
        }
        assert_eq!(ask(&["2001:db8:1:2:ffff::1"]).await, 429);
        assert_eq!(ask(&["2001:db8:1:3::1"]).await, 200);
    }

    async fn what_is_refused_by_address_is_in_the_log(database: Database) {
        let options = Options::on(database)
            .set("limits.ip_per_minute", 2)
            .set("http.cors_origins", "https://app.example.com");
        let server = Server::start(options).await;
        let client = server.client();
        let preflight = client
            .request("OPTIONS", "/v1/calls")
            .header("Origin", "https://app.example.com")
            .header("Access-Control-Request-Method", "POST")
            .send()
            .await;
        assert_eq!(preflight.status, 204);
        let line = logged(&server, preflight.header("x-request-id").unwrap_or_default());
        assert!(line.contains("method=OPTIONS status=204 path=\"/v1/calls\""), "{line}");
        let refused = loop {
            let target = "/v1/calls/call_15005550001?phone=15005550002";
            let answer = client.get(target).send().await;
            if answer.status == 429 {
                break answer;
            }
        };
        assert_refused(&refused, 60);
        let line = logged(&server, refused.header("x-request-id").unwrap_or_default());
        assert!(line.contains("method=GET status=429 path=\"/v1/calls/{id}\""), "{line}");
        assert!(!server.log().contains("1500555000"), "{}", server.log());
    }
}

/// The one line of the log that has this request's id.
fn logged(server: &Server, id: &str) -> String {
    let log = server.log();
    let lines: Vec<_> = log.lines().filter(|line| line.contains(id)).collect();
    assert_eq!(lines.len(), 1, "{id}: {log}");
    lines[0].to_owned()
}
