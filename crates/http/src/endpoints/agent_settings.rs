//! `/v1/agents/{id}/settings`: what is set of an agent beside its configuration.

use offhook_domain::json::Fault;

use crate::prelude::*;
use crate::request::ask::{AgentsRead, AgentsWrite};
use crate::wire::agent_settings::{AgentSettingsBody, Forgotten};

pub(crate) fn routes() -> Vec<Endpoint> {
    vec![
        Endpoint::at("/v1/agents/{id}/settings").get(get).put(set),
        Endpoint::at("/v1/agents/{id}/memory").delete(forget),
    ]
}

/// A customer's number.
struct CallerQuery(E164);

impl FromQuery for CallerQuery {
    fn read(query: &mut QueryReader) -> Result<Self, FieldError> {
        let phone = query.phone("phone")?;
        let phone = phone.ok_or_else(|| FieldError::new("phone", Fault::Required))?;
        Ok(Self(phone))
    }
}

/// `GET /v1/agents/{id}/settings`
async fn get(ask: Ask<AgentsRead, AgentId>) -> Reply {
    let agents = ask.services().agents();
    let view = agents.settings(ask.account(), ask.id).await?;
    reply::ok(&AgentSettingsBody(&view))
}

/// `PUT /v1/agents/{id}/settings`
async fn set(ask: Ask<AgentsWrite, AgentId, (), Json>) -> Reply {
    let agents = ask.services().agents().by(ask.caller.actor());
    let view = agents
        .set_settings(ask.account(), ask.id, &ask.body)
        .await?;
    reply::ok(&AgentSettingsBody(&view))
}

/// `DELETE /v1/agents/{id}/memory`
async fn forget(ask: Ask<AgentsWrite, AgentId, CallerQuery>) -> Reply {
    let agents = ask.services().agents();
    let phone = ask.query.0.clone();
    let forgotten = agents.forget_caller(ask.account(), ask.id, phone).await?;
    reply::ok(&Forgotten { forgotten })
}
