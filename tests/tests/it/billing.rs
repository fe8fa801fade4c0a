//! An account's payments and usage, and the operator's billing commands.

use offhook_tests::{Account, Options, Server, both, text};
use serde_json::{Value, json};

fn data(list: &Value) -> &[Value] {
    list["data"].as_array().map_or(&[], Vec::as_slice)
}

async fn credit(server: &Server, account: &Account, kind: &str, credits: &str) -> Value {
    let command = ["wallet", "credit", "--account", &account.id];
    let what = ["--type", kind, "--credits", credits];
    let said = ["--description", "By hand"];
    server.cli(&[&command[..], &what, &said].concat()).await
}

both! {
    async fn an_operator_moves_credits_while_the_service_runs(database: Database) {
        let server = Server::start(Options::on(database)).await;
        let account = server.account_with("starter", 100).await;
        for (kind, balance) in [
            ("purchase", 150),
            ("refund", 200),
            ("manual_credit", 250),
            ("manual_debit", 200),
        ] {
            let wallet = credit(&server, &account, kind, "50").await;
            assert_eq!(wallet["balance_credits"], balance);
            let credits = account.read("/v1/billing/credits").await;
            assert_eq!(credits["balance_credits"], balance);
        }
        let list = account.read("/v1/billing/transactions").await;
        let said: Vec<_> = data(&list)
            .iter()
            .map(|entry| {
                let receipt = entry["receipt_url"].is_string();
                json!([entry["type"], entry["amount_credits"], entry["balance_after_credits"], receipt])
            })
            .collect();
        assert_eq!(
            json!(said),
            json!([
                ["manual_debit", -50, 200, false],
                ["manual_credit", 50, 250, false],
                ["refund", 50, 200, false],
                ["purchase", 50, 150, true],
                ["manual_credit", 100, 100, false],
            ])
        );
        // 49 dollars for the plan, and 50 credits at 49 / 500.
        let invoices = account.read("/v1/billing/invoices").await;
        let [draft] = data(&invoices) else {
            panic!("{invoices}");
        };
        assert_eq!(draft["amount_usd"].as_f64(), Some(53.9));
        assert_eq!((&draft["status"], &draft["issued_at"]), (&json!("draft"), &json!(null)));

        let refused = ["--type", "manual_debit", "--credits", "201", "--description", "Too much"];
        let command = ["wallet", "credit", "--account", &account.id];
        let refused = server.run(&[&command[..], &refused].concat()).await;
        assert!(!refused.status.success());
        let early = ["invoice", "mark", "--id", text(&draft["id"]), "--status", "paid"];
        assert!(!server.run(&early).await.status.success(), "a draft is not to be paid");
        assert_eq!(server.cli(&["doctor", "--books"]).await, json!({"faults": []}));
    }
}
