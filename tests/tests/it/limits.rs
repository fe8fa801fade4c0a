//! Rate limits from a client's view.

use offhook_tests::{Options, Server, both};

both! {
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
            request.await.status
        };
        for _ in 0..5 {
            assert_eq!(ask(&["198.51.100.7"]).await, 200);
        }
        // The rightmost untrusted address is the client, whatever stands left of it.
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
            .await;
        assert_eq!(preflight.status, 204);
        let line = logged(&server, preflight.header("x-request-id").unwrap_or_default());
        assert!(line.contains("method=OPTIONS status=204 path=\"/v1/calls\""), "{line}");
        let refused = loop {
            let target = "/v1/calls/call_15005550001?phone=15005550002";
            let answer = client.get(target).await;
            if answer.status == 429 {
                break answer;
            }
        };
        refused.assert_error(429, "rate_limit_exceeded");
        let line = logged(&server, refused.header("x-request-id").unwrap_or_default());
        assert!(line.contains("method=GET status=429 path=\"/v1/calls/{id}\""), "{line}");
        assert!(!server.log().contains("1500555000"), "{}", server.log());
    }
}

/// The one log line with this request's id.
fn logged(server: &Server, id: &str) -> String {
    let log = server.log();
    let lines: Vec<_> = log.lines().filter(|line| line.contains(id)).collect();
    assert_eq!(lines.len(), 1, "{id}: {log}");
    lines[0].to_owned()
}
