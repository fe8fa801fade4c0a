//! `/widget/v1/sessions`: text conversations of web pages with agents. Not part of the API.

use offhook_services::Answering;

use crate::chat_stream;
use crate::edge::cors;
use crate::prelude::*;
use crate::request::body::Nothing;
use crate::request::page::{Page, Visitor};
use crate::wire::widget::{AnswerBody, SessionBegun, SessionBody, SessionEnded, status};

pub(crate) fn routes() -> Vec<Endpoint> {
    let at = Endpoint::at;
    vec![
        at("/widget/v1/sessions").post(begin).preflight(preflight),
        at("/widget/v1/sessions/{id}").get(get).preflight(preflight),
        at("/widget/v1/sessions/{id}/messages")
            .post(send)
            .preflight(preflight),
        at("/widget/v1/sessions/{id}/end")
            .post(end)
            .preflight(preflight),
    ]
}

/// Answers a preflight. The request's agent is not known yet, so the origin of any widget is allowed.
pub(super) async fn preflight(_: Page) -> Reply {
    Ok(cors::widget_preflight())
}

/// `POST /widget/v1/sessions`
async fn begin(page: Page<Json>) -> Reply {
    let chats = page.state.services.chats();
    let opened = chats.open(&page.origin, &page.body).await?;
    reply::created(&SessionBegun(&opened))
}

/// `GET /widget/v1/sessions/{id}`
async fn get(visitor: Visitor) -> Reply {
    let chats = visitor.state.services.chats();
    let session = chats.transcript(&visitor.view).await?;
    reply::ok(&SessionBody(&session))
}

/// `POST /widget/v1/sessions/{id}/messages`
async fn send(visitor: Visitor<Json>) -> Reply {
    let chats = visitor.state.services.chats();
    let answering = chats.send(&visitor.view, &visitor.body).await?;
    if visitor.wants_events {
        let message_id = visitor.body.get("message_id").and_then(Json::as_str);
        return Ok(chat_stream::open(
            answering,
            message_id,
            visitor.exchange.id,
        ));
    }
    let answer = match answering {
        Answering::Before(answer) => answer,
        Answering::Now(events) => chat_stream::completed(events).await?,
    };
    reply::ok(&AnswerBody(&answer))
}

/// `POST /widget/v1/sessions/{id}/end`
async fn end(visitor: Visitor<Nothing>) -> Reply {
    visitor.state.services.chats().end(&visitor.view).await?;
    reply::ok(&SessionEnded {
        id: visitor.view.session.conversation_id,
        status: status(false),
    })
}
