//! Voices: the shipped list, and one from a provider.

use offhook_testkit::fakes::voices::VoiceCatalog;
use offhook_testkit::upstream::Fault;
use offhook_tests::{Account, Options, Server, both, must, text};
use serde_json::{Value, json};

async fn names(account: &Account, query: &str) -> Vec<String> {
    let list = account.read(&format!("/v1/voices?{query}")).await;
    let data = list["data"].as_array().into_iter().flatten();
    data.map(|voice| text(&voice["name"]).to_owned()).collect()
}

both! {
    async fn a_sync_replaces_a_providers_list_and_a_failed_one_leaves_it(database: Database) {
        let catalog = VoiceCatalog::start().await;
        let voice = |name| json!({"name": name, "canonical_name": format!("id-{name}"), "languages": ["es", "es-MX"]});
        catalog.set("k", ["zoe", "ana"].map(voice).into());
        let options = Options::on(database)
            .set("voices.provider_c.base_url", catalog.upstream().base_url())
            .set("voices.provider_c.api_key", "k");
        let server = Server::start(options).await;
        let account = server.account("starter").await;
        let synced = server.cli(&["voices", "sync"]).await;
        assert_eq!(synced[0]["provider"], "provider_c");
        assert_eq!((&synced[0]["voices"], &synced[0]["error"]), (&json!(2), &Value::Null));
        assert_eq!(names(&account, "provider=provider_c").await, ["ana", "zoe"]);
        assert!(!names(&account, "provider=provider_b").await.is_empty());
        catalog.upstream().fail("*", "/", Fault::Status(500), usize::MAX);
        let failed = server.run(&["voices", "sync", "--json"]).await;
        assert!(!failed.status.success());
        let rows: Value = must("its JSON", serde_json::from_slice(&failed.stdout));
        assert_eq!(rows[0]["error"], "the provider answered with 500");
        assert_eq!(names(&account, "provider=provider_c").await, ["ana", "zoe"]);
    }
}
