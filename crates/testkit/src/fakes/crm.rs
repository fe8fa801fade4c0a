//! HubSpot's CRM API: finding contacts and logging calls.

use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::{Value, json};

use super::oauth::Authority;
use crate::upstream::{Answer, ReceivedRequest, Upstream};

/// The path of the contact search.
pub const SEARCH_PATH: &str = "/crm/v3/objects/contacts/search";

/// The path for logging calls.
pub const CALLS_PATH: &str = "/crm/v3/objects/calls";

#[derive(Default)]
struct State {
    contacts: Vec<Value>,
    calls: Vec<Value>,
}

/// A running fake CRM.
pub struct FakeCrm {
    /// Its HTTP server, for its address and faults.
    pub upstream: Upstream,
    /// The authorization server that issues its tokens.
    pub authority: Authority,
    state: Arc<Mutex<State>>,
}

impl FakeCrm {
    /// An empty CRM.
    pub async fn start() -> Self {
        let authority = Authority::default();
        let state = Arc::<Mutex<State>>::default();
        let stranger = json!({"status": "error", "category": "EXPIRED_AUTHENTICATION"});
        let stranger = Answer::json(401, &stranger);
        let upstream = authority.guard(&state, stranger, answered).await;
        Self {
            upstream,
            authority,
            state,
        }
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

fn answered(asked: &ReceivedRequest, state: &mut State) -> Answer {
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
