//! Who owns a call: claims, leases and orphans.

use crate::database::RunQueryDsl;
use crate::queries::locks;
use crate::store::{Answer, read};
use diesel::dsl::sql;
use diesel::expression::SqlLiteral;
use diesel::prelude::*;
use diesel::sql_types::Bool;
use offhook_domain::{AccountId, CallState, ClaimId, ConversationId, NodeId, Timestamp};

use super::moments;
use crate::database::Conn;
use crate::schema::{accounts, conversations as calls};
use crate::sql::V;
use crate::{Account, Conversation, Result, Store};

/// Calls that are dialing, talking or closing, written out: no database sees from a bound value that the partial index of
/// claimed calls applies. Text conversations are nobody's calls: they have claims of their own ([`super::chats`]).
pub(crate) fn is_claimed() -> SqlLiteral<Bool> {
    sql("(conversations.state IN ('dialing', 'live', 'closing') AND conversations.voice)")
}

/// `state = 'queued'`, written out for the partial index of queued calls.
pub(crate) fn is_queued() -> SqlLiteral<Bool> {
    sql("conversations.state = 'queued'")
}

impl Store {
    /// Accounts that have calls waiting, found by skipping through the index from account to account.
    pub fn waiting_accounts(&self) -> Answer<'_, Vec<Account>> {
        read!(self, |conn| {
            let mut found: Vec<AccountId> = Vec::new();
            let mut after: Option<AccountId> = None;
            loop {
                let mut query = calls::table
                    .filter(is_queued())
                    .order(calls::account_id)
                    .select(calls::account_id)
                    .limit(1)
                    .into_boxed();
                if let Some(after) = after {
                    query = query.filter(calls::account_id.gt(V(after)));
                }
                let next: Option<AccountId> = query.found(conn).await?;
                match next {
                    Some(account) => {
                        found.push(account);
                        after = Some(account);
                    }
                    None => break,
                }
            }
            if found.is_empty() {
                return Ok(Vec::new());
            }
            Ok(accounts::table
                .filter(accounts::id.eq_any(found.into_iter().map(V)))
                .select(Account::as_select())
                .load(conn)
                .await?)
        })
    }

    /// How many calls wait to be dialed.
    pub fn queue_length(&self) -> Answer<'_, i64> {
        read!(self, |conn| {
            Ok(calls::table
                .filter(is_queued())
                .count()
                .get_result(conn)
                .await?)
        })
    }

    /// This node's calls whose owner has been asked to hang up.
    pub fn hangups(&self, node: NodeId) -> Answer<'_, Vec<ConversationId>> {
        read!(self, |conn| {
            Ok(calls::table
                .filter(calls::node_id.eq(V(node)))
                .filter(calls::hangup_requested)
                .filter(is_claimed())
                .filter(calls::state.eq_any([CallState::Dialing, CallState::Live].map(V)))
                .select(calls::id)
                .load(conn)
                .await?)
        })
    }
}

/// Claims an account's oldest queued calls, as many as its live calls leave room for.
pub(crate) async fn claim(
    conn: &mut Conn,
    account: AccountId,
    limits: (u32, usize),
    times: (Timestamp, Timestamp, Timestamp),
    node: NodeId,
) -> Result<Vec<Conversation>> {
    let (live_limit, most) = limits;
    let (now, accepted_since, lease) = times;
    if !locks::try_lock_account(conn, account).await? {
        return Ok(Vec::new());
    }
    let live: i64 = calls::table
        .filter(calls::account_id.eq(V(account)))
        .filter(is_claimed())
        .count()
        .get_result(conn)
        .await?;
    let room = i64::from(live_limit)
        .saturating_sub(live)
        .min(i64::try_from(most).unwrap_or(i64::MAX));
    if room <= 0 {
        return Ok(Vec::new());
    }
    let ids: Vec<ConversationId> = calls::table
        .filter(calls::account_id.eq(V(account)))
        .filter(is_queued())
        .filter(calls::queued_at.ge(V(accepted_since)))
        .order((calls::started_at, calls::id))
        .limit(room)
        .select(calls::id)
        .load(conn)
        .await?;
    let mut claimed = Vec::with_capacity(ids.len());
    for id in locks::skip_locked_calls(conn, ids).await? {
        claimed.extend(claim_one(conn, id, (now, lease), node).await?);
    }
    Ok(claimed)
}

/// `queued → dialing` of one call; `None` if it is queued no more.
pub(crate) async fn claim_one(
    conn: &mut Conn,
    id: ConversationId,
    (now, lease): (Timestamp, Timestamp),
    node: NodeId,
) -> Result<Option<Conversation>> {
    let claim: ClaimId = crate::store::mint(now);
    let call: Option<Conversation> = diesel::update(calls::table.find(V(id)))
        .filter(is_queued())
        .set((
            calls::state.eq(V(CallState::Dialing)),
            calls::claim_id.eq(V(claim)),
            calls::node_id.eq(V(node)),
            calls::lease_expires_at.eq(V(lease)),
            calls::last_seq.eq(calls::last_seq + 1),
        ))
        .returning(Conversation::as_returning())
        .get_result(conn)
        .await
        .optional()?;
    if let Some(call) = &call {
        moments::entered(conn, id, call.last_seq, CallState::Dialing, now).await?;
    }
    Ok(call)
}

/// Renews the leases of these claims; returns those that were still in force.
pub(crate) async fn renew(
    conn: &mut Conn,
    claims: &[(ConversationId, ClaimId)],
    lease: Timestamp,
) -> Result<Vec<ClaimId>> {
    // Found by the key; a claim is of one conversation alone.
    let renewed: Vec<Option<ClaimId>> = diesel::update(calls::table)
        .filter(calls::id.eq_any(claims.iter().map(|(id, _)| V(*id))))
        .filter(calls::claim_id.eq_any(claims.iter().map(|(_, claim)| V(*claim))))
        .filter(is_claimed())
        .set(calls::lease_expires_at.eq(V(lease)))
        .returning(calls::claim_id)
        .get_results(conn)
        .await?;
    Ok(renewed.into_iter().flatten().collect())
}

/// Takes over up to `most` calls whose lease has run out, or every claimed one when `all` (SQLite at start, where the
/// only process that could own them is gone).
pub(crate) async fn take_orphans(
    conn: &mut Conn,
    all: bool,
    most: i64,
    (now, lease_now, lease): (Timestamp, Timestamp, Timestamp),
    node: NodeId,
) -> Result<Vec<Conversation>> {
    let mut query = calls::table
        .filter(is_claimed())
        .order((calls::account_id, calls::lease_expires_at))
        .select(calls::id)
        .limit(most)
        .into_boxed();
    query = if all {
        query.filter(calls::node_id.ne(V(node)))
    } else {
        query.filter(calls::lease_expires_at.lt(V(lease_now)))
    };
    let ids = query.load(conn).await?;
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let mut taken = Vec::with_capacity(ids.len());
    for id in locks::skip_locked_calls(conn, ids).await? {
        let claim: ClaimId = crate::store::mint(now);
        let mut update = diesel::update(calls::table.find(V(id)))
            .filter(is_claimed())
            .into_boxed();
        update = if all {
            update.filter(calls::node_id.ne(V(node)))
        } else {
            update.filter(calls::lease_expires_at.lt(V(lease_now)))
        };
        let call: Option<Conversation> = update
            .set((
                calls::claim_id.eq(V(claim)),
                calls::node_id.eq(V(node)),
                calls::lease_expires_at.eq(V(lease)),
            ))
            .returning(Conversation::as_returning())
            .get_result(conn)
            .await
            .optional()?;
        taken.extend(call);
    }
    Ok(taken)
}

/// Queued calls that were accepted before `accepted_before`.
pub(crate) async fn overdue(
    conn: &mut Conn,
    accepted_before: Timestamp,
) -> Result<Vec<Conversation>> {
    Ok(calls::table
        .filter(is_queued())
        .filter(calls::queued_at.lt(V(accepted_before)))
        .order((calls::account_id, calls::started_at, calls::id))
        .limit(500)
        .select(Conversation::as_select())
        .load(conn)
        .await?)
}

/// How many calls of the account are dialing, ringing, talking or closing.
pub(crate) async fn live_calls(conn: &mut Conn, account: AccountId) -> Result<i64> {
    Ok(calls::table
        .filter(calls::account_id.eq(V(account)))
        .filter(is_claimed())
        .count()
        .get_result(conn)
        .await?)
}
