//! HubSpot's CRM API: finding contacts and logging calls.

use serde_json::{Value, json};

use super::oauth::{Authority, Fake};
use crate::upstream::{Answer, ReceivedRequest};

/// The path of the contact search.
pub const SEARCH_PATH: &str = "/crm/v3/objects/contacts/search";

/// The path for logging calls.
pub const CALLS_PATH: &str = "/crm/v3/objects/calls";

#[derive(Default)]
pub struct State {
    contacts: Vec<Value>,
    calls: Vec<Value>,
}

/// A running fake CRM.
pub type FakeCrm = Fake<State>;

impl FakeCrm {
    /// An empty CRM.
    pub async fn start() -> Self {
        let stranger = json!({"status": "error", "category": "EXPIRED_AUTHENTICATION"});
        let stranger = Answer::json(401, &stranger);
        let state = State::default();
        Authority::default().guard(state, stranger, answered).await
    }

    /// Adds a contact.
    pub fn put(&self, id: &str, first_name: &str, last_name: &str, phone: &str) {
        let properties = json!({
            "firstname": first_name,
            "lastname": last_name,
            "phone": phone,
            "email": null,
            "company": null,
        });
        let contact = json!({"id": id, "properties": properties, "archived": false});
        self.state.lock().contacts.push(contact);
    }

    /// Every logged call, as it was written.
    pub fn calls(&self) -> Vec<Value> {
        self.state.lock().calls.clone()
    }
}

fn answered(asked: &ReceivedRequest, state: &mut State, _: &Authority) -> Answer {
    match (asked.method.as_str(), asked.path.as_str()) {
        ("POST", SEARCH_PATH) => {
            let query = asked.json();
            let words = query["query"].as_str().unwrap_or_default().to_lowercase();
            let mut found = state.contacts.clone();
            found.retain(|contact| {
                contact["properties"]
                    .to_string()
                    .to_lowercase()
                    .contains(&words)
            });
            let total = found.len();
            found.truncate(
                query["limit"]
                    .as_u64()
                    .and_then(|n| n.try_into().ok())
                    .unwrap_or(10),
            );
            Answer::json(200, &json!({"total": total, "results": found}))
        }
        ("POST", CALLS_PATH) => {
            state.calls.push(asked.json());
            let id = format!("{}", 9_000 + state.calls.len());
            let made = json!({"id": id, "properties": asked.json()["properties"]});
            Answer::json(201, &made)
        }
        _ => Answer::json(404, &json!({"status": "error"})),
    }
}
