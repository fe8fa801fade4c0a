//! Reads every list page by page while rows come and go. Rows that exist from the first page to the last appear once,
//! in their place.

use std::collections::BTreeSet;
use std::time::Duration;

use offhook_domain::{MemberRole, TransactionType};
use offhook_testkit::TestDatabase;
use serde_json::{Value, json};

use crate::it::app::{CUSTOMER, TestApp, text};
use crate::it::client::{eventually, must};
use crate::it::contract::INTERFACE;
use crate::it::furnished::Furnished;
use crate::it::operations::{Operation, all};
use crate::it::raw;

/// The rows before the first page.
const ROWS: usize = 7;

/// How a list may change meanwhile.
enum Life {
    /// Not at all: it is the same for all accounts, or has a row for each day.
    Still,
    /// Rows are added.
    Grows,
    /// Rows are deleted, from this table by this column.
    Shrinks(&'static str, &'static str),
    /// Both.
    Moves(&'static str, &'static str),
}

/// How this list may change; a new list needs an entry here.
fn life(operation: &Operation) -> Life {
    match operation.id.as_str() {
        "listModels" | "listVoices" | "listEventTypes" | "listIntegrations" | "listUsage" => {
            Life::Still
        }
        "listTurns" => Life::Grows,
        "listBatchRecipients" => Life::Shrinks("batch_recipients", "id"),
        "listAgents" => Life::Moves("agents", "id"),
        "listAgentVersions" => Life::Moves("agent_versions", "version"),
        "listTools" => Life::Moves("tools", "id"),
        "listTransactions" => Life::Moves("ledger", "id"),
        "listInvoices" => Life::Moves("invoices", "id"),
        "listCalls" | "listConversations" => Life::Moves("conversations", "id"),
        "listPhoneNumbers" => Life::Moves("phone_numbers", "id"),
        "listBatches" => Life::Moves("batch_calls", "id"),
        "listCampaigns" => Life::Moves("campaigns", "id"),
        "listCampaignRecipients" => Life::Moves("campaign_recipients", "id"),
        "listLogs" => Life::Moves("request_logs", "id"),
        "listDocuments" => Life::Moves("knowledge_documents", "id"),
        "listFolders" => Life::Moves("knowledge_folders", "id"),
        "listWebhooks" => Life::Moves("webhook_endpoints", "id"),
        "listDeliveries" => Life::Moves("deliveries", "id"),
        "listScenarios" => Life::Moves("scenarios", "id"),
        "listTestRuns" => Life::Moves("test_runs", "id"),
        "listSuppressions" => Life::Moves("suppressions", "id"),
        "listTeamMembers" => Life::Moves("members", "id"),
        id => panic!("say here what can happen to the list of {id}"),
    }
}

/// A list and everything for changing it.
struct List {
    app: TestApp,
    database: TestDatabase,
    operation: Operation,
    things: Furnished,
    made: usize,
}

impl List {
    async fn of(operation: Operation) -> Self {
        let database = TestDatabase::sqlite();
        let app = TestApp::on(database.clone()).await;
        app.dial();
        app.read_documents();
        let things = Furnished::make(&app, app.account, &app.token, "acme").await;
        app.rest();
        Self {
            app,
            database,
            operation,
            things,
            made: 0,
        }
    }

    /// Adds a row.
    async fn insert(&mut self) {
        self.made += 1;
        let (app, things, n) = (&self.app, &self.things, self.made);
        let name = format!("n{n}");
        let post = async |target: &str, body: Value| {
            let answer = app.post(target, body).await;
            assert!((200..300).contains(&answer.status), "{target}: {answer:?}");
        };
        match self.operation.id.as_str() {
            "listAgents" => post("/v1/agents", json!({"name": name, "language": "en"})).await,
            "listAgentVersions" => {
                let body = json!({"config": {"first_message": name}});
                let target = format!("/v1/agents/{}", things.agent);
                app.patch(&target, body).await.assert(200);
            }
            "listTools" => {
                let body = json!({"name": name, "description": "x", "kind": "end_call"});
                post("/v1/agents/tools", body).await;
            }
            "listTransactions" => {
                let kind = TransactionType::ManualCredit;
                let billing = app.services.billing();
                must(billing.credit(app.account, 1, kind, &name, None).await);
            }
            "listInvoices" => {
                app.clock.advance(Duration::from_secs(31 * 86_400));
                must(app.services.billing().enter_months().await);
            }
            "listCalls" | "listConversations" => {
                let body = json!({"agent_id": things.agent, "to": CUSTOMER});
                post("/v1/calls", body).await;
            }
            "listTurns" => raw::run(
                &self.database,
                "INSERT INTO conversation_moments (conversation_id, seq, at, state, role, content, duration_ms, interrupted) \
                 SELECT conversation_id, (SELECT MAX(seq) + 1 FROM conversation_moments), \
                 (SELECT MAX(at) + 1000 FROM conversation_moments), state, role, content, duration_ms, interrupted \
                 FROM conversation_moments WHERE role IS NOT NULL LIMIT 1",
            ),
            "listPhoneNumbers" => {
                let body = json!({"phone_number": format!("+15005551{n:03}")});
                post("/v1/phone-numbers", body).await;
            }
            "listBatches" => {
                let recipients = json!([{"to": CUSTOMER}]);
                let body =
                    json!({"name": name, "agent_id": things.legacy, "recipients": recipients});
                post("/v1/batch-calls", body).await;
            }
            "listCampaigns" => {
                let body = json!({"name": name, "agent_id": things.agent});
                post("/v1/campaigns", body).await;
            }
            "listCampaignRecipients" => {
                let recipients = json!([{"to": format!("+15005553{n:03}")}]);
                let target = format!("/v1/campaigns/{}/recipients", things.campaign);
                post(&target, json!({"recipients": recipients})).await;
            }
            "listLogs" => {
                app.read("/v1/me").await;
                must(app.services.request_logs().flush().await);
            }
            "listDocuments" => {
                post(
                    "/v1/knowledge/documents",
                    json!({"name": name, "text": "x"}),
                )
                .await;
            }
            "listFolders" => post("/v1/knowledge/folders", json!({"name": name})).await,
            "listWebhooks" => {
                post(
                    "/v1/webhooks",
                    json!({"url": format!("https://example.com/{n}")}),
                )
                .await;
            }
            "listScenarios" => {
                let body = json!({
                    "agent_id": things.agent, "name": name, "turns": ["Hello."], "checks": [{"kind": "honest"}],
                });
                post("/v1/scenarios", body).await;
            }
            "listTestRuns" => {
                let runs = format!("/v1/agents/{}/test-runs", things.agent);
                // Two are held at once.
                eventually(async || {
                    let begun = app.post(&runs, json!({})).await;
                    (begun.status == 201).then_some(())
                })
                .await;
            }
            "listSuppressions" => {
                post(
                    "/v1/suppressions",
                    json!({"number": format!("+15005552{n:03}")}),
                )
                .await;
            }
            "listDeliveries" => {
                post(&format!("/v1/webhooks/{}/test", things.webhook), json!({})).await;
            }
            "listTeamMembers" => {
                let email = must(format!("{name}@example.com").parse());
                let team = app.services.team();
                let role = MemberRole::Viewer;
                must(team.add(app.account, email, &name, role).await);
            }
            id => panic!("say here how a row of {id} is made"),
        }
        // Some rows have the same instant, some do not.
        if n % 3 != 0 {
            app.clock.advance(Duration::from_millis(1));
        }
    }

    /// Fills a list that gets all its rows at once: recipients.
    async fn fill(&mut self) {
        if self.operation.id != "listBatchRecipients" {
            return;
        }
        let recipients: Vec<Value> = (0..ROWS)
            .map(|n| json!({"to": format!("+15005552{n:03}")}))
            .collect();
        let body = json!({"name": "Big", "agent_id": self.things.legacy, "recipients": recipients});
        let made = self.app.post("/v1/batch-calls", body).await.assert(202);
        self.things.batch = text(&made["id"]);
    }

    /// A page: the names of its rows, and the next cursor.
    async fn page(&self, query: &str) -> (Vec<Value>, Option<String>) {
        let id = match self.operation.has_id() {
            true => self.things.id_of(&self.operation.path),
            false => "",
        };
        let target = format!("{}?{query}", self.operation.target(id));
        let page = self.app.read(&target).await;
        let rows = page["data"].as_array().cloned().unwrap_or_default();
        let next = page["next_cursor"].as_str().map(str::to_owned);
        assert_eq!(page["has_more"], next.is_some(), "{target}");
        (rows.iter().map(name_of).collect(), next)
    }

    fn delete(&self, (table, column): (&str, &str), row: &Value) {
        let value = match row {
            Value::String(id) => format!("x'{}'", id.replace('-', "")),
            other => other.to_string(),
        };
        let delete = format!("DELETE FROM {table} WHERE {column} = {value}");
        assert_eq!(raw::change(&self.database, &delete), 1, "{delete}");
    }
}

/// A value that no other row of the list has.
fn name_of(row: &Value) -> Value {
    let names = [
        "id",
        "version",
        "voice_id",
        "toolkit",
        "date",
        "started_at",
        "type",
    ];
    if let (Some(at), Some(said)) = (row.get("started_at"), row.get("text")) {
        // Turns of one instant on a still clock differ by their text.
        return json!([at, said]);
    }
    let name = names.iter().find_map(|name| row.get(name));
    name.unwrap_or_else(|| panic!("what tells {row} apart?"))
        .clone()
}

async fn walk(operation: Operation) {
    let id = operation.id.clone();
    let (table, comes) = match life(&operation) {
        Life::Still => (None, false),
        Life::Grows => (None, true),
        Life::Shrinks(table, column) => (Some((table, column)), false),
        Life::Moves(table, column) => (Some((table, column)), true),
    };
    let mut list = List::of(operation).await;
    list.fill().await;
    while comes && list.made < ROWS {
        list.insert().await;
    }
    if list.operation.id == "listLogs" {
        must(list.app.services.request_logs().flush().await);
    }
    let (before, _) = list.page("limit=100").await;
    // The catalog of integrations has a fixed length.
    let fewest = if id == "listIntegrations" { 2 } else { 3 };
    assert!(before.len() >= fewest, "{id}: {before:?}");
    let limit = match before.len() {
        2 => 1,
        3..=20 => 2,
        _ => 7,
    };
    let (mut seen, mut gone) = (Vec::new(), Vec::new());
    let mut query = format!("limit={limit}");
    loop {
        let (rows, next) = list.page(&query).await;
        assert!(rows.len() <= limit, "{id}");
        seen.extend(rows.iter().cloned());
        let Some(next) = next else {
            break;
        };
        if comes && list.made < 2 * ROWS {
            list.insert().await;
        }
        if let Some(table) = table {
            // The row of the next page's cursor, and one that follows later.
            let ahead = before
                .iter()
                .rev()
                .find(|row| !seen.contains(*row) && !gone.contains(*row));
            let leaving: Vec<Value> = rows.last().into_iter().chain(ahead).cloned().collect();
            for row in leaving {
                list.delete(table, &row);
                gone.push(row);
            }
        }
        query = format!("limit={limit}&cursor={next}");
    }
    let once: BTreeSet<String> = seen.iter().map(Value::to_string).collect();
    assert_eq!(once.len(), seen.len(), "{id}: a row is doubled: {seen:?}");
    let stayed = |row: &&Value| before.contains(*row) && !gone.contains(*row);
    let stayed_seen: Vec<&Value> = seen.iter().filter(stayed).collect();
    let stayed: Vec<&Value> = before.iter().filter(stayed).collect();
    assert!(!stayed.is_empty(), "{id}: nothing stayed");
    assert_eq!(stayed_seen, stayed, "{id}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_stays_in_a_list_is_seen_once_whatever_comes_and_goes() {
    let lists = all().into_iter().filter(|operation| {
        let described = INTERFACE.operation(&operation.method, &operation.path);
        let parameters = described.and_then(|described| described["parameters"].as_array());
        let mut parameters = parameters.into_iter().flatten();
        parameters.any(|parameter| parameter["name"] == "cursor")
    });
    let lists: Vec<Operation> = lists.collect();
    assert!(lists.len() >= 20, "{}", lists.len());
    for list in lists {
        walk(list).await;
    }
}
