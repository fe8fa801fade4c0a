//! The document's examples: everything has one, they match their schemas, their requests get the documented
//! responses, and their errors have the service's own messages.

use std::collections::BTreeMap;

use offhook_domain::{CredentialProvider, Scopes};
use offhook_http::Code;
use offhook_providers::ProviderSettings;
use serde_json::{Value, json};

use crate::it::app::{Setup, TestApp, rows, text};
use crate::it::client::{eventually, must};
use crate::it::contract::DOCUMENT;

/// Every operation: method, path, description.
fn operations() -> impl Iterator<Item = (&'static str, &'static str, &'static Value)> {
    let paths = DOCUMENT["paths"].as_object().into_iter().flatten();
    paths.flat_map(|(path, methods)| {
        let methods = methods.as_object().into_iter().flatten();
        methods.map(move |(method, operation)| (method.as_str(), path.as_str(), operation))
    })
}

/// The faults that a JSON Schema validator finds, formats and limits included.
fn faults(schema: &Value, value: &Value) -> Vec<String> {
    let mut whole = schema.clone();
    whole["components"] = DOCUMENT["components"].clone();
    let validator = jsonschema::options()
        .should_validate_formats(true)
        .build(&whole);
    must(validator)
        .iter_errors(value)
        .map(|fault| format!("{}: {fault}", fault.instance_path()))
        .collect()
}

fn assert_fits(what: &str, content: &Value, example: &Value) {
    assert!(!example.is_null(), "{what} has no example");
    let faults = faults(&content["schema"], example);
    assert!(faults.is_empty(), "{what}: {faults:?}");
}

#[test]
fn every_body_that_is_no_file_has_an_example_that_fits_its_schema() {
    let mut seen = 0;
    for (method, path, operation) in operations() {
        let bodies = operation["requestBody"]["content"].as_object();
        for (media_type, content) in bodies.into_iter().flatten() {
            let what = format!("{method} {path} {media_type}");
            assert_fits(&what, content, &content["example"]);
        }
        for parameter in operation["parameters"].as_array().into_iter().flatten() {
            if parameter["in"] == "path" {
                let what = format!("{method} {path} {}", parameter["name"]);
                assert_fits(&what, parameter, &parameter["example"]);
            }
        }
        let responses = operation["responses"].as_object().into_iter().flatten();
        for (status, response) in responses.filter(|(status, _)| status.starts_with('2')) {
            let contents = response["content"].as_object().into_iter().flatten();
            for (media_type, content) in contents {
                if !["application/pdf", "audio/wav"].contains(&media_type.as_str()) {
                    let what = format!("{method} {path} {status}");
                    assert_fits(&what, content, &content["example"]);
                }
            }
        }
        seen += 1;
    }
    assert!(seen > 70, "{seen}");
    let events = DOCUMENT["webhooks"].as_object().into_iter().flatten();
    for (name, event) in events {
        let content = &event["post"]["requestBody"]["content"]["application/json"];
        assert_fits(name, content, &content["example"]);
        assert_eq!(content["example"]["type"], json!(name));
    }
}

#[test]
fn every_field_says_what_it_is() {
    fn walk(path: &str, schema: &Value, missing: &mut Vec<String>) {
        for (name, member) in schema["properties"].as_object().into_iter().flatten() {
            let path = format!("{path}.{name}");
            let said = member["description"].as_str().unwrap_or_default();
            if !said.ends_with(['.', ')']) {
                missing.push(path.clone());
            }
            walk(&path, member, missing);
        }
        for inner in [&schema["items"], &schema["anyOf"][0]] {
            if inner.is_object() {
                walk(path, inner, missing);
            }
        }
    }
    let mut missing = Vec::new();
    let schemas = DOCUMENT["components"]["schemas"].as_object();
    for (name, schema) in schemas.into_iter().flatten() {
        walk(name, schema, &mut missing);
    }
    for (method, path, operation) in operations() {
        for parameter in operation["parameters"].as_array().into_iter().flatten() {
            if !text(&parameter["description"]).ends_with('.') {
                missing.push(format!("{method} {path} {}", parameter["name"]));
            }
        }
    }
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn every_error_of_every_operation_has_an_example_with_a_message() {
    let components = &DOCUMENT["components"]["examples"];
    for code in Code::ALL {
        let example = &components[code.as_str()];
        assert!(!text(&example["summary"]).is_empty(), "{code:?}");
        assert_eq!(example["value"]["error"], code.as_str());
    }
    for (method, path, operation) in operations() {
        let responses = operation["responses"].as_object().into_iter().flatten();
        for (status, response) in responses.filter(|(status, _)| !status.starts_with('2')) {
            let content = &response["content"]["application/json"];
            let codes = content["schema"].pointer("/allOf/1/properties/error/enum");
            let codes = codes.and_then(Value::as_array).into_iter().flatten();
            for code in codes {
                let example = error_example(content, &text(code));
                let what = format!("{method} {path} {status} {code}");
                assert_fits(&what, content, example);
                let message = text(&example["message"]);
                assert!(
                    !message.is_empty() && !message.contains('{'),
                    "{what}: {message}"
                );
            }
        }
    }
}

/// The example envelope of a code.
fn error_example(content: &'static Value, code: &str) -> &'static Value {
    let example = &content["examples"][code];
    let target = example["$ref"]
        .as_str()
        .map(|to| to.trim_start_matches('#'));
    &target
        .map_or(Some(example), |to| DOCUMENT.pointer(to))
        .unwrap_or(example)["value"]
}

/// Plays the examples as a story: maps the examples' ids and keys to those that the service returned.
struct Story {
    app: TestApp,
    real: BTreeMap<String, String>,
}

impl Story {
    async fn begin() -> Self {
        let openai = ProviderSettings {
            base_url: "http://127.0.0.1:1/v1".to_owned(),
            api_key: None,
        };
        let app = TestApp::with(Setup {
            models: vec![("openai".to_owned(), openai)],
            ..Setup::default()
        })
        .await;
        app.read_documents();
        let credentials = app.services.credentials();
        for provider in [CredentialProvider::Legacy, CredentialProvider::Simulator] {
            must(credentials.set(app.account, provider, "sim_acme").await);
        }
        must(app.services.legacy().sync(app.account).await);
        let mut story = Self {
            app,
            real: BTreeMap::new(),
        };
        let agents = story.app.read("/v1/agents?q=reception").await;
        let (_, _, listing) = found("listAgents");
        let example = listing.pointer("/responses/200/content/application~1json/example/data/1");
        story.learn(example.unwrap_or(&Value::Null), &agents["data"][0]);
        story
    }

    /// Records which real id stands for which example id.
    fn learn(&mut self, example: &Value, answer: &Value) {
        match (example, answer) {
            (Value::Object(example), Value::Object(answer)) => {
                for (name, value) in example {
                    self.learn(value, answer.get(name).unwrap_or(&Value::Null));
                }
            }
            (Value::Array(example), Value::Array(answer)) => {
                for (example, answer) in example.iter().zip(answer) {
                    self.learn(example, answer);
                }
            }
            (Value::String(example), Value::String(answer))
                if example.len() >= 36 && example.len() == answer.len() && is_id(example) =>
            {
                self.real.entry(example.clone()).or_insert(answer.clone());
            }
            _ => {}
        }
    }

    fn real(&self, text: &str) -> String {
        let pairs = self.real.iter();
        pairs.fold(text.to_owned(), |text, (example, real)| {
            text.replace(example, real)
        })
    }

    /// Sends an operation's example. The status code must be the documented one, and the response must have the
    /// example's members.
    async fn play(&mut self, id: &str) -> Value {
        let (method, path, operation) = found(id);
        let mut target = path.to_owned();
        for parameter in operation["parameters"].as_array().into_iter().flatten() {
            if parameter["in"] == "path" {
                let value = match &parameter["example"] {
                    Value::String(value) => value.clone(),
                    other => other.to_string(),
                };
                target = target.replace(&format!("{{{}}}", text(&parameter["name"])), &value);
            }
            if parameter["in"] == "query" && parameter["required"] == true {
                let value = text(&parameter["example"]).replace('+', "%2B");
                target = format!("{target}?{}={value}", text(&parameter["name"]));
            }
        }
        let mut request = self
            .app
            .request(&method.to_uppercase(), &self.real(&target));
        let body = &operation["requestBody"]["content"]["application/json"]["example"];
        if !body.is_null() {
            request = request.json(self.real(&body.to_string()));
        }
        let responses = operation["responses"].as_object().into_iter().flatten();
        let (status, response) = must(responses.clone().next().ok_or(id));
        let answer = request.await;
        assert_eq!(answer.status.to_string(), *status, "{id}: {answer:?}");
        let content = &response["content"]["application/json"];
        if content.is_null() {
            return Value::Null;
        }
        let answer = answer.json();
        self.learn(&content["example"], &answer);
        let mut example = content["example"].clone();
        if answer["data"] == json!([]) {
            example["data"] = json!([]);
        }
        assert_eq!(shape(&answer), shape(&example), "{id}");
        answer
    }
}

fn is_id(text: &str) -> bool {
    let id = text.trim_start_matches("call_");
    id.len() == 36 && id.split('-').map(str::len).eq([8, 4, 4, 4, 12])
}

fn found(id: &str) -> (&'static str, &'static str, &'static Value) {
    let operation = operations().find(|(_, _, operation)| operation["operationId"] == id);
    operation.unwrap_or_else(|| panic!("no operation {id}"))
}

/// The members of a body, and of its first item.
fn shape(value: &Value) -> Vec<String> {
    let members = value.as_object().into_iter().flatten();
    let mut names: Vec<_> = members.map(|(name, _)| name.clone()).collect();
    if let Some(item) = value.pointer("/data/0") {
        names.extend(shape(item));
    }
    names
}

/// The operations to play once the document is searchable, in this order.
const REST: &str = "
    getDocumentContent searchKnowledge listDocuments listFolders getFolder createTool
    listTools getTool createAgent updateAgent publishAgent getAgent setWidget getWidget
    setAnalysisSchema getAnalysisSchema listAgentVersions getAgentVersion setAgentSettings
    getAgentSettings forgetCaller createPhoneNumber
    updatePhoneNumber getPhoneNumber importPhoneNumbers listPhoneNumbers createWebhook
    listWebhooks getWebhook updateWebhook rotateWebhookSecret testWebhook listDeliveries
    recoverWebhook placeCall hangUpCall getCall getConversation listCalls listConversations
    createBatch getBatch listBatchRecipients pauseBatch resumeBatch cancelBatch retryBatch
    getMe listModels listVoices listIntegrations listLogs getPlan getCredits
    listTransactions listInvoices getInvoicePdf listUsage updateDocument updateFolder
    updateTool deleteTool deletePhoneNumber deleteWebhook archiveAgent deleteFolder
    deleteDocument
";

#[tokio::test(flavor = "multi_thread")]
async fn the_examples_are_sent_and_answered_as_they_say() {
    let mut story = Story::begin().await;
    for id in ["createFolder", "createDocument"] {
        story.play(id).await;
    }
    eventually(async || (story.play("getDocument").await["status"] == "ready").then_some(())).await;
    for id in REST.split_whitespace() {
        story.play(id).await;
    }
    let (_, _, catalog) = found("listEventTypes");
    let example = catalog.pointer("/responses/200/content/application~1json/example");
    assert_eq!(Some(&story.play("listEventTypes").await), example);
}

/// The example message of an operation's error.
fn documented(id: &str, status: u16, code: &str) -> String {
    let (_, _, operation) = found(id);
    let content = &operation["responses"][status.to_string()]["content"]["application/json"];
    text(&error_example(content, code)["message"])
}

#[tokio::test(flavor = "multi_thread")]
async fn errors_read_as_their_examples() {
    let mut story = Story::begin().await;
    for id in [
        "createFolder",
        "createTool",
        "createAgent",
        "createPhoneNumber",
        "createWebhook",
        "createBatch",
    ] {
        story.play(id).await;
    }
    // The subjects of the messages: an agent without a configuration, and an archived one.
    let bare = json!({"name": "Bare", "language": "en"});
    let bare = story.app.post("/v1/agents", bare).await.assert(201);
    let gone = json!({"name": "Gone", "language": "en"});
    let gone = story.app.post("/v1/agents", gone).await.assert(201);
    let archived = format!("/v1/agents/{}", text(&gone["id"]));
    story.app.delete(&archived).await.assert(200);
    let legacy = story.app.read("/v1/agents?q=reception").await;
    let spare = json!({"name": "spare", "description": "x", "kind": "end_call"});
    let spare = story.app.post("/v1/agents/tools", spare).await.assert(201);
    let (hook, batch) = (path(&story, "getWebhook"), path(&story, "getBatch"));
    let last = |path: &str| {
        let (_, id) = must(path.rsplit_once('/').ok_or(path));
        id.to_owned()
    };
    let ids = [
        ("AGENT", last(&path(&story, "getAgent"))),
        ("BARE", text(&bare["id"])),
        ("GONE", text(&gone["id"])),
        ("LEGACY", text(&legacy["data"][0]["id"])),
        ("TOOL", last(&path(&story, "getTool"))),
        ("SPARE", text(&spare["id"])),
        ("NUMBER", last(&path(&story, "getPhoneNumber"))),
        ("HOOK", last(&hook)),
        ("BATCH", last(&batch)),
        ("NOBODY", "0190163d-8694-739b-aea5-966c26f8ad91".to_owned()),
    ];
    let mut table = include_str!("../cases/examples.txt").to_owned();
    for (word, id) in &ids {
        table = table.replace(word, id);
    }
    for [id, error, target, body] in rows(&table) {
        let (status, code) = must(error.split_once(' ').ok_or(error));
        let status: u16 = must(status.parse());
        let (method, _, _) = found(id);
        let mut request = story.app.request(&method.to_uppercase(), target);
        if !body.is_empty() {
            request = request.json(body);
        }
        let said = request.await.assert_error(status, code);
        assert_eq!(said, story.real(&documented(id, status, code)), "{id}");
    }
    states_forbid(&story, &hook, &batch).await;
    doors_are_closed(&story.app).await;
}

/// The path of an operation's example.
fn path(story: &Story, id: &str) -> String {
    let (_, path, operation) = found(id);
    story.real(&path.replace("{id}", &text(&operation["parameters"][0]["example"])))
}

/// Errors that depend on a resource's state.
async fn states_forbid(story: &Story, hook: &str, batch: &str) {
    let app = &story.app;
    let disable = app.patch(hook, r#"{"status":"disabled"}"#);
    disable.await.assert(200);
    app.post(&format!("{batch}/pause"), "{}").await.assert(200);
    for (id, target, body) in [
        ("testWebhook", format!("{hook}/test"), "{}"),
        (
            "recoverWebhook",
            format!("{hook}/recover"),
            r#"{"since":"2026-04-30"}"#,
        ),
        ("pauseBatch", format!("{batch}/pause"), "{}"),
    ] {
        let said = app.post(&target, body).await.assert_error(409, "conflict");
        assert_eq!(said, documented(id, 409, "conflict"), "{id}");
    }
    for _ in 0..19 {
        let more = json!({"url": "https://crm.example.com/more"});
        app.post("/v1/webhooks", more).await.assert(201);
    }
    let more = app.post(
        "/v1/webhooks",
        json!({"url": "https://crm.example.com/more"}),
    );
    let said = more.await.assert_error(409, "conflict");
    assert_eq!(said, documented("createWebhook", 409, "conflict"));
}

/// Errors of the key, the header or the size.
async fn doors_are_closed(app: &TestApp) {
    let place = |key: &str| app.bare("POST", "/v1/calls").key(key).json("{}");
    let read_only = app.key(app.account, Scopes::all(), true, None).await;
    let scopes: Scopes = must("agents:read".parse());
    let narrow = app.key(app.account, scopes, false, None).await;
    let key = &app.token;
    let refused = [
        (401, "unauthorized", place("x")),
        (403, "forbidden", place(&read_only)),
        (403, "insufficient_scope", place(&narrow)),
        (400, "invalid_json", app.post("/v1/calls", "{")),
        (
            400,
            "invalid_idempotency_key",
            place(key).header("Idempotency-Key", "é"),
        ),
        (
            413,
            "payload_too_large",
            app.post("/v1/calls", " ".repeat(1_048_577)),
        ),
    ];
    for (status, code, request) in refused {
        let said = request.await.assert_error(status, code);
        assert_eq!(said, documented("placeCall", status, code), "{code}");
    }
    let free = app.stranger(offhook_domain::Plan::Free).await;
    let said = place(&free).await.assert_error(403, "plan_limit");
    assert_eq!(said, documented("placeCall", 403, "plan_limit"));
    let starter = app.stranger(offhook_domain::Plan::Starter).await;
    let search = app.bare("POST", "/v1/knowledge/search").key(&starter);
    let said = search.await.assert_error(403, "plan_limit");
    assert_eq!(said, documented("searchKnowledge", 403, "plan_limit"));
    let put = app.request("PUT", "/v1/calls").await;
    let said = put.assert_error(405, "method_not_allowed");
    let components = &DOCUMENT["components"]["examples"];
    assert_eq!(components["method_not_allowed"]["value"]["message"], said);
}
