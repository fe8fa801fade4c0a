//! Documents found by meaning: the binary's worker embeds passages with a service of the operator.

use std::time::Duration;

use offhook_tests::{Account, Database, EmbeddingsServer, Options, Server, both, eventually, text};
use serde_json::{Value, json};

const LIMIT: Duration = Duration::from_secs(60);

fn options(database: Database, embeddings: &EmbeddingsServer) -> Options {
    Options::on(database)
        .set("knowledge.embeddings.base_url", &embeddings.base_url)
        .set("knowledge.embeddings.model", "small")
        .set("knowledge.embeddings.api_key", "sk-secret")
}

/// Sends a text and waits until it is ready.
async fn document(account: &Account, name: &str, content: &str) -> Value {
    let body = json!({"name": name, "text": content});
    let made = account.post("/v1/knowledge/documents", body).await;
    let target = format!("/v1/knowledge/documents/{}", text(&made.assert(202)["id"]));
    eventually("a document", LIMIT, || async {
        let document = account.read(&target).await;
        (document["status"] == "ready").then_some(document)
    })
    .await
}

/// Waits until this many documents are embedded and none waits.
async fn embedded(server: &Server, model: &str, documents: i64) {
    let done = json!({"model": model, "embedded": documents, "waiting": 0, "given_up": []});
    eventually("embeddings", LIMIT, || async {
        (server.cli(&["knowledge", "status"]).await == done).then_some(())
    })
    .await;
}

/// The names of the found documents, best first.
async fn found(account: &Account, query: &str) -> Vec<String> {
    let search = account.post("/v1/knowledge/search", json!({"query": query, "top_k": 1}));
    let found = search.await.assert(200);
    let hits = found["data"].as_array().into_iter().flatten();
    hits.map(|hit| text(&hit["document_name"]).to_owned())
        .collect()
}

/// Waits until a query finds this document: the worker pauses for some seconds after a failure of the service.
async fn finds(account: &Account, query: &str, name: &str) {
    eventually("a passage", LIMIT, || async {
        (found(account, query).await == [name]).then_some(())
    })
    .await;
}

both! {
    async fn a_question_that_shares_no_word_finds_the_passage(database: Database) {
        let service = EmbeddingsServer::start().await;
        let server = Server::start(options(database, &service)).await;
        let account = server.account("scale").await;
        let long = "The pool opens at nine in the morning and closes late. ".repeat(700);
        let pool = document(&account, "Pool", &long).await;
        document(&account, "Menu", "Breakfast is served until ten.").await;
        embedded(&server, "small", 2).await;
        let mut inputs = Vec::new();
        for (credential, body) in service.requests() {
            assert_eq!(credential.as_deref(), Some("Bearer sk-secret"));
            assert_eq!((&body["model"], &body["encoding_format"]), (&json!("small"), &json!("float")));
            let input = body["input"].as_array().cloned().unwrap_or_default();
            assert!((1..=32).contains(&input.len()), "{}", input.len());
            inputs.extend(input);
        }
        let passages = pool["chunks_count"].as_u64().unwrap_or_default() + 1;
        assert_eq!(inputs.len() as u64, passages, "each passage once");
        assert!(passages > 33, "in more than one request");

        finds(&account, "I am hungry!", "Menu").await;
        finds(&account, "May one swim?", "Pool").await;
        assert_eq!(found(&account, "What is served?").await, ["Menu"], "by its words");
        eventually("what is first in both orders", LIMIT, || async {
            let search = account.post("/v1/knowledge/search", json!({"query": "Breakfast, please"}));
            let best = search.await.assert(200)["data"][0].clone();
            assert_eq!(best["document_name"], "Menu");
            (best["score"] == 0.032787).then_some(())
        })
        .await;
        let named = json!({"query": "I am hungry!", "doc_ids": [pool["id"]]});
        let named = account.post("/v1/knowledge/search", named).await.assert(200);
        assert_eq!(named["data"], json!([]), "nothing alike in what is named");
        let other = server.account("scale").await;
        assert_eq!(found(&other, "I am hungry!").await, Vec::<String>::new());

        let target = format!("/v1/knowledge/documents/{}", text(&pool["id"]));
        account.delete(&target).await.assert(200);
        embedded(&server, "small", 1).await;
        assert_eq!(found(&account, "May one swim?").await, Vec::<String>::new());
    }

    async fn without_the_service_words_find_and_embeddings_are_made_up_later(database: Database) {
        let service = EmbeddingsServer::start().await;
        service.fail("small");
        let server = Server::start(options(database, &service)).await;
        let account = server.account("scale").await;
        document(&account, "Pool", "The pool opens at nine.").await;
        let status = server.cli(&["knowledge", "status"]).await;
        assert_eq!(status, json!({"model": "small", "embedded": 0, "waiting": 1, "given_up": []}));
        assert_eq!(found(&account, "The pool?").await, ["Pool"]);
        assert_eq!(found(&account, "May one swim?").await, Vec::<String>::new());
        service.recover();
        embedded(&server, "small", 1).await;
        finds(&account, "May one swim?", "Pool").await;
        service.fail("small");
        assert_eq!(found(&account, "The pool?").await, ["Pool"]);
        let log = server.log();
        assert!(log.contains("its words alone are searched for"), "{log}");
        assert!(!log.contains("opens at nine") && !log.contains("May one"), "no text in the log");
    }
}
