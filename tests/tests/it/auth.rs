//! The last use of a key.

use std::time::Duration;

use offhook_tests::{Server, both, eventually};

both! {
    async fn the_last_use_of_a_key_is_written_down(database: Database) {
        let (server, account) = Server::furnished(database).await;
        account.read("/v1/me").await;
        eventually("a last use", Duration::from_secs(15), || async {
            let me = account.read("/v1/me").await;
            me["key"]["last_used_at"].as_str().map(str::to_owned)
        })
        .await;
        let keys = server.cli(&["key", "list", "--account", &account.id]).await;
        crate::calls::assert_timestamp(&keys[0]["last_used_at"]);
    }
}
