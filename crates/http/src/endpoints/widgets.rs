//! `/v1/agents/{id}/widget`: which web pages may talk to an agent.

use crate::prelude::*;
use crate::request::ask::{AgentsRead, AgentsWrite};
use crate::wire::widget::WidgetBody;

pub(crate) fn routes() -> Vec<Endpoint> {
    vec![Endpoint::at("/v1/agents/{id}/widget").get(get).put(set)]
}

/// `GET /v1/agents/{id}/widget`
async fn get(ask: Ask<AgentsRead, AgentId>) -> Reply {
    let widgets = ask.services().widgets();
    let settings = widgets.get(ask.account(), ask.id).await?;
    reply::ok(&WidgetBody(&settings))
}

/// `PUT /v1/agents/{id}/widget`
async fn set(ask: Ask<AgentsWrite, AgentId, (), Json>) -> Reply {
    let widgets = ask.services().widgets();
    let settings = widgets.set(ask.account(), ask.id, &ask.body).await?;
    reply::ok(&WidgetBody(&settings))
}
