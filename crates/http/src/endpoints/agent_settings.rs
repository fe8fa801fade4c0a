//! `/v1/agents/{id}/settings`: what is set of an agent beside its configuration.

use offhook_domain::{AgentId, Json};

use crate::endpoint::Endpoint;
use crate::reply::{self, Reply};
use crate::request::ask::{AgentsRead, AgentsWrite, Ask};
use crate::wire::agent_settings::AgentSettingsBody;

pub(crate) fn routes() -> Vec<Endpoint> {
    vec![Endpoint::at("/v1/agents/{id}/settings").get(get).put(set)]
}

/// `GET /v1/agents/{id}/settings`
async fn get(ask: Ask<AgentsRead, AgentId>) -> Reply {
    let agents = ask.services().agents();
    let view = agents.settings(ask.account(), ask.id).await?;
    reply::ok(&AgentSettingsBody(&view))
}

/// `PUT /v1/agents/{id}/settings`
async fn set(ask: Ask<AgentsWrite, AgentId, (), Json>) -> Reply {
    let agents = ask.services().agents();
    let view = agents
        .set_settings(ask.account(), ask.id, &ask.body)
        .await?;
    reply::ok(&AgentSettingsBody(&view))
}
