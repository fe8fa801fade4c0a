//! Pages.

use serde_json::Value;

use crate::it::app::{CUSTOMER, TestApp, data, text};

fn ids(list: &Value) -> Vec<String> {
    let items = list["data"].as_array().into_iter().flatten();
    items.map(|item| text(&item["id"])).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cursor_is_good_for_its_list_and_filters_alone() {
    let app = TestApp::start().await;
    let agent = app.agent().await;
    for _ in 0..2 {
        app.call(&agent, CUSTOMER).await;
    }
    let page = app.read("/v1/calls?limit=1&status=unknown").await;
    let cursor = text(&page["next_cursor"]);
    let good = format!("/v1/calls?status=unknown&cursor={cursor}");
    assert_eq!(ids(&app.read(&good).await).len(), 1);
    let bad = [
        format!("/v1/calls?cursor={cursor}"),
        format!("/v1/calls?status=failed&cursor={cursor}"),
        format!("/v1/calls?status=unknown&channel=phone&cursor={cursor}"),
        format!("/v1/conversations?status=unknown&cursor={cursor}"),
        format!("/v1/agents?cursor={cursor}"),
        format!("/v1/calls?status=unknown&cursor={}", &cursor[1..]),
        "/v1/calls?cursor=x".to_owned(),
        "/v1/calls?cursor=".to_owned(),
        format!("/v1/calls?status=unknown&cursor={cursor}&cursor={cursor}"),
    ];
    for target in bad {
        let answer = app.get(&target).await;
        let message = answer.assert_error(400, "invalid_query");
        assert!(message.starts_with("`cursor`"), "{target}: {message}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_time_that_does_not_exist_is_no_day() {
    let app = TestApp::start().await;
    let faults = [
        ("from=2026-04-30T12:30:60Z", "`from`"),
        ("to=2026-04-30T00:00:60Z", "`to`"),
        ("from=2026-04-30T25:00Z", "`from`"),
        ("to=2026-04-30Tx", "`to`"),
        ("=1", "`query`: has a parameter without a name"),
    ];
    app.refuses_queries("/v1/calls", &faults).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn models_are_public_and_paged() {
    let app = TestApp::start().await;
    let answer = app.bare("GET", "/v1/models?limit=100").await;
    let all = answer.assert(200);
    assert_eq!(answer.header("x-ratelimit-limit"), None);
    assert_eq!(answer.header("cache-control"), None);
    let scripted = &all["data"][0];
    assert_eq!(scripted["id"], "scripted");
    assert_eq!(scripted["kind"], "llm");
    assert_eq!(scripted["provider"], "scripted");
    assert_eq!(scripted["model"], "scripted");
    assert_eq!(scripted["prices"][0]["plan"], "starter");
    assert_eq!(scripted["prices"][0]["credits_per_minute"], 0);
    assert_eq!(app.pages("/v1/models?limit=2").await, data(&all));
    let scripted = app
        .bare("GET", "/v1/models?kind=llm&provider=scripted")
        .await;
    assert_eq!(ids(&scripted.assert(200)), ["scripted"]);
    let bad = app.bare("GET", "/v1/models?kind=x").await;
    let message = bad.assert_error(400, "invalid_query");
    assert_eq!(message, "`kind`: must be `llm`, `stt` or `tts`");
}
