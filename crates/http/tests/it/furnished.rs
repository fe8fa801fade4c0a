//! An account with one of everything that has an id.

use offhook_domain::{AccountId, CredentialProvider, TransactionType};
use serde_json::{Value, json};

use crate::it::app::{CUSTOMER, TestApp, text};
use crate::it::client::{Answer, eventually, must};

/// The ids of an account's resources.
#[derive(Debug, Clone)]
pub(crate) struct Furnished {
    pub(crate) agent: String,
    /// A legacy agent of the provider.
    pub(crate) legacy: String,
    /// The same agent's id at the provider.
    pub(crate) provider_agent: String,
    pub(crate) tool: String,
    /// An ended, recorded conversation.
    pub(crate) conversation: String,
    pub(crate) folder: String,
    pub(crate) document: String,
    pub(crate) number: String,
    pub(crate) batch: String,
    pub(crate) campaign: String,
    pub(crate) webhook: String,
    pub(crate) delivery: String,
    pub(crate) invoice: String,
    pub(crate) suppression: String,
    pub(crate) scenario: String,
    /// A run of scenarios of the agent.
    pub(crate) run: String,
}

impl Furnished {
    /// Creates them in an empty account, with one of its keys. Calls are dialed and documents read meanwhile.
    pub(crate) async fn make(app: &TestApp, account: AccountId, token: &str, name: &str) -> Self {
        let send = async |method: &str, target: &str, body: Value| -> Answer {
            let request = app.bare(method, target).key(token);
            match body {
                Value::Null => request.await,
                body => request.json(body).await,
            }
        };
        let made = async |target: &str, body: Value| -> String {
            let answer = send("POST", target, body).await;
            assert!((200..300).contains(&answer.status), "{target}: {answer:?}");
            text(&answer.json()["id"])
        };
        let credentials = app.services.credentials();
        let secret = format!("sim_{name}");
        must(
            credentials
                .set(account, CredentialProvider::Legacy, &secret)
                .await,
        );
        must(app.services.legacy().sync(account).await);
        let billing = app.services.billing();
        let bought = billing.credit(account, 1_000, TransactionType::Purchase, "More", None);
        must(bought.await);
        let list = async |target: &str| send("GET", target, Value::Null).await.assert(200);
        let legacy = list("/v1/agents?runtime=legacy").await["data"][0].clone();
        let tool = json!({"name": "bye", "description": "Ends the call.", "kind": "end_call"});
        let tool = made("/v1/agents/tools", tool).await;
        let config = json!({
            "system_prompt": "You are Eva.",
            "llm": {"provider": "scripted", "model": "scripted"},
            "tool_ids": [tool],
        });
        let agent = json!({"name": "Eva", "language": "en", "config": config});
        let agent = made("/v1/agents", agent).await;
        made(&format!("/v1/agents/{agent}/publish"), json!({})).await;
        let folder = made("/v1/knowledge/folders", json!({"name": "Rooms"})).await;
        let document = json!({"name": "Pool", "text": "It opens at nine.", "folder_id": folder});
        let document = made("/v1/knowledge/documents", document).await;
        let digits = name.bytes().map(u32::from).sum::<u32>() % 9_000 + 1_000;
        let number = json!({"phone_number": format!("+1500555{digits}")});
        let number = made("/v1/phone-numbers", number).await;
        let batch = json!({
            "name": "Spring",
            "agent_id": legacy["id"],
            "recipients": [{"to": CUSTOMER}],
            "scheduled_at": "2030-01-01",
        });
        let batch = made("/v1/batch-calls", batch).await;
        let campaign = json!({"name": "Summer", "agent_id": agent});
        let campaign = made("/v1/campaigns", campaign).await;
        let webhook = made("/v1/webhooks", json!({"url": "https://example.com/"})).await;
        let delivery = made(&format!("/v1/webhooks/{webhook}/test"), json!({})).await;
        let suppression = made("/v1/suppressions", json!({"number": "+525500000000"})).await;
        let scenario = json!({
            "agent_id": agent, "name": "Greets", "turns": ["Hello."], "checks": [{"kind": "honest"}],
        });
        let scenario = made("/v1/scenarios", scenario).await;
        let runs = format!("/v1/agents/{agent}/test-runs");
        let run = made(&runs, json!({})).await;
        // What it writes is not a request's.
        eventually(async || {
            let run = list(&format!("{runs}/{run}")).await;
            (run["status"] != "running").then_some(())
        })
        .await;
        let call = json!({"agent_id": legacy["id"], "to": CUSTOMER});
        let call = made("/v1/calls", call).await;
        let conversation = call.trim_start_matches("call_").to_owned();
        let target = format!("/v1/conversations/{conversation}");
        let recorded = async || list(&target).await["has_audio"] == true;
        let file = format!("/v1/knowledge/documents/{document}");
        let read = async || list(&file).await["status"] == "ready";
        for _ in 0..1_000 {
            if recorded().await && read().await {
                break;
            }
            app.clock.advance(std::time::Duration::from_secs(1));
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
        assert!(recorded().await && read().await, "{name} is not furnished");
        Self {
            agent,
            legacy: text(&legacy["id"]),
            provider_agent: text(&legacy["provider_agent_id"]),
            tool,
            conversation,
            folder,
            document,
            number,
            batch,
            campaign,
            webhook,
            delivery,
            suppression,
            scenario,
            run,
            invoice: text(&list("/v1/billing/invoices").await["data"][0]["id"]),
        }
    }

    /// The id for a path.
    pub(crate) fn id_of(&self, path: &str) -> &str {
        let ids = [
            ("/v1/agents/tools/", &self.tool),
            ("/v1/agents/", &self.agent),
            ("/v1/billing/invoices/", &self.invoice),
            ("/v1/calls/", &self.conversation),
            ("/v1/conversations/", &self.conversation),
            ("/v1/phone-numbers/", &self.number),
            ("/v1/batch-calls/", &self.batch),
            ("/v1/campaigns/", &self.campaign),
            ("/v1/knowledge/documents/", &self.document),
            ("/v1/knowledge/folders/", &self.folder),
            ("/v1/webhooks/deliveries/", &self.delivery),
            ("/v1/webhooks/", &self.webhook),
            ("/v1/suppressions/", &self.suppression),
            ("/v1/scenarios/", &self.scenario),
        ];
        let found = ids.into_iter().find(|(start, _)| path.starts_with(start));
        found.map_or_else(|| panic!("no id for {path}: make one here"), |(_, id)| id)
    }
}
