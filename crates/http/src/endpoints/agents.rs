//! `/v1/agents`.

use offhook_services::store::AgentFilter;

use crate::prelude::*;
use crate::request::ask::{AgentsRead, AgentsWrite};
use crate::request::body::Optional;
use crate::wire::agent::{AgentBody, Archived};

pub(crate) fn routes() -> Vec<Endpoint> {
    let at = Endpoint::at;
    vec![
        at("/v1/agents").get(list).post(create),
        at("/v1/agents/{id}").get(get).patch(update).delete(archive),
        at("/v1/agents/{id}/publish").post(publish),
    ]
}

/// The longest search text in characters; the same as for voices.
const MAX_Q_CHARS: usize = 100;

impl FromQuery for AgentFilter {
    fn read(query: &mut QueryReader) -> Result<Self, FieldError> {
        Ok(Self {
            runtime: query.choice("runtime", Runtime::choices)?,
            status: query.choice("status", AgentStatus::choices)?,
            q: query.text("q", MAX_Q_CHARS)?,
        })
    }
}

/// `GET /v1/agents`
async fn list(ask: Ask<AgentsRead, (), Listing<AgentFilter>>) -> Reply {
    let page = ask.query.page_request(AgentId::from_uuid);
    let filter = ask.query.filters.clone();
    let agents = ask.services().agents();
    let agents = agents.list(ask.account(), filter, page).await?;
    let numbers = ask.services().agents();
    let numbers = numbers.numbers_of(ask.account(), &agents.items).await?;
    ask.query.answer(
        &agents,
        |agent| (agent.created_at, agent.id.uuid()),
        |agent| AgentBody::listed(agent, &numbers),
    )
}

/// `POST /v1/agents`
async fn create(ask: Ask<AgentsWrite, (), (), Json>) -> Reply {
    let agents = ask.services().agents().by(ask.caller.actor());
    let view = agents.create(ask.account(), &ask.body).await?;
    ask.made(ResourceKind::Agent, view.agent.id.uuid());
    reply::created(&AgentBody::from(&view))
}

/// `GET /v1/agents/{id}`
async fn get(ask: Ask<AgentsRead, AgentId>) -> Reply {
    let view = ask.services().agents().get(ask.account(), ask.id).await?;
    reply::ok(&AgentBody::from(&view))
}

/// `PATCH /v1/agents/{id}`
async fn update(ask: Ask<AgentsWrite, AgentId, (), Optional>) -> Reply {
    let agents = ask.services().agents().by(ask.caller.actor());
    let view = agents.update(ask.account(), ask.id, &ask.body.0).await?;
    reply::ok(&AgentBody::from(&view))
}

/// `DELETE /v1/agents/{id}`
async fn archive(ask: Ask<AgentsWrite, AgentId>) -> Reply {
    let agents = ask.services().agents();
    agents.archive(ask.account(), ask.id).await?;
    reply::ok(&Archived {
        id: ask.id,
        archived: true,
    })
}

/// `POST /v1/agents/{id}/publish`
async fn publish(ask: Ask<AgentsWrite, AgentId, (), Optional>) -> Reply {
    let agents = ask.services().agents().by(ask.caller.actor());
    let view = agents.publish(ask.account(), ask.id, &ask.body.0).await?;
    reply::ok(&AgentBody::from(&view))
}
