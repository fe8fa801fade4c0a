//! One page query, serialized: the newest 20 calls of an account.

use actix_web::error::ErrorInternalServerError;
use actix_web::web::{Data, Path};
use actix_web::{HttpResponse, Result};
use offhook_domain::{AccountId, AgentId, CallHandle, Channel, ConversationId, E164};
use offhook_domain::{Runtime, TerminationReason, Timestamp};
use offhook_storage::{ConversationFilter, ConversationView, Store};
use serde::Serialize;

#[derive(Serialize)]
struct Page<'a> {
    data: Vec<Item<'a>>,
    has_more: bool,
}

#[rustfmt::skip] // one line for each member
#[derive(Serialize)]
struct Item<'a> {
    id: ConversationId,
    call_id: CallHandle,
    runtime: Runtime,
    channel: Option<Channel>,
    agent: (AgentId, &'a str),
    status: &'static str,
    from: Option<&'a E164>,
    to: Option<&'a E164>,
    customer_phone: Option<&'a E164>,
    started_at: Timestamp,
    ended_at: Option<Timestamp>,
    duration_seconds: Option<i64>,
    credits: Option<i64>,
    summary: Option<&'a str>,
    has_audio: bool,
    termination_reason: Option<TerminationReason>,
}

#[rustfmt::skip] // as above
fn item(ConversationView { conversation: c, agent_name }: &ConversationView) -> Item<'_> {
    Item {
        id: c.id, call_id: CallHandle(c.id), runtime: c.runtime, channel: c.channel, agent: (c.agent_id, agent_name),
        status: c.status.as_str(), from: c.from_number.as_ref(), to: c.to_number.as_ref(),
        customer_phone: c.customer_phone.as_ref(), started_at: c.started_at, ended_at: c.ended_at,
        duration_seconds: c.duration_seconds, credits: c.credits, summary: c.summary.as_deref(),
        has_audio: c.has_audio, termination_reason: c.termination_reason,
    }
}

pub(crate) async fn list(store: Data<Store>, account: Path<String>) -> Result<HttpResponse> {
    let account: AccountId = account.parse().map_err(ErrorInternalServerError)?;
    let filter = ConversationFilter {
        voice_only: true,
        ..ConversationFilter::default()
    };
    let rows = store.conversations(account, filter, None, 20).await;
    let rows = rows.map_err(ErrorInternalServerError)?;
    let data = rows.iter().take(20).map(item).collect();
    let has_more = rows.len() > 20;
    Ok(HttpResponse::Ok().json(Page { data, has_more }))
}
