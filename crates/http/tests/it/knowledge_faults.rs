//! Documents that kill their readers, malicious searches, and the contents of published versions.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use offhook_domain::DocumentFault;
use offhook_egress::{GuardedClient, Policy};
use offhook_services::documents::{ExtractError, Extractor, Format, InProcess};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::it::app::{TestApp, text};
use crate::it::client::must;
use crate::it::knowledge::{DOCUMENTS, FOLDERS, SEARCH, agent, document, folder, read, reading};

/// Panics on every file that says so.
struct Mortal(Arc<AtomicUsize>);

#[async_trait]
impl Extractor for Mortal {
    async fn extract(&self, format: Format, content: Vec<u8>) -> Result<String, ExtractError> {
        if content.starts_with(b"die") {
            self.0.fetch_add(1, Ordering::SeqCst);
            return Err(ExtractError::Died(DocumentFault::Crashed));
        }
        InProcess.extract(format, content).await
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_ends_its_reader_does_so_three_times_and_no_other_waits_for_it() {
    let app = TestApp::start().await;
    let deaths = Arc::new(AtomicUsize::new(0));
    let client = must(GuardedClient::new(Policy::default()));
    let extractor = Arc::new(Mortal(deaths.clone()));
    let stop = CancellationToken::new();
    tokio::spawn(
        app.services
            .document_worker(extractor, client)
            .run(stop.clone()),
    );
    let body = json!({"name": "Deadly", "text": "die now"});
    let deadly = app.post(DOCUMENTS, body).await.assert(202);
    document(&app, "Good", "The pool opens at nine.").await;
    let failed = read(&app, &text(&deadly["id"])).await;
    assert_eq!(failed["status"], "failed");
    assert_eq!(failed["error"], DocumentFault::Crashed.to_string());
    assert_eq!(deaths.load(Ordering::SeqCst), 3);
    stop.cancel();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_whose_reading_ended_three_processes_is_given_up() {
    let app = TestApp::start().await;
    let body = json!({"name": "Deadly", "text": "x"});
    let deadly = app.post(DOCUMENTS, body).await.assert(202);
    let store = app.services.store();
    for tries in 1..=3 {
        // A process that dies keeps its claim until the next one takes it back.
        let now = app.services.clock().now();
        let claimed = must(store.claim_document(now).await);
        assert_eq!(claimed.map(|claimed| claimed.tries), Some(tries));
        must(store.release_documents().await);
    }
    app.read_documents();
    let failed = read(&app, &text(&deadly["id"])).await;
    let expected = "Reading the file ended its reader three times: save it anew, or send its text.";
    assert_eq!(failed["error"], expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_searched_for_is_never_a_pattern_or_a_statement() {
    let app = reading().await;
    document(&app, "100% (a+)+$ [x]_", "The pool opens at nine.").await;
    document(&app, "Plain", "Towels are free.").await;
    let listed = async |q: &str| {
        let q: String = q.bytes().map(|byte| format!("%{byte:02x}")).collect();
        let list = app.read(&format!("{DOCUMENTS}?q={q}")).await;
        list["data"].as_array().map_or(0, Vec::len)
    };
    for (q, count) in [
        ("%", 1),
        ("_", 1),
        ("(a+)+$", 1),
        ("[x]", 1),
        ("\\", 0),
        ("'", 0),
        ("' OR 1=1 --", 0),
        ("^(([a-z])+.)+[A-Z]([a-z])+$", 0),
        ("plain", 1),
    ] {
        assert_eq!(listed(q).await, count, "{q}");
    }
    let hostile = "(a+)+".repeat(40);
    assert_eq!(listed(&hostile).await, 0, "200 characters");
    for query in [
        "\"pool\" OR NEAR(pool, 2)*",
        "pool:* & !spa | (((",
        "' UNION SELECT * FROM api_keys --",
        "%_\\",
        &"(a+)+$".repeat(160),
        &"pool ".repeat(190),
        "\u{202e}pool\u{feff}",
    ] {
        let found = app.post(SEARCH, json!({"query": query})).await;
        let found = found.assert(200);
        for hit in found["data"].as_array().into_iter().flatten() {
            assert_eq!(hit["chunk"], "The pool opens at nine.", "{query}");
        }
    }
    let long = app.post(SEARCH, json!({"query": "x".repeat(1_001)})).await;
    let expected = "`query`: longer than 1000 characters";
    assert_eq!(long.assert_error(400, "invalid_body"), expected);
}

/// The agents that a deletion lists.
async fn affected(app: &TestApp, document: &str) -> Vec<String> {
    let target = format!("{DOCUMENTS}/{document}");
    let deleted = app.delete(&target).await.assert(200);
    let agents = deleted["agents_affected"].as_array().cloned();
    let agents = agents.unwrap_or_default();
    agents.iter().map(|agent| text(&agent["id"])).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_published_version_keeps_its_documents_through_publications_and_a_rollback() {
    let app = reading().await;
    let rooms = folder(&app, "Rooms").await;
    let put = async |name: &str, folder: Value| {
        let id = document(&app, name, "Text.").await;
        let target = format!("{DOCUMENTS}/{id}");
        let moved = json!({"folder_id": folder});
        app.patch(&target, moved).await.assert(200);
        id
    };
    let mut first = Vec::new();
    for name in ["a", "b", "c"] {
        first.push(put(name, json!(rooms)).await);
    }
    let knowledge = json!({"folder_ids": [rooms], "mode": "auto"});
    let agent = agent(&app, "You are Eva.", knowledge).await;
    let target = format!("/v1/agents/{agent}");
    let publish = async |version: i64| {
        let body = json!({"version": version});
        let path = format!("{target}/publish");
        app.post(&path, body).await.assert(200)
    };
    // A document that enters the folder later is not in the published version, however often it is published.
    let late = put("late", json!(rooms)).await;
    publish(1).await;
    let more = put("more", json!(rooms)).await;
    assert_eq!(affected(&app, &late).await, Vec::<String>::new());
    let expected = std::slice::from_ref(&agent);
    assert_eq!(affected(&app, &first[0]).await, expected);
    // A new version takes the folder's contents when it is first published.
    let change = json!({"config": {"llm": {"temperature": 0.5}}});
    app.patch(&target, change).await.assert(200);
    let later = app.request("PATCH", &format!("{DOCUMENTS}/{}", first[1]));
    later.json(json!({"folder_id": null})).await.assert(200);
    publish(2).await;
    assert_eq!(
        affected(&app, &first[1]).await,
        Vec::<String>::new(),
        "pinned by version 1 alone"
    );
    // The rollback restores version 1's documents, without the deleted ones.
    publish(1).await;
    assert_eq!(affected(&app, &more).await, Vec::<String>::new());
    assert_eq!(affected(&app, &first[2]).await, [agent]);
    let folder = app.read(&format!("{FOLDERS}/{rooms}")).await;
    assert_eq!(folder["documents_count"], 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_name_of_the_search_is_no_tools() {
    let app = TestApp::start().await;
    let tool = |name: &str| json!({"name": name, "description": "Looks.", "kind": "end_call"});
    let message = "`name`: `search_knowledge` is how models search an agent's documents \
                   (`config.knowledge_base.mode` `tool`): choose another name";
    let refused = app.post("/v1/agents/tools", tool("search_knowledge")).await;
    assert_eq!(refused.assert_error(400, "invalid_body"), message);
    let made = app.post("/v1/agents/tools", tool("search")).await;
    let made = made.assert(201);
    let target = format!("/v1/agents/tools/{}", text(&made["id"]));
    let rename = json!({"name": "search_knowledge"});
    let refused = app.patch(&target, rename).await;
    assert_eq!(refused.assert_error(400, "invalid_body"), message);
}
