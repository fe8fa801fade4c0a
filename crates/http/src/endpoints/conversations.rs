//! `/v1/conversations`.

use offhook_services::store::ConversationFilter;
use uuid::Uuid;

use super::calls::conversation_filter;
use crate::prelude::*;
use crate::recording::{self, Wanted};
use crate::request::ask::ConversationsRead;
use crate::streams::{self, Resume};
use crate::wire::conversation::{ConversationBody, Item, TurnBody};

pub(crate) fn routes() -> Vec<Endpoint> {
    let at = Endpoint::at;
    vec![
        at("/v1/conversations").get(list),
        at("/v1/conversations/{id}").get(get),
        at("/v1/conversations/{id}/turns").get(turns),
        at("/v1/conversations/{id}/audio").get(audio),
        at("/v1/conversations/{id}/events").get(events),
    ]
}

impl FromQuery for ConversationFilter {
    fn read(query: &mut QueryReader) -> Result<Self, FieldError> {
        conversation_filter(query, Channel::ALL)
    }
}

/// `GET /v1/conversations`
async fn list(ask: Ask<ConversationsRead, (), Listing<ConversationFilter>>) -> Reply {
    let page = ask.query.page_request(ConversationId::from_uuid);
    let filter = ask.query.filters.clone();
    let conversations = ask.services().conversations();
    let page = conversations.list(&ask.caller, filter, page).await?;
    ask.query.answer(
        &page,
        |view| (view.conversation.started_at, view.conversation.id.uuid()),
        Item::conversation,
    )
}

/// `GET /v1/conversations/{id}`
async fn get(ask: Ask<ConversationsRead, ConversationId>) -> Reply {
    let conversations = ask.services().conversations();
    let found = conversations.transcript(&ask.caller, ask.id).await?;
    let (view, turns) = found.ok_or_else(ApiError::not_found)?;
    let analysis = conversations.analysis(&view).await?;
    reply::ok(&ConversationBody::new(&view, &turns, analysis.as_ref())?)
}

/// `GET /v1/conversations/{id}/turns`: the oldest first; the sort key is the moment's number.
async fn turns(ask: Ask<ConversationsRead, ConversationId, Listing<()>>) -> Reply {
    let after = ask.query.after.map_or(0, |(seq, _)| seq.micros());
    let after = i32::try_from(after).unwrap_or(i32::MAX);
    let conversations = ask.services().conversations();
    let turns = conversations
        .turns(&ask.caller, ask.id, after, ask.query.limit)
        .await?;
    ask.query.answer(
        &turns.ok_or_else(ApiError::not_found)?,
        |turn| (Timestamp::from_micros(i64::from(turn.seq)), Uuid::nil()),
        TurnBody,
    )
}

/// `GET /v1/conversations/{id}/audio`
async fn audio(ask: Ask<ConversationsRead, ConversationId, (), Wanted>) -> Reply {
    let conversations = ask.services().conversations();
    let found = conversations.recording(&ask.caller, ask.id).await?;
    let recording = found.ok_or_else(ApiError::not_found)?;
    recording::answer(ask.id, recording, &ask.body).await
}

/// `GET /v1/conversations/{id}/events`
async fn events(ask: Ask<ConversationsRead, ConversationId, (), Resume>) -> Reply {
    let conversations = ask.services().conversations();
    let found = conversations.get(&ask.caller, ask.id, false).await?;
    found.ok_or_else(ApiError::not_found)?;
    streams::of_conversation(&ask.state, &ask.caller, ask.id, &ask.body).await
}
