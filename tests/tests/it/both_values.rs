//! Fields that could be a constant show more than one value, each for its reason. (`recommended`, `renews_at`, seats and
//! the statuses of integrations: see `voices`, `billing` and `administration`.)

use std::time::Duration;

use offhook_tests::{Options, Server, both, eventually, text};
use serde_json::{Value, json};

use crate::legacy;
use crate::raw::write;

const LIMIT: Duration = Duration::from_secs(30);

both! {
    async fn a_call_has_audio_if_it_was_recorded(database: Database) {
        let server = Server::start(Options::on(database)).await;
        let account = server.account("scale").await;
        let recorded = legacy::agents(&server, &account).await;
        let recorded = account.call(text(&recorded[0]["id"]), "+5215512345678").await;
        let plain = account.call(&account.agent().await, "+5215512345678").await;
        for (handle, has_audio) in [(recorded, true), (plain, false)] {
            let call = account.ended(&handle).await;
            assert_eq!(call["status"], "completed");
            assert_eq!(call["has_audio"], has_audio, "{call}");
            let target = format!("/v1/conversations/{}", text(&call["conversation_id"]));
            let read = account.read(&target).await;
            assert_eq!(read["has_audio"], has_audio);
            assert_eq!(read["recording_url"].is_string(), has_audio);
        }
    }

    async fn a_documents_deletion_names_the_agents_that_pin_it(database: Database) {
        let server = Server::start(Options::on(database)).await;
        let account = server.account("scale").await;
        let mut documents = Vec::new();
        for name in ["Pinned", "Loose"] {
            let body = json!({"name": name, "text": "The pool opens at nine."});
            let made = account.post("/v1/knowledge/documents", body).send().await.assert(202);
            let target = format!("/v1/knowledge/documents/{}", text(&made["id"]));
            eventually("a document that is ready", LIMIT, || async {
                (account.read(&target).await["status"] == "ready").then_some(())
            })
            .await;
            documents.push((text(&made["id"]).to_owned(), target));
        }
        let config = |id: &str| json!({
            "system_prompt": "Talk.",
            "llm": {"provider": "scripted", "model": "scripted"},
            "knowledge_base": {"doc_ids": [id], "mode": "auto"},
        });
        let agent = account.agent_with(config(&documents[0].0)).await;
        // A draft names the other one: what was never published is not affected.
        let draft = json!({"name": "Draft", "language": "en", "config": config(&documents[1].0)});
        account.post("/v1/agents", draft).send().await.assert(201);
        let affected = [json!([{"id": agent, "name": "Eva"}]), json!([])];
        for ((id, target), affected) in documents.iter().zip(affected) {
            let deleted = account.delete(target).send().await.assert(200);
            let expected = json!({"id": id, "deleted": true, "agents_affected": affected});
            assert_eq!(deleted, expected);
        }
    }

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
