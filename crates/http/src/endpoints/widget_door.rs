//! `/widget/v1/agents/{id}`: what an agent's widget may do on a page. Not part of the interface (decision 1.13).

use actix_web::HttpRequest;
use offhook_domain::AgentId;

use super::widget_sessions::preflight;
use crate::ask::FromPath;
use crate::page::Page;
use crate::reply::{self, Reply};
use crate::routes::Endpoint;
use crate::wire::widget::DoorBody;

/// The path.
pub(crate) fn routes() -> Vec<Endpoint> {
    let door = Endpoint::at("/widget/v1/agents/{id}");
    vec![door.get(get).preflight(preflight)]
}

/// `GET /widget/v1/agents/{id}`
async fn get(page: Page, req: HttpRequest) -> Reply {
    let chats = page.state.services.chats();
    let door = chats
        .door(&page.origin, AgentId::of(req.match_info()))
        .await?;
    reply::ok(&DoorBody::from(&door))
}
