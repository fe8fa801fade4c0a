//! Rate limits.

use std::time::Duration;

use offhook_domain::{Clock, Plan};
use offhook_http::LimitSettings;

use crate::it::app::{CUSTOMER, Setup, TestApp};

async fn limited(ip_per_minute: u32, call_ip_per_minute: u32, plan: Plan) -> TestApp {
    TestApp::with(Setup {
        limits: LimitSettings {
            ip_per_minute,
            call_ip_per_minute,
            page_ip_per_minute: 3,
            trusted_proxies: vec![
                "127.0.0.0/8"
                    .parse()
                    .unwrap_or_else(|_| panic!("a network")),
            ],
            enabled: true,
        },
        plan,
        ..Setup::default()
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_that_asks_too_often_waits_as_told() {
    let app = limited(3, 10, Plan::Pro).await;
    // A 404 and a 401 count too; requests outside /v1 and OPTIONS do not.
    app.bare("GET", "/v1/nothing").await.assert(404);
    app.bare("GET", "/v1/me").await.assert(401);
    app.bare("GET", "/healthz").await.assert(200);
    app.bare("GET", "/nothing").await.assert(404);
    app.bare("OPTIONS", "/v1/me").await.assert(405);
    app.bare("GET", "/v1/models").await.assert(200);
    let refused = app.get("/v1/me").await;
    refused.assert_error(429, "rate_limit_exceeded");
    assert_eq!(refused.header("x-ratelimit-limit"), None);
    assert_eq!(refused.number("retry-after"), 20);
    let other = app.get("/v1/me").header("X-Forwarded-For", "203.0.113.7");
    other.await.assert(200);
    app.clock.advance(Duration::from_secs(20));
    app.read("/v1/me").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_part_of_the_interface_has_a_limit_of_its_own() {
    let app = limited(1_000, 10, Plan::Pro).await;
    let from = |path: &str, method| {
        app.bare(method, path)
            .header("X-Forwarded-For", "203.0.113.7")
    };
    for path in ["/readyz", "/docs", "/readyz"] {
        assert_ne!(from(path, "GET").await.status, 429, "{path}");
    }
    for (path, method) in [
        ("/docs", "GET"),
        ("/readyz", "GET"),
        ("/widget/v1/sessions", "POST"),
    ] {
        let refused = from(path, method).await;
        refused.assert_error(429, "rate_limit_exceeded");
        assert_eq!(refused.number("retry-after"), 20, "{path}");
    }
    // Not limited: the API, cheap routes, the proxy itself, and other addresses.
    from("/v1/models", "GET").await.assert(200);
    from("/healthz", "GET").await.assert(200);
    for _ in 0..5 {
        app.bare("GET", "/readyz").await.assert(200);
    }
    let other = app
        .bare("GET", "/readyz")
        .header("X-Forwarded-For", "203.0.113.8");
    other.await.assert(200);
    app.clock.advance(Duration::from_secs(20));
    from("/readyz", "GET").await.assert(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_that_no_provider_has_signed_are_counted_and_others_never() {
    let app = limited(1_000, 10, Plan::Pro).await;
    let path = format!("/callbacks/whatsapp/{}", offhook_domain::AccountId::nil());
    let sent = || {
        let sent = app
            .bare("POST", &path)
            .header("X-Forwarded-For", "203.0.113.7");
        sent.header("X-Hub-Signature-256", "sha256=00").body("{}")
    };
    // Beyond the limit only a few run at once, and a genuine one is still accepted.
    for _ in 0..10 {
        assert_eq!(sent().await.status, 403);
    }
    let at_once = futures_util::future::join_all((0..30).map(|_| async { sent().await.status }));
    let at_once = at_once.await;
    assert!(at_once.contains(&429), "{at_once:?}");
    // The address's page requests are counted separately.
    let seen = app
        .bare("GET", "/readyz")
        .header("X-Forwarded-For", "203.0.113.7");
    seen.await.assert(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_account_bucket_is_shared_and_speaks_in_every_later_answer() {
    let app = limited(1_000, 10, Plan::Starter).await;
    for remaining in (0..10).rev() {
        let answer = app.get("/v1/agents/x").await;
        answer.assert_error(404, "not_found");
        assert_eq!(answer.number("x-ratelimit-remaining"), remaining);
    }
    let refused = app.get("/v1/me").await;
    refused.assert_error(429, "rate_limit_exceeded");
    assert_eq!(refused.number("x-ratelimit-limit"), 10);
    assert_eq!(refused.number("x-ratelimit-remaining"), 0);
    assert_eq!(refused.number("retry-after"), 6);
    let reset = refused.number("x-ratelimit-reset");
    app.clock
        .set(offhook_domain::Timestamp::from_micros(reset * 1_000_000));
    app.read("/v1/me").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn placing_calls_has_a_window_of_its_own_that_no_spelling_escapes() {
    let app = limited(1_000, 2, Plan::Pro).await;
    for path in ["/v1/calls", "/v1/%63alls"] {
        let answer = app.post(path, "{}").await;
        answer.assert_error(400, "invalid_body");
    }
    for path in ["/v1/calls", "/v1/%63alls", "/v1/calls?x=1", "/%761/calls"] {
        let refused = app.post(path, "{}").await;
        refused.assert_error(429, "rate_limit_exceeded");
        // 18:32:11.123456: the next minute begins in 48.9 s.
        assert_eq!(refused.number("retry-after"), 49, "{path}");
        assert_eq!(refused.header("x-ratelimit-limit"), None);
    }
    app.read("/v1/calls").await;
    let elsewhere = app.post("/v1/calls", format!(r#"{{"to":"{CUSTOMER}"}}"#));
    let elsewhere = elsewhere.header("X-Forwarded-For", "2001:db8::1").await;
    elsewhere.assert_error(400, "invalid_body");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_refused_by_the_address_takes_no_token_of_the_account() {
    let app = limited(2, 10, Plan::Pro).await;
    app.read("/v1/me").await;
    app.read("/v1/me").await;
    for _ in 0..5 {
        app.get("/v1/me").await.assert(429);
    }
    let now = app.clock.now();
    let other = app.get("/v1/me").header("X-Forwarded-For", "203.0.113.9");
    let me = other.await.assert(200);
    assert_eq!(me["rate_limit"]["remaining"], 37);
    assert_eq!(app.clock.now(), now);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_whose_address_is_limited_is_told_so_and_not_kept_from_asking() {
    const PAGE: &str = "https://shop.example";
    const SESSIONS: &str = "/widget/v1/sessions";
    const VISITOR: &str = "203.0.113.7";
    let app = limited(3, 10, Plan::Pro).await;
    let preflight = |origin: Option<&'static str>| {
        let asked = app
            .bare("OPTIONS", SESSIONS)
            .header("X-Forwarded-For", VISITOR)
            .header("Access-Control-Request-Method", "POST")
            .header("Access-Control-Request-Headers", "content-type");
        match origin {
            Some(origin) => asked.header("Origin", origin),
            None => asked,
        }
    };
    // While there are tokens, the origin is looked up, which costs one.
    for _ in 0..3 {
        let refused = preflight(Some(PAGE)).await;
        refused.assert_error(403, "forbidden");
    }
    // Without tokens no origin is looked up: the request after the preflight is refused, readably for the page.
    for _ in 0..5 {
        let allowed = preflight(Some(PAGE)).await;
        assert_eq!((allowed.status, allowed.body.len()), (204, 0));
        for (header, value) in [
            ("access-control-allow-origin", PAGE),
            ("access-control-allow-methods", "GET, POST"),
            (
                "access-control-allow-headers",
                "Authorization, Content-Type",
            ),
            ("access-control-max-age", "0"),
            ("cache-control", "no-store"),
            ("vary", "Origin"),
        ] {
            assert_eq!(allowed.header(header), Some(value), "{header}");
        }
        let refused = app.bare("POST", SESSIONS).header("Origin", PAGE);
        let refused = refused.header("X-Forwarded-For", VISITOR).json("{}").await;
        refused.assert_error(429, "rate_limit_exceeded");
        assert_eq!(refused.header("access-control-allow-origin"), Some(PAGE));
        let exposed = refused.header("access-control-expose-headers");
        assert!(exposed.is_some_and(|names| names.contains("Retry-After")));
        assert_eq!(
            refused.number("retry-after"),
            20,
            "preflights put nothing off"
        );
    }
    // Requests that no browser sends are refused like all others.
    for nobody in [
        preflight(None),
        app.bare("OPTIONS", SESSIONS)
            .header("X-Forwarded-For", VISITOR)
            .header("Origin", PAGE),
    ] {
        nobody.await.assert_error(429, "rate_limit_exceeded");
    }
    app.clock.advance(Duration::from_secs(20));
    let refused = preflight(Some(PAGE)).await;
    refused.assert_error(403, "forbidden");
}
