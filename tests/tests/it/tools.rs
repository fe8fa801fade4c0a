//! Several editors of one agent.

use offhook_tests::{Server, both, must};
use serde_json::json;

both! {
    async fn patches_of_several_editors_add_up(database: Database) {
        let (_server, account) = Server::furnished(database).await;
        let target = format!("/v1/agents/{}", account.agent().await);
        let changes = [
            json!({"config": {"llm": {"temperature": 0.1}}}),
            json!({"config": {"conversation": {"max_duration_s": 99}}}),
            json!({"config": {"dynamic_variables": {"a": {"default": 1}}}}),
        ];
        let racing: Vec<_> = changes
            .iter()
            .map(|change| tokio::spawn(account.patch(&target, change).send()))
            .collect();
        for answer in racing {
            must("an answer", answer.await).assert(200);
        }
        let read = account.read(&target).await;
        assert_eq!(read["current_version"], 4);
        let config = &read["config"];
        assert_eq!(config["llm"]["temperature"], 0.1);
        assert_eq!(config["conversation"]["max_duration_s"], 99);
        assert_eq!(config["dynamic_variables"], json!({"a": {"default": 1}}));
    }
}
