//! `/v1/calls`.

use offhook_services::PlaceCall;
use offhook_services::store::ConversationFilter;

use crate::prelude::*;
use crate::request::ask::{CallsRead, CallsWrite};
use crate::request::body::Nothing;
use crate::request::idempotency::Repeatable;
use crate::wire::conversation::{Detail, HangUpBody, Item};

pub(crate) fn routes() -> Vec<Endpoint> {
    let at = Endpoint::at;
    vec![
        at("/v1/calls").get(list).post(place),
        at("/v1/calls/{id}").get(get),
        at("/v1/calls/{id}/hangup").post(hang_up),
    ]
}

/// The filters of conversations, with voice channels only.
pub(crate) struct VoiceFilter(ConversationFilter);

impl FromQuery for VoiceFilter {
    fn read(query: &mut QueryReader) -> Result<Self, FieldError> {
        let channels = [Channel::Phone, Channel::WidgetVoice, Channel::Unknown];
        conversation_filter(query, &channels).map(|filter| {
            Self(ConversationFilter {
                voice_only: true,
                ..filter
            })
        })
    }
}

/// The filters of both lists, in the documented order.
pub(super) fn conversation_filter(
    query: &mut QueryReader,
    channels: &[Channel],
) -> Result<ConversationFilter, FieldError> {
    let (since, until) = query.period()?;
    Ok(ConversationFilter {
        voice_only: false,
        since,
        until,
        agent: query.id::<AgentId>("agent_id")?,
        status: query.choice("status", ConversationStatus::choices)?,
        outcome: None,
        channel: query.one_of("channel", channels)?,
        phone: query.phone("phone")?,
        tag: None,
    })
}

/// `GET /v1/calls`
async fn list(ask: Ask<CallsRead, (), Listing<VoiceFilter>>) -> Reply {
    let page = ask.query.page_request(ConversationId::from_uuid);
    let filter = ask.query.filters.0.clone();
    let conversations = ask.services().conversations();
    let calls = conversations.list(&ask.caller, filter, page).await?;
    ask.query.answer(
        &calls,
        |view| (view.conversation.started_at, view.conversation.id.uuid()),
        Item::call,
    )
}

/// `POST /v1/calls`
async fn place(ask: Ask<CallsWrite, (), (), Repeatable>) -> Reply {
    let request = PlaceCall {
        caller: &ask.caller,
        idempotency_key: ask.body.key.clone(),
        body: ask.body.json.clone(),
        request_id: ask.exchange.id,
    };
    reply::placed(ask.services().calls().place(request).await?)
}

/// `GET /v1/calls/{id}`
async fn get(ask: Ask<CallsRead, CallHandle>) -> Reply {
    let conversations = ask.services().conversations();
    let view = conversations.get(&ask.caller, ask.id.0, true).await?;
    reply::ok(&Detail::call(&view.ok_or_else(ApiError::not_found)?)?)
}

/// `POST /v1/calls/{id}/hangup`
async fn hang_up(ask: Ask<CallsWrite, CallHandle, (), Nothing>) -> Reply {
    let calls = ask.services().calls();
    let status = calls.hang_up(&ask.caller, ask.id).await?;
    reply::accepted(&HangUpBody { id: ask.id, status })
}
