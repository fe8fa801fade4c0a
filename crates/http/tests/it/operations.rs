//! Every operation of the OpenAPI document, for tests that cover all of them. A new operation is tested without being
//! named here, unless its body has required fields.

use serde_json::{Value, json};

use crate::it::app::{TestApp, text};
use crate::it::client::Request;
use crate::it::contract::INTERFACE;

/// An id without a resource.
pub(crate) const NOBODY: &str = "0190163d-8694-739b-aea5-966c26f8ad91";

#[derive(Debug, Clone)]
pub(crate) struct Operation {
    pub(crate) id: String,
    pub(crate) method: String,
    /// With `{id}` for the id.
    pub(crate) path: String,
    pub(crate) has_body: bool,
    /// Whether it needs no key.
    pub(crate) open: bool,
    /// The scope that it needs, if any.
    pub(crate) scope: Option<String>,
    /// Every documented error.
    pub(crate) errors: Vec<(u16, String)>,
}

/// All operations, in the order of the document.
pub(crate) fn all() -> Vec<Operation> {
    let all = INTERFACE
        .operations()
        .map(|(method, path, described)| Operation {
            id: text(&described["operationId"]),
            method,
            path: path.to_owned(),
            has_body: described["requestBody"].is_object(),
            open: described["security"] == json!([]),
            scope: described["x-required-scope"].as_str().map(str::to_owned),
            errors: errors(&described["responses"]),
        });
    all.collect()
}

/// The operation with this id.
pub(crate) fn named(id: &str) -> Operation {
    let found = all().into_iter().find(|operation| operation.id == id);
    found.unwrap_or_else(|| panic!("no operation is called {id}"))
}

fn errors(responses: &Value) -> Vec<(u16, String)> {
    let responses = responses.as_object().into_iter().flatten();
    let errors = responses.flat_map(|(status, response)| {
        let schema = &response["content"]["application/json"]["schema"];
        let codes = schema["allOf"][1]["properties"]["error"]["enum"].as_array();
        let status = status.parse().unwrap_or(0);
        codes
            .into_iter()
            .flatten()
            .map(move |code| (status, text(code)))
    });
    errors.collect()
}

impl Operation {
    /// Whether the path has an id.
    pub(crate) fn has_id(&self) -> bool {
        self.path.contains("{id}")
    }

    /// The path with an id; calls use their handles.
    pub(crate) fn target(&self, id: &str) -> String {
        let call = self.path.starts_with("/v1/calls/") && !id.starts_with("call_");
        let id = if call {
            format!("call_{id}")
        } else {
            id.to_owned()
        };
        let target = self.path.replace("{id}", &id).replace("{version}", "1");
        let target = target.replace("{run}", NOBODY);
        match self.id.as_str() {
            "forgetCaller" => target + "?phone=%2B15005550001",
            _ => target,
        }
    }

    /// A valid body with the required fields, or with a change.
    pub(crate) fn body(&self) -> Value {
        let body = match self.id.as_str() {
            "createAgent" => json!({"name": "Eva", "language": "en"}),
            "createTool" => {
                json!({"name": "bye", "description": "Ends the call.", "kind": "end_call"})
            }
            "placeCall" => json!({"agent_id": NOBODY, "to": "+15005550001"}),
            "createPhoneNumber" => json!({"phone_number": "+15005550177"}),
            "createBatch" => {
                json!({"name": "Spring", "agent_id": NOBODY, "recipients": [{"to": "+15005550001"}]})
            }
            "createCampaign" => json!({"name": "Summer", "agent_id": NOBODY}),
            "addCampaignRecipients" => json!({"recipients": [{"to": "+15005550001"}]}),
            "createDocument" => json!({"name": "Pool", "text": "It opens at nine."}),
            "setAgentSettings" => json!({"time_zone": null}),
            "setWidget" => json!({"enabled": false}),
            "setAnalysisSchema" => json!({"schema": {"type": "object"}}),
            "createSuppression" => json!({"number": "+15005550001"}),
            "createScenario" => json!({
                "agent_id": NOBODY, "name": "Greets", "turns": ["Hello."], "checks": [{"kind": "honest"}],
            }),
            "updateScenario" => json!({"runs": 2}),
            "checkDials" => json!({"to": "+15005550001"}),
            "createFolder" => json!({"name": "Rooms"}),
            "searchKnowledge" => json!({"query": "When does it open?"}),
            "createWebhook" => json!({"url": "https://example.com/hook"}),
            "recoverWebhook" => json!({"since": "2026-04-30T00:00:00Z"}),
            "updateAgent" | "updateDocument" | "updateFolder" => json!({"name": "New"}),
            "updateTool" | "updateWebhook" => json!({"description": "New"}),
            "updatePhoneNumber" => json!({"label": "New"}),
            _ => json!({}),
        };
        let required = self.required();
        for name in &required {
            assert!(body.get(name).is_some(), "{}: give `{name}` here", self.id);
        }
        body
    }

    /// The required fields of a JSON body.
    fn required(&self) -> Vec<String> {
        let described = INTERFACE.operation(&self.method, &self.path);
        let body = described.map_or(&Value::Null, |operation| &operation["requestBody"]);
        let target = body["content"]["application/json"]["schema"]["$ref"].as_str();
        let target = target.unwrap_or_default().trim_start_matches('#');
        let schema = INTERFACE.document().pointer(target);
        let names = schema.and_then(|schema| schema["required"].as_array());
        names.into_iter().flatten().map(text).collect()
    }

    /// A request for it that only lacks a key.
    pub(crate) fn request(&self, app: &TestApp, id: &str) -> Request {
        let request = app.bare(&self.method, &self.target(id));
        match self.has_body {
            true => request.json(self.body()),
            false => request,
        }
    }
}
