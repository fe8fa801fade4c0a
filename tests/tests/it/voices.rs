//! Voices: the shipped list, and one that a provider gives.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use offhook_tests::{Account, Options, Server, both, must, text};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

/// A provider in the third one's shape, with voices of these names and ids; it answers with 500 while `fails`.
async fn provider(fails: Arc<AtomicBool>, voices: &'static [(&str, &str)]) -> String {
    let listener = must("a port", TcpListener::bind("127.0.0.1:0").await);
    let address = must("its address", listener.local_addr());
    tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            let mut head = [0; 4_096];
            let _ = socket.read(&mut head).await;
            let status = if fails.load(Ordering::SeqCst) {
                500
            } else {
                200
            };
            let voice = |(name, id): &(&str, &str)| json!({"name": name, "canonical_name": id, "languages": ["es", "es-MX"]});
            let voices: Vec<Value> = voices.iter().map(voice).collect();
            let body = json!({"stt": [], "tts": voices}).to_string();
            let answer = format!(
                "HTTP/1.1 {status} X\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
                body.len()
            );
            let _ = socket.write_all(answer.as_bytes()).await;
        }
    });
    format!("http://{address}")
}

async fn names(account: &Account, query: &str) -> Vec<String> {
    let list = account.read(&format!("/v1/voices?{query}")).await;
    let data = list["data"].as_array().into_iter().flatten();
    data.map(|voice| text(&voice["name"]).to_owned()).collect()
}

both! {
    async fn a_sync_replaces_a_providers_list_and_a_failed_one_leaves_it(database: Database) {
        let fails = Arc::new(AtomicBool::new(false));
        let url = provider(fails.clone(), &[("zoe", "id-zoe"), ("ana", "id-ana")]).await;
        let options = Options::on(database)
            .set("voices.provider_c.base_url", &url)
            .set("voices.provider_c.api_key", "k");
        let server = Server::start(options).await;
        let account = server.account("starter").await;
        let synced = server.cli(&["voices", "sync"]).await;
        assert_eq!(synced[0]["provider"], "provider_c");
        assert_eq!((&synced[0]["voices"], &synced[0]["error"]), (&json!(2), &Value::Null));
        assert_eq!(names(&account, "provider=provider_c").await, ["ana", "zoe"]);
        assert!(!names(&account, "provider=provider_b").await.is_empty());
        fails.store(true, Ordering::SeqCst);
        let failed = server.run(&["voices", "sync", "--json"]).await;
        assert!(!failed.status.success());
        let rows: Value = must("its JSON", serde_json::from_slice(&failed.stdout));
        assert_eq!(rows[0]["error"], "the provider answered with 500");
        assert_eq!(names(&account, "provider=provider_c").await, ["ana", "zoe"]);
    }
}
