//! The widget's static files, and the route that tells it what it may do.

use serde_json::json;

use crate::it::app::{TestApp, text};

const PAGE: &str = "https://shop.example";
const FILES: [&str; 2] = ["/widget/v1/offhook.js", "/widget/v1/offhook-audio.js"];

/// The largest size of the widget over the wire, with everything that it loads (docs/guides/widget.md).
const MOST_BYTES: usize = 30 * 1024;

#[tokio::test]
async fn the_widget_is_everybodys_and_is_asked_for_anew_each_time() {
    let app = TestApp::start().await;
    for file in FILES {
        let answer = app.bare("GET", file).await;
        assert_eq!(answer.status, 200);
        for (header, value) in [
            ("content-type", "text/javascript; charset=utf-8"),
            ("cache-control", "public, no-cache"),
            ("access-control-allow-origin", "*"),
            ("cross-origin-resource-policy", "cross-origin"),
            ("x-content-type-options", "nosniff"),
        ] {
            assert_eq!(answer.header(header), Some(value), "{file}");
        }
        assert_eq!(answer.header("vary"), Some("Accept-Encoding"));
        let tag = answer.header("etag").unwrap().to_owned();
        let again = app.bare("GET", file).header("If-None-Match", &tag);
        let again = again.await;
        assert_eq!((again.status, again.body.len()), (304, 0));
        assert_eq!(again.header("access-control-allow-origin"), Some("*"));
    }
}

/// Right-to-left text is laid out as such: the panel's heading, the button's label, each line of a conversation with
/// the name before it, and the text being typed.
#[tokio::test]
async fn what_others_wrote_is_laid_out_as_it_is_read() {
    let app = TestApp::start().await;
    let answer = app.bare("GET", FILES[0]).await;
    let source = String::from_utf8(answer.body.clone()).unwrap();
    for element in [
        r#"element("h2", { id: "title", dir: "auto", "#,
        r#"element("span", { dir: "auto", text: given.label })"#,
        r#"element("div", { class: `said ${role}`, dir: "auto" }"#,
        r#"element("span", { class: "whose", dir: "auto", "#,
    ] {
        assert!(source.contains(element), "{element}");
    }
    let (_, input) = source.split_once(r#"element("textarea", {"#).unwrap();
    let (input, _) = input.split_once("});").unwrap();
    assert!(input.contains(r#"dir: "auto""#), "{input}");
    // Their own direction would separate the words from their line's.
    assert!(source.contains(r#"const words = element("span", { text });"#));
}

#[tokio::test]
async fn the_widget_is_small_and_lets_no_text_be_read_as_markup_or_code() {
    let app = TestApp::start().await;
    let mut bytes = 0;
    for file in FILES {
        let answer = app.bare("GET", file).await;
        let source = String::from_utf8(answer.body.clone()).unwrap();
        let gzipped = app.bare("GET", file).header("Accept-Encoding", "gzip");
        let gzipped = gzipped.await;
        assert_eq!(gzipped.header("content-encoding"), Some("gzip"), "{file}");
        assert_eq!(gzipped.header("access-control-allow-origin"), Some("*"));
        bytes += gzipped.body.len();
        for forbidden in [
            "innerHTML",
            "outerHTML",
            "insertAdjacentHTML",
            "document.write",
            "DOMParser",
            "createContextualFragment",
            "srcdoc",
            "eval(",
            "new Function",
            "document.cookie",
            "localStorage",
            "setAttribute(\"style\"",
            ".cssText",
            "blob:",
        ] {
            assert!(!source.contains(forbidden), "{file}: {forbidden}");
        }
        // The widget only loads from its own host; the one other address is an XML namespace.
        let names = source.replace("http://www.w3.org/2000/svg", "");
        let names = names.replace("https://HOST/widget", "");
        assert!(
            !names.contains("https://") && !names.contains("http://"),
            "{file}"
        );
    }
    assert!(bytes < MOST_BYTES, "{bytes} bytes");
}

#[tokio::test]
async fn the_door_tells_pages_of_the_widget_alone_what_it_may_do() {
    let app = TestApp::start().await;
    let agent = app.agent().await;
    let door = format!("/widget/v1/agents/{agent}");
    let ask =
        async |origin: &str, target: &str| app.bare("GET", target).header("Origin", origin).await;
    // No widget names the origin yet, so no page learns that the agent exists.
    ask(PAGE, &door).await.assert_error(403, "forbidden");
    let other = app.agent().await;
    for (id, page) in [(&agent, PAGE), (&other, "https://other.example")] {
        let settings = json!({"enabled": true, "allowed_origins": [page]});
        let set = app.request("PUT", &format!("/v1/agents/{id}/widget"));
        set.json(settings).await.assert(200);
    }
    let answer = ask(PAGE, &door).await;
    assert_eq!(answer.header("access-control-allow-origin"), Some(PAGE));
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    let body = answer.assert(200);
    let expected = json!({"name": text(&body["name"]), "chat": true, "voice": false});
    assert_eq!(body, expected);
    for forged in [
        "https://shop.example.evil.example",
        "https://other.example",
        "null",
        "https://SHOP.example",
    ] {
        ask(forged, &door).await.assert_error(403, "forbidden");
    }
    app.bare("GET", &door).await.assert_error(403, "forbidden");
    let answer = ask(PAGE, "/widget/v1/agents/nobody").await;
    answer.assert_error(404, "not_found");
    let set = app.request("PUT", &format!("/v1/agents/{other}/widget"));
    set.json(json!({"enabled": false, "allowed_origins": [PAGE]}))
        .await
        .assert(200);
    let answer = ask(PAGE, &format!("/widget/v1/agents/{other}")).await;
    answer.assert_error(404, "not_found");
    app.patch(&format!("/v1/agents/{agent}"), json!({"status": "paused"}))
        .await
        .assert(200);
    ask(PAGE, &door).await.assert_error(403, "agent_disabled");
}

/// docs/guides/widget.md: pages whose origin some enabled widget names get 404; others cannot read the refusal.
#[tokio::test]
async fn a_widget_that_is_off_is_not_found_by_pages_of_other_widgets_alone() {
    let app = TestApp::start().await;
    let (off, other) = (app.agent().await, app.agent().await);
    let set = async |agent: &str, enabled: bool| {
        let set = app.request("PUT", &format!("/v1/agents/{agent}/widget"));
        let settings = json!({"enabled": enabled, "allowed_origins": [PAGE]});
        set.json(settings).await.assert(200);
    };
    let ask = async || {
        let door = app.bare("GET", &format!("/widget/v1/agents/{off}"));
        let answer = door.header("Origin", PAGE).await;
        let readable = answer.header("access-control-allow-origin").is_some();
        (answer, readable)
    };
    set(&off, false).await;
    let (answer, readable) = ask().await;
    answer.assert_error(403, "forbidden");
    assert!(!readable);
    set(&other, true).await;
    let (answer, readable) = ask().await;
    answer.assert_error(404, "not_found");
    assert!(readable);
}
