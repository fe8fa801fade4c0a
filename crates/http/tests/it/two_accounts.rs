//! The ids of another account get exactly the response of ids that do not exist (`not_found`): the same status code,
//! body and headers, after the same number of statements. Tests every operation that takes an id, wherever it takes
//! it.

use std::collections::BTreeSet;

use offhook_domain::{Plan, Scopes};
use offhook_testkit::TestDatabase;
use serde_json::{Value, json};

use crate::it::app::{TestApp, text};
use crate::it::client::{Request, must};
use crate::it::contract::INTERFACE;
use crate::it::furnished::Furnished;
use crate::it::operations::{NOBODY, all, named};
use crate::it::statements::Statements;

/// Headers that differ between any two responses.
const MOVING: [&str; 4] = [
    "date",
    "x-request-id",
    "x-ratelimit-remaining",
    "x-ratelimit-reset",
];

/// Two accounts with one of everything.
struct Two {
    app: TestApp,
    statements: Statements,
    /// The first account's resources.
    ours: Furnished,
    /// The resources of the other account, which sends the requests.
    theirs: Furnished,
    asking: String,
}

impl Two {
    async fn furnish() -> Self {
        let database = TestDatabase::sqlite();
        let statements = Statements::of(&database);
        let app = TestApp::on(database).await;
        app.dial();
        app.read_documents();
        let ours = Furnished::make(&app, app.account, &app.token, "acme").await;
        let accounts = app.services.accounts();
        let other = accounts.create("Other", Plan::Scale, Some(100_000), None, None);
        let other = must(other.await).id;
        let asking = app.key(other, Scopes::all(), false, None).await;
        let theirs = Furnished::make(&app, other, &asking, "other").await;
        must(app.services.request_logs().flush().await);
        app.rest();
        statements.settle().await;
        Self {
            app,
            statements,
            ours,
            theirs,
            asking,
        }
    }

    /// Everything that a response reveals, with the requested id as `ID`.
    async fn seen(&self, request: Request, id: &str) -> Value {
        let before = self.statements.sent();
        let answer = request.key(&self.asking).await;
        let sent = self.statements.sent() - before;
        let mut body = answer.json();
        if let Some(body) = body.as_object_mut() {
            body.remove("request_id");
        }
        let headers: BTreeSet<_> = answer
            .headers()
            .iter()
            .filter(|(name, _)| !MOVING.contains(&name.as_str()))
            .collect();
        json!({
            "status": answer.status,
            "headers": headers,
            "body": body.to_string().replace(id, "ID"),
            "statements": sent,
        })
    }

    /// Sends the request with both ids. Background work may send a statement in between, so the comparison repeats: a
    /// real difference appears every time.
    async fn compare(&self, what: &str, ours: &str, ask: impl Fn(&str) -> Request) -> Value {
        let mut looks = 0;
        loop {
            looks += 1;
            let mut foreign = self.seen(ask(ours), ours).await;
            let nobody = self.seen(ask(NOBODY), NOBODY).await;
            if looks < 5 && foreign["statements"] != nobody["statements"] {
                foreign["statements"] = nobody["statements"].clone();
                assert_eq!(foreign, nobody, "{what}");
                continue;
            }
            assert_eq!(foreign, nobody, "{what}");
            return foreign;
        }
    }

    /// The owner's view of each resource.
    async fn owned(&self) -> Vec<(String, Vec<u8>)> {
        let mut read = Vec::new();
        for operation in all() {
            // An event stream has no fixed length; what it follows is read anyway. A legacy conversation is no scenario.
            let streams = [
                "followConversation",
                "followCampaign",
                "followTestRun",
                "draftScenario",
            ]
            .contains(&&*operation.id);
            if operation.method == "GET" && operation.has_id() && !streams {
                let target = operation.target(self.ours.id_of(&operation.path));
                let target = target.replace(NOBODY, &self.ours.run);
                let answer = self.app.get(&target).await;
                assert_eq!(answer.status, 200, "{target}");
                read.push((target, answer.body));
            }
        }
        read
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_id_of_another_account_in_a_path_is_one_that_does_not_exist() {
    let two = Two::furnish().await;
    let before = two.owned().await;
    for operation in all().iter().filter(|operation| operation.has_id()) {
        let ours = two.ours.id_of(&operation.path);
        let ask = |id: &str| operation.request(&two.app, id);
        let seen = two.compare(&operation.id, ours, ask).await;
        assert_eq!(seen["status"], 404, "{}: {seen}", operation.id);
        assert!(
            seen["statements"].as_u64() > Some(0),
            "nothing was counted: {seen}"
        );
    }
    assert_eq!(two.owned().await, before, "nothing of it happened");
}

/// The names of the members of a body that take ids.
fn ids_in(schema: &Value, found: &mut BTreeSet<String>) {
    if let Some(target) = schema["$ref"].as_str() {
        let target = INTERFACE.document().pointer(target.trim_start_matches('#'));
        return ids_in(target.unwrap_or(&Value::Null), found);
    }
    for part in schema["anyOf"].as_array().into_iter().flatten() {
        ids_in(part, found);
    }
    if schema["items"].is_object() {
        ids_in(&schema["items"], found);
    }
    for (name, member) in schema["properties"].as_object().into_iter().flatten() {
        if takes_id(name) {
            found.insert(name.clone());
        }
        ids_in(member, found);
    }
}

/// A voice's id belongs to its provider.
fn takes_id(name: &str) -> bool {
    (name.ends_with("_id") || name.ends_with("_ids")) && name != "voice_id"
}

/// `OPERATION NAME` of every id in a query or a body of the document.
fn references() -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    for (_, _, operation) in INTERFACE.operations() {
        let mut found = BTreeSet::new();
        for parameter in operation["parameters"].as_array().into_iter().flatten() {
            let name = text(&parameter["name"]);
            if parameter["in"] == "query" && takes_id(&name) {
                found.insert(name);
            }
        }
        let body = &operation["requestBody"]["content"]["application/json"]["schema"];
        ids_in(body, &mut found);
        let id = text(&operation["operationId"]);
        all.extend(found.into_iter().map(|name| format!("{id} {name}")));
    }
    all
}

#[tokio::test(flavor = "multi_thread")]
async fn the_id_of_another_account_in_a_query_or_a_body_is_one_that_does_not_exist() {
    let two = Two::furnish().await;
    let mut asked = BTreeSet::new();
    let ours = &two.ours;
    let keys = must(two.app.services.keys().list(two.app.account).await);
    let key = keys[0].id.to_string();
    let logs = two.app.read("/v1/logs?limit=1").await;
    let request = text(&logs["data"][0]["request_id"]);
    for (operation, name, id) in [
        ("listCalls", "agent_id", &ours.legacy),
        ("listConversations", "agent_id", &ours.legacy),
        ("listPhoneNumbers", "agent_id", &ours.agent),
        ("listBatches", "agent_id", &ours.legacy),
        ("listCampaigns", "agent_id", &ours.agent),
        ("listScenarios", "agent_id", &ours.agent),
        ("listDocuments", "folder_id", &ours.folder),
        ("listDeliveries", "webhook_id", &ours.webhook),
        ("listLogs", "key_id", &key),
        ("listLogs", "request_id", &request),
    ] {
        asked.insert(format!("{operation} {name}"));
        let path = named(operation).path;
        let owner = two.app.get(&format!("{path}?{name}={id}")).await;
        assert_eq!(owner.status, 200, "{operation}");
        let ask = |id: &str| two.app.bare("GET", &format!("{path}?{name}={id}"));
        let seen = two.compare(operation, id, ask).await;
        let nothing = r#"{"data":[],"has_more":false,"next_cursor":null}"#;
        assert_eq!(seen["body"], nothing, "{operation}");
    }

    let agent = |config: Value| json!({"name": "Eva", "language": "en", "config": config});
    let change = |config: Value| json!({"config": config});
    let documents = json!({"knowledge_base": {"doc_ids": ["ID"]}});
    let folders = json!({"knowledge_base": {"folder_ids": ["ID"]}});
    let tools = json!({"tool_ids": ["ID"]});
    let call = json!({"agent_id": "ID", "to": "+15005550001"});
    let number = json!({"phone_number": "+15005550177", "agent_id": "ID"});
    let recipients = json!([{"to": "+15005550001"}]);
    let batch = json!({"name": "Spring", "agent_id": "ID", "recipients": recipients});
    let from = json!({
        "name": "x", "agent_id": two.theirs.legacy, "phone_number_id": "ID",
        "recipients": recipients,
    });
    let document = json!({"name": "x", "text": "x", "folder_id": "ID"});
    let mut scenario = named("createScenario").body();
    scenario["agent_id"] = json!("ID");
    let find = |ids: &str| json!({"query": "pool opens", ids: ["ID"]});
    let table = [
        ("createAgent", "tool_ids", &ours.tool, agent(tools.clone())),
        (
            "createAgent",
            "doc_ids",
            &ours.document,
            agent(documents.clone()),
        ),
        (
            "createAgent",
            "folder_ids",
            &ours.folder,
            agent(folders.clone()),
        ),
        ("updateAgent", "tool_ids", &ours.tool, change(tools)),
        ("updateAgent", "doc_ids", &ours.document, change(documents)),
        ("updateAgent", "folder_ids", &ours.folder, change(folders)),
        ("placeCall", "agent_id", &ours.agent, call.clone()),
        ("placeCall", "agent_id", &ours.provider_agent, call.clone()),
        ("checkDials", "agent_id", &ours.agent, call),
        ("createPhoneNumber", "agent_id", &ours.agent, number),
        (
            "updatePhoneNumber",
            "agent_id",
            &ours.agent,
            json!({"agent_id": "ID"}),
        ),
        ("createBatch", "agent_id", &ours.legacy, batch),
        ("createBatch", "phone_number_id", &ours.number, from),
        (
            "createCampaign",
            "agent_id",
            &ours.agent,
            json!({"name": "Summer", "agent_id": "ID"}),
        ),
        (
            "createCampaign",
            "phone_number_id",
            &ours.number,
            json!({"name": "Summer", "agent_id": two.theirs.agent, "phone_number_id": "ID"}),
        ),
        ("createScenario", "agent_id", &ours.agent, scenario),
        ("createDocument", "folder_id", &ours.folder, document),
        (
            "updateDocument",
            "folder_id",
            &ours.folder,
            json!({"folder_id": "ID"}),
        ),
        (
            "searchKnowledge",
            "doc_ids",
            &ours.document,
            find("doc_ids"),
        ),
        (
            "searchKnowledge",
            "folder_ids",
            &ours.folder,
            find("folder_ids"),
        ),
    ];
    for (operation, name, id, body) in table {
        asked.insert(format!("{operation} {name}"));
        let operation = named(operation);
        let own = match operation.has_id() {
            true => two.theirs.id_of(&operation.path),
            false => "",
        };
        let target = operation.target(own);
        let ask = |id: &str| {
            let request = two.app.bare(&operation.method, &target);
            request.json(body.to_string().replace("ID", id))
        };
        let what = format!("{} {name}", operation.id);
        let seen = two.compare(&what, id, ask).await;
        let searched = json!({"data": []}).to_string();
        let refused = seen["status"].as_u64() >= Some(400);
        assert!(refused || seen["body"] == searched, "{what}: {seen}");
    }
    assert_eq!(asked, references(), "each is asked for here");
}
