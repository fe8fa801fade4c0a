//! `/docs` and `/openapi.json`: complete, public, and from this server only.

use std::io::Read as _;

use flate2::read::GzDecoder;

use crate::it::app::{TestApp, text};
use crate::it::client::must;
use crate::it::contract::DOCUMENT;

const PAGE: &str = "/docs";

#[tokio::test(flavor = "multi_thread")]
async fn the_page_tells_every_operation_error_and_event() {
    let app = TestApp::start().await;
    let answer = app.bare("GET", PAGE).await;
    assert_eq!(answer.status, 200);
    let expected = Some("text/html; charset=utf-8");
    assert_eq!(answer.header("content-type"), expected);
    let page = String::from_utf8_lossy(&answer.body).into_owned();
    let paths = DOCUMENT["paths"].as_object();
    for (path, methods) in paths.into_iter().flatten() {
        for operation in methods
            .as_object()
            .into_iter()
            .flatten()
            .map(|(_, told)| told)
        {
            let id = text(&operation["operationId"]);
            assert!(page.contains(&format!("<article id=\"{id}\">")), "{id}");
            assert!(page.contains(&format!("href=\"#{id}\"")), "{id}");
        }
        assert!(page.contains(&format!("<code>{path}</code>")), "{path}");
    }
    let codes = DOCUMENT["components"]["examples"].as_object();
    for (code, _) in codes.into_iter().flatten() {
        assert!(page.contains(&format!("id=\"error-{code}\"")), "{code}");
    }
    for (event, _) in DOCUMENT["webhooks"].as_object().into_iter().flatten() {
        assert!(page.contains(&format!("id=\"event-{event}\"")), "{event}");
    }
    // Every link within the page has a target.
    for target in page.split("href=\"#").skip(1) {
        let id = target.split('"').next().unwrap_or_default();
        assert!(page.contains(&format!("id=\"{id}\"")), "#{id}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_page_needs_nothing_but_its_own_server() {
    let app = TestApp::start().await;
    let answer = app.bare("GET", PAGE).await;
    let policy = answer.header("content-security-policy").unwrap_or_default();
    assert!(
        policy.starts_with("default-src 'none'; script-src 'self'; style-src 'self';"),
        "{policy}"
    );
    assert!(!policy.contains("unsafe"), "{policy}");
    let page = String::from_utf8_lossy(&answer.body).into_owned();
    let mut files = Vec::new();
    for attribute in ["src=\"", "href=\""] {
        for target in page.split(attribute).skip(1) {
            let target = target.split('"').next().unwrap_or_default();
            assert!(!target.contains("//"), "{target}");
            if !target.starts_with('#') && target != "data:," {
                files.push(target.to_owned());
            }
        }
    }
    files.sort();
    files.dedup();
    let expected = ["docs/reference.css", "docs/reference.js", "openapi.json"];
    assert_eq!(files, expected);
    assert!(!page.contains(" style=") && !page.contains("<style") && !page.contains(" onclick="));
    for file in files {
        let answer = app.bare("GET", &format!("/{file}")).await;
        assert_eq!(answer.status, 200, "{file}");
        let text = String::from_utf8_lossy(&answer.body).into_owned();
        if file != "openapi.json" {
            for outside in ["http:", "https:", "url(", "@import", "fetch("] {
                assert!(!text.contains(outside), "{file}: {outside}");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_files_are_read_only_and_sent_once() {
    let app = TestApp::start().await;
    for path in [
        PAGE,
        "/openapi.json",
        "/llms.txt",
        "/llms-full.txt",
        "/docs/reference.css",
        "/docs/reference.js",
    ] {
        let whole = app.bare("GET", path).await;
        let tag = whole.header("etag").unwrap_or_default().to_owned();
        assert_eq!(
            (tag.len(), whole.header("cache-control")),
            (34, Some("no-cache")),
            "{path}"
        );
        let head = app.bare("HEAD", path).await;
        assert_eq!((head.status, head.body.len()), (200, 0), "{path}");
        assert_eq!(
            usize::try_from(head.number("content-length")),
            Ok(whole.body.len()),
            "{path}"
        );
        for known in [
            tag.clone(),
            format!("W/{tag}"),
            format!("\"x\", {tag}"),
            "*".to_owned(),
        ] {
            let again = app.bare("GET", path).header("If-None-Match", &known);
            let again = again.await;
            assert_eq!((again.status, again.body.len()), (304, 0), "{path} {known}");
            assert_eq!(again.header("etag"), Some(tag.as_str()));
        }
        let other = app.bare("GET", path).header("If-None-Match", "\"x\"");
        assert_eq!(other.await.status, 200, "{path}");
        let post = app.bare("POST", path).json("{}").await;
        let message = post.assert_error(405, "method_not_allowed");
        assert!(message.contains("GET, HEAD"), "{message}");
        assert_eq!(post.header("allow"), Some("GET, HEAD"));
    }
    let answer = app.bare("GET", "/docs/").await;
    answer.assert_error(404, "not_found");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_files_are_compressed_for_whoever_accepts_it() {
    let app = TestApp::start().await;
    for path in [
        PAGE,
        "/openapi.json",
        "/llms.txt",
        "/llms-full.txt",
        "/docs/reference.css",
        "/docs/reference.js",
    ] {
        let ask = async |method, headers: &[(&str, &str)]| {
            let request = app.bare(method, path);
            let request = headers.iter().fold(request, |request, (name, value)| {
                request.header(name, value)
            });
            request.await
        };
        let gzip = ("Accept-Encoding", "br, gzip;q=0.5");
        let whole = ask("GET", &[]).await;
        let gzipped = ask("GET", &[gzip]).await;
        assert_eq!(gzipped.header("content-encoding"), Some("gzip"), "{path}");
        let mut bytes = Vec::new();
        must(GzDecoder::new(&gzipped.body[..]).read_to_end(&mut bytes));
        assert_eq!(bytes, whole.body, "{path}");
        assert!(gzipped.body.len() < whole.body.len(), "{path}");
        let tags = [&whole, &gzipped].map(|answer| {
            assert_eq!(answer.header("vary"), Some("Accept-Encoding"), "{path}");
            answer.header("etag").unwrap_or_default()
        });
        assert_ne!(tags[0], tags[1], "{path}");

        let head = ask("HEAD", &[gzip]).await;
        assert_eq!((head.status, head.body.len()), (200, 0), "{path}");
        let length = usize::try_from(head.number("content-length"));
        assert_eq!(length, Ok(gzipped.body.len()), "{path}");
        let again = ask("GET", &[gzip, ("If-None-Match", tags[1])]).await;
        assert_eq!((again.status, again.body.len()), (304, 0), "{path}");
        assert_eq!(again.header("etag"), Some(tags[1]), "{path}");
        assert_eq!(again.header("vary"), Some("Accept-Encoding"), "{path}");
        let other = ask("GET", &[gzip, ("If-None-Match", tags[0])]).await;
        assert_eq!(other.status, 200, "{path}");

        let refused = ask("GET", &[("Accept-Encoding", "gzip;q=0, *")]).await;
        assert_eq!(refused.header("content-encoding"), None, "{path}");
        assert_eq!(refused.body, whole.body, "{path}");
    }
    // A response that differs between callers is never compressed.
    let models = app.get("/v1/models").header("Accept-Encoding", "gzip");
    let models = models.await;
    models.assert(200);
    assert_eq!(models.header("content-encoding"), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn language_models_get_every_operation_as_text() {
    let app = TestApp::start().await;
    let mut texts = Vec::new();
    for path in ["/llms.txt", "/llms-full.txt"] {
        let answer = app.bare("GET", path).await;
        assert_eq!(answer.status, 200);
        assert_eq!(
            answer.header("content-type"),
            Some("text/plain; charset=utf-8")
        );
        let text = String::from_utf8_lossy(&answer.body).into_owned();
        assert!(text.starts_with("# Offhook API\n\n> "), "{text}");
        texts.push(text);
    }
    for (path, methods) in DOCUMENT["paths"].as_object().into_iter().flatten() {
        for (method, told) in methods.as_object().into_iter().flatten() {
            let (method, id) = (method.to_uppercase(), text(&told["operationId"]));
            assert!(
                texts[0].contains(&format!("- [{method} {path}](/docs#{id}): ")),
                "{id}"
            );
            assert!(
                texts[1].contains(&format!("\n### {method} {path}\n")),
                "{id}"
            );
        }
    }
    for part in [
        "\n## Errors\n",
        "\n## Webhook events\n",
        "\n## AgentConfig\n",
        "Retry-After",
    ] {
        assert!(texts[1].contains(part), "{part}");
    }
    // Nothing of the page's markup.
    for tag in ["<code", "</", "&quot;", "<p>"] {
        assert!(!texts[1].contains(tag), "{tag}");
    }
}
