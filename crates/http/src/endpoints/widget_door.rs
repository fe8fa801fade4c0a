//! `/widget/v1/agents/{id}`: what an agent's widget may do on a page, and `…/voice`, the page's voice conversation.
//! Not part of the API.

use super::widget_sessions::preflight;
use crate::prelude::*;
use crate::request::ask::FromPath;
use crate::request::page::Page;
use crate::voice_socket::{self, Incoming};
use crate::wire::widget::DoorBody;

pub(crate) fn routes() -> Vec<Endpoint> {
    let door = Endpoint::at("/widget/v1/agents/{id}");
    let voice = Endpoint::at("/widget/v1/agents/{id}/voice");
    vec![door.get(get).preflight(preflight), voice.get(talk)]
}

/// `GET /widget/v1/agents/{id}`
async fn get(page: Page, req: HttpRequest) -> Reply {
    let chats = page.state.services.chats();
    let door = chats
        .door(&page.origin, AgentId::of(req.match_info()))
        .await?;
    reply::ok(&DoorBody(&door))
}

/// `GET /widget/v1/agents/{id}/voice`: a WebSocket, which is the session. A browser does not tell a page why a
/// handshake failed. So only the page's origin is checked before the handshake.
async fn talk(page: Page<Incoming>, req: HttpRequest) -> Reply {
    voice_socket::open(page, &req)
}
