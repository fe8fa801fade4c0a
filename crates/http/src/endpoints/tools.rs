//! `/v1/agents/tools`.

use crate::prelude::*;
use crate::request::ask::{AgentsRead, AgentsWrite};
use crate::request::body::Optional;
use crate::wire::Deleted;
use crate::wire::tool::ToolBody;

/// The routes. They come before those of agents, whose ids have the same place in the path.
pub(crate) fn routes() -> Vec<Endpoint> {
    let at = Endpoint::at;
    vec![
        at("/v1/agents/tools").get(list).post(create),
        at("/v1/agents/tools/{id}")
            .get(get)
            .patch(update)
            .delete(delete),
    ]
}

/// `GET /v1/agents/tools`
async fn list(ask: Ask<AgentsRead, (), Listing<()>>) -> Reply {
    let page = ask.query.page_request(ToolId::from_uuid);
    let tools = ask.services().tools().list(ask.account(), page).await?;
    ask.query.answer(
        &tools,
        |view| (view.row.created_at, view.row.id.uuid()),
        ToolBody::from,
    )
}

/// `POST /v1/agents/tools`
async fn create(ask: Ask<AgentsWrite, (), (), Json>) -> Reply {
    let tools = ask.services().tools();
    let view = tools.create(ask.account(), &ask.body).await?;
    ask.made(ResourceKind::Tool, view.row.id.uuid());
    reply::created(&ToolBody::from(&view))
}

/// `GET /v1/agents/tools/{id}`
async fn get(ask: Ask<AgentsRead, ToolId>) -> Reply {
    let view = ask.services().tools().get(ask.account(), ask.id).await?;
    reply::ok(&ToolBody::from(&view))
}

/// `PATCH /v1/agents/tools/{id}`
async fn update(ask: Ask<AgentsWrite, ToolId, (), Optional>) -> Reply {
    let tools = ask.services().tools();
    let view = tools.update(ask.account(), ask.id, &ask.body.0).await?;
    reply::ok(&ToolBody::from(&view))
}

/// `DELETE /v1/agents/tools/{id}`
async fn delete(ask: Ask<AgentsWrite, ToolId>) -> Reply {
    ask.services().tools().delete(ask.account(), ask.id).await?;
    reply::ok(&Deleted::new(ask.id))
}
