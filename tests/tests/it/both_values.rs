//! An invoice shows each of its statuses, each for its reason.

use std::time::Duration;

use offhook_tests::{Options, Server, both, eventually, text};
use serde_json::{Value, json};

use crate::raw::write;

const LIMIT: Duration = Duration::from_secs(30);

both! {
    async fn an_invoice_is_a_draft_then_open_then_paid_or_void(database: Database) {
        let mut server = Server::start(Options::on(database)).await;
        let account = server.account("pro").await;
        let status = async || {
            let list = account.read("/v1/billing/invoices").await;
            let all = list["data"].as_array().cloned().unwrap_or_default();
            let said = all.iter().map(|invoice| invoice["status"].clone());
            (json!(said.collect::<Vec<Value>>()), all)
        };
        assert_eq!(status().await.0, json!(["draft"]));
        // The account becomes two months older, which the service catches up with at its start.
        assert!(server.stop().await.success());
        let older = "UPDATE invoices SET month = month - 2 WHERE account_id = ID; \
                     UPDATE account_months SET month = month - 2 WHERE account_id = ID";
        write(&server, &account, older).await;
        server.start_again(&[]).await;
        let all = eventually("the months between", LIMIT, || async {
            let (said, all) = status().await;
            (said == json!(["draft", "open", "open"])).then_some(all)
        })
        .await;
        assert_eq!(all[0]["issued_at"], Value::Null);
        for (at, marked) in [(1, "paid"), (2, "void")] {
            assert!(all[at]["issued_at"].is_string(), "{all:?}");
            let mark = ["invoice", "mark", "--id", text(&all[at]["id"]), "--status", marked];
            assert_eq!(server.cli(&mark).await["status"], marked);
        }
        assert_eq!(status().await.0, json!(["draft", "paid", "void"]));
        assert_eq!(server.cli(&["doctor", "--books"]).await, json!({"faults": []}));
    }
}
