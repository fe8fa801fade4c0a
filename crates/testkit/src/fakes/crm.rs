//! HubSpot's CRM API, as far as finding contacts and logging calls goes.

use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::{Value, json};

use super::oauth::Authority;
use crate::upstream::{Answer, Asked, Upstream};

/// Where contacts are looked for.
pub const SEARCH_PATH: &str = "/crm/v3/objects/contacts/search";

/// Where calls are logged.
pub const CALLS_PATH: &str = "/crm/v3/objects/calls";

#[derive(Default)]
struct State {
    contacts: Vec<Value>,
    calls: Vec<Value>,
}

/// A CRM that listens.
pub struct FakeCrm {
    /// Where it listens, and how it misbehaves.
    pub upstream: Upstream,
    /// Who may come in.
    pub authority: Authority,
    state: Arc<Mutex<State>>,
}

impl FakeCrm {
    /// An empty one.
    pub async fn start() -> Self {
        let authority = Authority::default();
        let state = Arc::<Mutex<State>>::default();
        let stranger = json!({"status": "error", "category": "EXPIRED_AUTHENTICATION"});
        let upstream = authority.guard(&state, stranger, answered).await;
        Self {
            upstream,
            authority,
            state,
        }
    }

    /// Puts a contact into it.
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

    /// Every call that was logged, as it was written.
    pub fn calls(&self) -> Vec<Value> {
        self.state.lock().calls.clone()
    }
}

fn answered(asked: &Asked, state: &mut State) -> Answer {
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
