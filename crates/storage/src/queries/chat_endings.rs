//! How text conversations end: closed under a claim, summarized, settled.

use super::{analyses, chats, moments, usage, wallets, widgets};
use crate::prelude::*;
use crate::records::is_widget_origin;
use crate::schema::chat_sessions as sessions;

/// Unsettled conversations on WhatsApp, or all others: written out for the partial indexes.
fn is_unsettled(on_whatsapp: bool) -> diesel::expression::SqlLiteral<Bool> {
    sql(match on_whatsapp {
        true => "NOT chat_sessions.is_settled AND chat_sessions.origin = 'whatsapp'",
        false => "NOT chat_sessions.is_settled AND chat_sessions.origin <> 'whatsapp'",
    })
}

impl Store {
    /// Up to `most` open text conversations, on WhatsApp or all others, that have been idle since before `before`.
    pub fn idle_chats(
        &self,
        on_whatsapp: bool,
        before: Timestamp,
        most: i64,
    ) -> Answer<'_, Vec<ConversationId>> {
        sessions::table
            .filter(is_unsettled(on_whatsapp))
            .filter(sessions::is_open)
            .filter(sessions::active_at.lt(V(before)))
            .order((sessions::active_at, sessions::conversation_id))
            .limit(most)
            .select(sessions::conversation_id)
            .read_all(self)
    }

    /// Closes an open text conversation, even if a worker is answering in it: `live → closing`. `None` if it is no
    /// longer open, or not idle for long enough.
    pub fn close_chat(
        &self,
        id: ConversationId,
        ending: ChatEnding,
    ) -> Answer<'_, Option<ClosingChat>> {
        let offset = self.offset();
        transact!(self, |conn| {
            let lease = dialect!(conn, lease_clock(offset))?.plus(lease());
            let session = some_or!(chats::lock(conn, id).await?, Rollback(None));
            let is_idle = ending
                .idle_before
                .is_none_or(|before| session.active_at < before);
            if !session.is_open || !is_idle {
                return Ok(Rollback(None));
            }
            chats::write_lost_tools(conn, &session, ending.at).await?;
            let claim: ClaimId = mint(ending.at);
            diesel::update(sessions::table.find(V(id)))
                .set(row! {
                    sessions: is_open = false, tools_at_work = NULL, claim_id = claim,
                    node_id = ending.node, lease_expires_at = lease
                })
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
            let end = CallOutcome::Completed(ending.reason);
            let outcome = Outcome::of(end, moments::has_customer(conn, id).await?);
            let conversation: Conversation = diesel::update(calls::table.find(V(id)))
                .set(row! {
                    calls: outcome, state = CallState::Closing, termination_reason = ending.reason, ended_at,
                    duration_seconds = ended_at.started_seconds_since(started_at), last_seq += 1
                })
                .returning(Conversation::as_returning())
                .get_result(conn)
                .await?;
            let seq = conversation.last_seq;
            moments::entered(conn, id, seq, CallState::Closing, ended_at).await?;
            let whose = (conversation.account_id, conversation.agent_id);
            analyses::order(conn, whose, id).await?;
            Ok(Commit(Some(ClosingChat {
                claim,
                conversation,
            })))
        })
    }

    /// Claims up to `most` text conversations, on WhatsApp and all others, whose closing has lost its worker: the lease
    /// has expired or, on the embedded database, belongs to a dead process.
    pub fn claim_closing_chats(
        &self,
        node: NodeId,
        now: Timestamp,
        most: i64,
    ) -> Answer<'_, Vec<ClosingChat>> {
        let (offset, alone) = (self.offset(), self.is_embedded());
        transact!(self, |conn| {
            let lease_now = dialect!(conn, lease_clock(offset))?;
            let times = (now, lease_now, lease_now.plus(lease()));
            let mut claimed = claim_lost(conn, false, node, times, alone, most).await?;
            claimed.extend(claim_lost(conn, true, node, times, alone, most).await?);
            Ok(Verdict::keep_if(!claimed.is_empty(), claimed))
        })
    }

    /// `closing → completed`, with summary, credits, ledger and the day's totals in one transaction. `false` if another
    /// worker has the claim. Text conversations emit no event.
    pub fn settle_chat(
        &self,
        id: ConversationId,
        claim: ClaimId,
        summary: String,
        at: Timestamp,
    ) -> Answer<'_, bool> {
        transact!(self, |conn| {
            let settled: Option<(AgentId, i32, i32, String)> =
                diesel::update(sessions::table.find(V(id)))
                    .filter(sessions::claim_id.eq(V(claim)))
                    .filter(not(sessions::is_open))
                    .filter(not(sessions::is_settled))
                    .set(row! {
                        sessions: is_settled = true, claim_id = NULL, node_id = NULL,
                        lease_expires_at = NULL
                    })
                    .returning((
                        sessions::agent_id,
                        sessions::answers,
                        sessions::held_day,
                        sessions::origin,
                    ))
                    .returned(conn)
                    .await?;
            let (agent, answers, held_day, origin) = some_or!(settled, Rollback(false));
            let credits = chats::price(conn, id).await?.of_answers(i64::from(answers));
            let ended: Conversation = diesel::update(calls::table.find(V(id)))
                .set(row! {
                    calls: state = CallState::Completed,
                    status = CallState::Completed.list_status(),
                    summary = &*moments::kept(&summary), credits, last_seq += 1
                })
                .returning(Conversation::as_returning())
                .get_result(conn)
                .await?;
            moments::entered(conn, id, ended.last_seq, CallState::Completed, at).await?;
            let unspent = chats::reserved(conn, id).await? - credits;
            // Only a web page's conversation counts for a widget.
            if unspent > 0 && is_widget_origin(&origin) {
                widgets::release(conn, agent, held_day, unspent).await?;
            }
            let description = EntryText::Chat(answers).to_string();
            let entry = (mint(at), description.as_str(), at);
            wallets::settle(conn, ended.account_id, id, credits, entry).await?;
            // Last, because every ending conversation of the account writes to the day's row.
            let day = UsageDay {
                day: ended.started_at.utc_day(),
                calls: 0,
                conversations: 1,
                duration_seconds: ended.duration_seconds.unwrap_or(0),
                credits,
            };
            usage::add(conn, vec![(ended.account_id, day)]).await?;
            Ok(Commit(true))
        })
    }
}

async fn claim_lost(
    conn: &mut Conn,
    on_whatsapp: bool,
    node: NodeId,
    (now, lease_now, lease): (Timestamp, Timestamp, Timestamp),
    alone: bool,
    most: i64,
) -> Result<Vec<ClosingChat>> {
    let mut query = sessions::table
        .filter(is_unsettled(on_whatsapp))
        .filter(not(sessions::is_open))
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
    let mut claimed = Vec::with_capacity(ids.len());
    for id in ids {
        let Some(session) = chats::lock(conn, id).await? else {
            continue;
        };
        let is_lost = session.lease_expires_at.is_some_and(|at| at < lease_now)
            || (alone && session.node_id != Some(node));
        if session.is_open || session.claim_id.is_none() || !is_lost {
            continue;
        }
        let claim: ClaimId = mint(now);
        diesel::update(sessions::table.find(V(id)))
            .set(row! { sessions: claim_id = claim, node_id = node, lease_expires_at = lease })
            .execute(conn)
            .await?;
        let conversation = calls::table
            .find(V(id))
            .select(Conversation::as_select())
            .first(conn)
            .await?;
        claimed.push(ClosingChat {
            claim,
            conversation,
        });
    }
    Ok(claimed)
}
