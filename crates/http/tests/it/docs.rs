//! `/docs` and `/openapi.json`: complete, public, and from this server only.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read as _;

use flate2::read::GzDecoder;
use serde_json::Value;

use crate::it::app::{TestApp, text};
use crate::it::client::must;
use crate::it::contract::DOCUMENT;

/// The files of the reference, and one of the tags' pages.
const FILES: [&str; 8] = [
    "/docs",
    "/docs/calls",
    "/docs/reference.css",
    "/docs/search.js",
    "/docs/search-index.js",
    "/openapi.json",
    "/llms.txt",
    "/llms-full.txt",
];

/// Every operation of the document, with its path and method.
fn operations() -> impl Iterator<Item = (&'static str, String, &'static Value)> {
    let paths = DOCUMENT["paths"].as_object().into_iter().flatten();
    paths.flat_map(|(path, methods)| {
        let methods = methods.as_object().into_iter().flatten();
        methods.map(|(method, spec)| (path.as_str(), method.to_uppercase(), spec))
    })
}

/// The overview and every tag's page, by address.
async fn pages(app: &TestApp) -> BTreeMap<String, String> {
    let mut addresses = BTreeSet::from(["/docs".to_owned()]);
    addresses.extend(operations().map(|(_, _, spec)| format!("/docs/{}", text(&spec["tags"][0]))));
    let mut pages = BTreeMap::new();
    for address in addresses {
        let answer = app.bare("GET", &address).await;
        assert_eq!(answer.status, 200, "{address}");
        let expected = Some("text/html; charset=utf-8");
        assert_eq!(answer.header("content-type"), expected, "{address}");
        let policy = answer.header("content-security-policy").unwrap_or_default();
        assert!(
            policy.starts_with("default-src 'none'; script-src 'self'; style-src 'self';"),
            "{policy}"
        );
        assert!(!policy.contains("unsafe"), "{policy}");
        pages.insert(address, String::from_utf8_lossy(&answer.body).into_owned());
    }
    pages
}

/// The values of an attribute.
fn values<'a>(page: &'a str, attribute: &str) -> Vec<&'a str> {
    let before = format!(" {attribute}=\"");
    let parts = page.split(before.as_str()).skip(1);
    let values = parts.map(|part| part.split('"').next().unwrap_or_default());
    values.collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_operation_is_on_its_tag_s_page_alone_and_the_overview_leads_to_it() {
    let app = TestApp::start().await;
    let pages = pages(&app).await;
    let overview = &pages["/docs"];
    for (path, _, spec) in operations() {
        let id = text(&spec["operationId"]);
        let article = format!("<article id=\"{id}\">");
        let holders: Vec<_> = pages
            .iter()
            .filter(|(_, page)| page.contains(&article))
            .map(|(address, _)| address.as_str())
            .collect();
        let home = format!("/docs/{}", text(&spec["tags"][0]));
        assert_eq!(holders, [home.as_str()], "{id}");
        let page = &pages[&home];
        assert_eq!(page.matches(&article).count(), 1, "{id}");
        assert!(page.contains(&format!("<code>{path}</code>")), "{path}");
        for language in ["TypeScript", "Python"] {
            assert!(page.contains(language), "{home}: {language}");
        }
        // The item's id is the anchor that the operation had on a single page.
        let listed = format!("<li id=\"{id}\"><a href=\"{home}#{id}\">");
        assert!(overview.contains(&listed), "{id}");
        for (address, page) in &pages {
            let link = format!("href=\"{home}\"");
            assert!(page.contains(&link), "{address} leads to no {home}");
        }
    }
    let names = |pointer| DOCUMENT.pointer(pointer).and_then(Value::as_object);
    let codes = names("/components/examples").into_iter().flatten();
    let codes = codes.map(|(code, _)| ("/docs", format!("error-{code}")));
    let events = names("/webhooks").into_iter().flatten();
    let events = events.map(|(event, _)| ("/docs/webhooks", format!("event-{event}")));
    let topics = ["authentication", "pagination"].map(|id| ("/docs", id.to_owned()));
    for (page, id) in codes.chain(events).chain(topics) {
        assert!(values(&pages[page], "id").contains(&id.as_str()), "{id}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_link_and_result_of_the_search_has_its_target() {
    let app = TestApp::start().await;
    let pages = pages(&app).await;
    let check = |from: &str, target: &str| {
        let (page, id) = target.split_once('#').unwrap_or((target, ""));
        let page = if page.is_empty() { from } else { page };
        let Some(page) = pages.get(page) else {
            assert!(FILES.contains(&page), "{from}: {target}");
            return;
        };
        let has_target = id.is_empty() || values(page, "id").contains(&id);
        assert!(has_target, "{from}: {target}");
    };
    for (address, page) in &pages {
        for target in values(page, "href") {
            if !target.starts_with("data:") {
                check(address, target);
            }
        }
        let mut ids = BTreeSet::new();
        for id in values(page, "id") {
            assert!(ids.insert(id), "{address}: twice {id}");
        }
    }
    let script = app.bare("GET", "/docs/search-index.js").await;
    let script = String::from_utf8_lossy(&script.body).into_owned();
    let index = script.trim_start_matches("globalThis.referenceIndex = ");
    let index: Value = must(serde_json::from_str(index.trim_end_matches(";\n")));
    let entries = index.as_array().map(Vec::as_slice).unwrap_or_default();
    for entry in entries {
        check("the index", &text(&entry["address"]));
    }
    let finds = |word: &str, address: &str| {
        let found = entries
            .iter()
            .any(|entry| entry["address"] == address && text(&entry["words"]).contains(word));
        assert!(found, "{word}: {address}");
    };
    for (path, _, spec) in operations() {
        let address = format!(
            "/docs/{}#{}",
            text(&spec["tags"][0]),
            text(&spec["operationId"])
        );
        finds(path, &address);
        for parameter in spec["parameters"].as_array().into_iter().flatten() {
            finds(&text(&parameter["name"]).to_lowercase(), &address);
        }
    }
    // A word of a description, fields of a body and of a response, an error, an event, and a field of the configuration.
    for (word, address) in [
        ("dials", "/docs#retries"),
        ("idempotency-key", "/docs/calls#placeCall"),
        ("secret", "/docs/webhooks#createWebhook"),
        ("next_cursor", "/docs/calls#listCalls"),
        ("plan_limit", "/docs#error-plan_limit"),
        ("transcript_summary", "/docs/webhooks#event-call.completed"),
        ("hmac-sha256", "/docs/webhooks#signature"),
        ("llm.model", "/docs/agents#shape-AgentConfig"),
    ] {
        finds(word, address);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tag_that_does_not_exist_is_not_found() {
    let app = TestApp::start().await;
    for path in [
        "/docs/",
        "/docs/nothing",
        "/docs/Calls",
        "/docs/calls/",
        "/docs/calls/1",
    ] {
        let answer = app.bare("GET", path).await;
        answer.assert_error(404, "not_found");
        assert_eq!(app.bare("HEAD", path).await.status, 404, "{path}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_pages_need_nothing_but_their_own_server() {
    let app = TestApp::start().await;
    for (address, page) in pages(&app).await {
        assert_eq!(values(&page, "src"), ["/docs/search.js"], "{address}");
        for outside in ["href=\"//", "href=\"http", " style=", "<style", " onclick="] {
            assert!(!page.contains(outside), "{address}: {outside}");
        }
    }
    for file in ["/docs/reference.css", "/docs/search.js"] {
        let answer = app.bare("GET", file).await;
        let text = String::from_utf8_lossy(&answer.body).into_owned();
        for outside in ["http:", "https:", "url(", "@import", "fetch("] {
            assert!(!text.contains(outside), "{file}: {outside}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_files_are_read_only_and_sent_once() {
    let app = TestApp::start().await;
    for path in FILES {
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
}

#[tokio::test(flavor = "multi_thread")]
async fn the_files_are_compressed_for_whoever_accepts_it() {
    let app = TestApp::start().await;
    for path in FILES {
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
    for (path, method, spec) in operations() {
        let (tag, id) = (text(&spec["tags"][0]), text(&spec["operationId"]));
        let listed = format!("- [{method} {path}](/docs/{tag}#{id}): ");
        assert!(texts[0].contains(&listed), "{id}");
        let described = format!("\n### {method} {path}\n");
        assert!(texts[1].contains(&described), "{id}");
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
