//! How text conversations end: closed by whoever ends them, summarised, settled.

use crate::database::RunQueryDsl;
use crate::store::{Answer, read};
use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::Bool;
use offhook_domain::{AgentId, CallState, ClaimId, ConversationId, NodeId, Timestamp};

use super::{analyses, chats, moments, usage, wallets, widgets};
use crate::database::Conn;
use crate::records::is_widget_origin;
use crate::schema::{chat_sessions as sessions, conversations as calls};
use crate::sql::V;
use crate::{ChatEnding, ClosingChat, Conversation, Result, Store, UsageDay};

/// Conversations on WhatsApp, or all others, that are not settled: written out for the partial indexes.
fn is_unsettled(on_whatsapp: bool) -> diesel::expression::SqlLiteral<Bool> {
    sql(match on_whatsapp {
        true => "NOT chat_sessions.is_settled AND chat_sessions.origin = 'whatsapp'",
        false => "NOT chat_sessions.is_settled AND chat_sessions.origin <> 'whatsapp'",
    })
}

/// Closes an open conversation under a claim until `lease`, whoever was answering in it. `None` if it is open no more, or
/// not idle for as long as is asked.
pub(crate) async fn close(
    conn: &mut Conn,
    id: ConversationId,
    ending: ChatEnding,
    lease: Timestamp,
) -> Result<Option<ClosingChat>> {
    let Some(session) = chats::lock(conn, id).await? else {
        return Ok(None);
    };
    let is_idle = ending
        .idle_before
        .is_none_or(|before| session.active_at < before);
    if !session.is_open || !is_idle {
        return Ok(None);
    }
    chats::leave_tools(conn, &session, ending.at).await?;
    let claim: ClaimId = crate::store::mint(ending.at);
    diesel::update(sessions::table.find(V(id)))
        .set((
            sessions::is_open.eq(false),
            sessions::tools_at_work.eq(None::<String>),
            sessions::claim_id.eq(V(claim)),
            sessions::node_id.eq(V(ending.node)),
            sessions::lease_expires_at.eq(V(lease)),
        ))
        .execute(conn)
        .await?;
    let started_at: Timestamp = calls::table
        .find(V(id))
        .select(calls::started_at)
        .first(conn)
        .await?;
    let ended_at = match ending.idle_before {
        Some(_) => session.active_at,
        None => ending.at.max(session.active_at),
    };
    let duration = ended_at.started_seconds_since(started_at);
    let conversation: Conversation = diesel::update(calls::table.find(V(id)))
        .set((
            calls::state.eq(V(CallState::Closing)),
            calls::termination_reason.eq(V(ending.reason)),
            calls::ended_at.eq(V(ended_at)),
            calls::duration_seconds.eq(duration),
            calls::last_seq.eq(calls::last_seq + 1),
        ))
        .returning(Conversation::as_returning())
        .get_result(conn)
        .await?;
    let seq = conversation.last_seq;
    moments::entered(conn, id, seq, CallState::Closing, ended_at).await?;
    let whose = (conversation.account_id, conversation.agent_id);
    analyses::order(conn, whose, id).await?;
    Ok(Some(ClosingChat {
        claim,
        conversation,
    }))
}

impl Store {
    /// Up to `most` open text conversations, on WhatsApp or all others, in which nothing has happened since before `before`.
    pub fn idle_chats(
        &self,
        on_whatsapp: bool,
        before: Timestamp,
        most: i64,
    ) -> Answer<'_, Vec<ConversationId>> {
        read!(self, |conn| {
            Ok(sessions::table
                .filter(is_unsettled(on_whatsapp))
                .filter(sessions::is_open)
                .filter(sessions::active_at.lt(V(before)))
                .order((sessions::active_at, sessions::conversation_id))
                .limit(most)
                .select(sessions::conversation_id)
                .load(conn)
                .await?)
        })
    }
}

/// Takes over conversations whose closing nobody carries on: the lease has run out or, where `alone` is the only process
/// that can live, another one has it.
pub(crate) async fn take_over(
    conn: &mut Conn,
    node: NodeId,
    times: (Timestamp, Timestamp, Timestamp),
    alone: bool,
    most: i64,
) -> Result<Vec<ClosingChat>> {
    let mut taken = take_over_of(conn, false, node, times, alone, most).await?;
    taken.extend(take_over_of(conn, true, node, times, alone, most).await?);
    Ok(taken)
}

async fn take_over_of(
    conn: &mut Conn,
    on_whatsapp: bool,
    node: NodeId,
    (now, lease_now, lease): (Timestamp, Timestamp, Timestamp),
    alone: bool,
    most: i64,
) -> Result<Vec<ClosingChat>> {
    let mut query = sessions::table
        .filter(is_unsettled(on_whatsapp))
        .filter(diesel::dsl::not(sessions::is_open))
        .order((sessions::active_at, sessions::conversation_id))
        .limit(most)
        .select(sessions::conversation_id)
        .into_boxed();
    query = if alone {
        query.filter(
            sessions::lease_expires_at
                .lt(V(lease_now))
                .or(sessions::node_id.ne(V(node))),
        )
    } else {
        query.filter(sessions::lease_expires_at.lt(V(lease_now)))
    };
    let ids: Vec<ConversationId> = query.load(conn).await?;
    let mut taken = Vec::with_capacity(ids.len());
    for id in ids {
        let Some(session) = chats::lock(conn, id).await? else {
            continue;
        };
        let is_lost = session.lease_expires_at.is_some_and(|at| at < lease_now)
            || (alone && session.node_id != Some(node));
        if session.is_open || session.claim_id.is_none() || !is_lost {
            continue;
        }
        let claim: ClaimId = crate::store::mint(now);
        diesel::update(sessions::table.find(V(id)))
            .set((
                sessions::claim_id.eq(V(claim)),
                sessions::node_id.eq(V(node)),
                sessions::lease_expires_at.eq(V(lease)),
            ))
            .execute(conn)
            .await?;
        let conversation = calls::table
            .find(V(id))
            .select(Conversation::as_select())
            .first(conn)
            .await?;
        taken.push(ClosingChat {
            claim,
            conversation,
        });
    }
    Ok(taken)
}

/// The closing transaction: summary, credits, ledger, the day's totals. No event: text conversations emit none.
/// `false` if the claim is another's.
pub(crate) async fn settle(
    conn: &mut Conn,
    id: ConversationId,
    claim: ClaimId,
    summary: &str,
    at: Timestamp,
) -> Result<bool> {
    let settled: Option<(AgentId, i32, i32, String)> = diesel::update(sessions::table.find(V(id)))
        .filter(sessions::claim_id.eq(V(claim)))
        .filter(diesel::dsl::not(sessions::is_open))
        .filter(diesel::dsl::not(sessions::is_settled))
        .set((
            sessions::is_settled.eq(true),
            sessions::claim_id.eq(None::<ClaimId>),
            sessions::node_id.eq(None::<NodeId>),
            sessions::lease_expires_at.eq(None::<Timestamp>),
        ))
        .returning((
            sessions::agent_id,
            sessions::answers,
            sessions::held_day,
            sessions::origin,
        ))
        .get_result(conn)
        .await
        .optional()?;
    let Some((agent, answers, held_day, origin)) = settled else {
        return Ok(false);
    };
    let credits = chats::price(conn, id).await?.of_answers(i64::from(answers));
    let ended: Conversation = diesel::update(calls::table.find(V(id)))
        .set((
            calls::state.eq(V(CallState::Completed)),
            calls::status.eq(V(CallState::Completed.list_status())),
            calls::summary.eq(&*moments::kept(summary)),
            calls::credits.eq(credits),
            calls::last_seq.eq(calls::last_seq + 1),
        ))
        .returning(Conversation::as_returning())
        .get_result(conn)
        .await?;
    moments::entered(conn, id, ended.last_seq, CallState::Completed, at).await?;
    let unspent = chats::held(conn, id).await? - credits;
    // A conversation of no web page counts for no widget.
    if unspent > 0 && is_widget_origin(&origin) {
        widgets::release(conn, agent, held_day, unspent).await?;
    }
    let description = format!("Chat of {answers} answers");
    let entry = (crate::store::mint(at), description.as_str(), at);
    wallets::settle(conn, ended.account_id, id, credits, entry).await?;
    // Last, as every conversation of the account that ends writes to the day's row.
    let day = UsageDay {
        day: ended.started_at.utc_day(),
        calls: 0,
        conversations: 1,
        duration_seconds: ended.duration_seconds.unwrap_or(0),
        credits,
    };
    usage::add(conn, ended.account_id, day).await?;
    Ok(true)
}
