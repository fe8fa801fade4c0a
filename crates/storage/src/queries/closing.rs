//! Ends the media of several calls in one transaction, on PostgreSQL, with statements that do not depend on how many they
//! are.

use super::{analyses as extraction, calls as ends, moments};
use crate::database::Together;
use crate::postgres::dialect::column;
use crate::postgres::sharing::{self, Share, Shared};
use crate::prelude::*;
use futures_util::future::BoxFuture;

/// A call whose media has ended.
#[derive(Debug, Clone)]
pub(crate) struct Closing {
    pub(crate) id: ConversationId,
    pub(crate) claim: ClaimId,
    pub(crate) end: CallEnd,
}

impl Share for Closing {
    type Answer = Fenced;

    /// It waits for no account's rows.
    fn account(&self) -> AccountId {
        AccountId::nil()
    }

    fn together(
        conn: &mut Conn,
        calls: Vec<Self>,
        _: i64,
        _: bool,
    ) -> sharing::Together<'_, Fenced> {
        Box::pin(close_together(conn, calls))
    }

    fn alone(self, conn: &mut Conn, _: i64) -> BoxFuture<'_, Result<Verdict<Fenced>>> {
        Box::pin(ends::close(conn, self))
    }
}

/// The columns needed when a call's media ends.
#[derive(Queryable, Selectable)]
#[diesel(table_name = calls)]
struct Open {
    id: ConversationId,
    claim_id: Option<ClaimId>,
    last_seq: i32,
    account_id: AccountId,
    agent_id: AgentId,
    runtime: Runtime,
    answered_at: Option<Timestamp>,
}

async fn close_together(
    conn: &mut Conn,
    closings: Vec<Closing>,
) -> Result<Verdict<Vec<Shared<Fenced>>>> {
    let open: Vec<Open> = calls::table
        .filter(calls::id.eq_any(closings.iter().map(|one| V(one.id))))
        .filter(calls::state.eq_any([CallState::Dialing, CallState::Live].map(V)))
        .select(Open::as_select())
        .locked("FOR NO KEY UPDATE SKIP LOCKED")
        .load(conn)
        .await?;
    let mut open: HashMap<ConversationId, Open> =
        open.into_iter().map(|call| (call.id, call)).collect();
    let mut done = Vec::with_capacity(closings.len());
    let mut ours: Vec<(&Closing, Open)> = Vec::new();
    for one in &closings {
        // A second step of the same call finds it gone from here, and is judged by itself.
        match open.remove(&one.id) {
            Some(call) if call.claim_id == Some(one.claim) => {
                ours.push((one, call));
                done.push(Shared::Done(Fenced::Done));
            }
            _ => done.push(Shared::Alone),
        }
    }
    ensure!(!ours.is_empty(), Rollback(done));
    let entries = ours.iter().map(|(one, call)| {
        moments::entry(
            one.id,
            call.last_seq + 1,
            CallState::Closing,
            one.end.ended_at,
        )
    });
    // Whether the customer spoke is read by the statement itself.
    let outcome = |spoke| {
        column(&ours, move |(one, _)| {
            V(Outcome::of(one.end.outcome, spoke))
        })
    };
    let reasons = |(one, _): &(&Closing, Open)| one.end.reasons();
    Together::default()
        .bind::<Array<sql::Uuid>, _>(&column(&ours, |(one, _)| V(one.id)))?
        .bind::<Array<Nullable<sql::Word>>, _>(&column(&ours, |one| reasons(one).0.map(V)))?
        .bind::<Array<Nullable<sql::Word>>, _>(&column(&ours, |one| reasons(one).1.map(V)))?
        .bind::<Array<sql::Instant>, _>(&column(&ours, |(one, _)| V(one.end.ended_at)))?
        .bind::<Array<BigInt>, _>(&column(&ours, |(one, _)| one.end.duration_seconds))?
        .bind::<Array<Nullable<Integer>>, _>(&column(&ours, |(one, _)| {
            one.end.latency.map(|l| l.0)
        }))?
        .bind::<Array<Nullable<Integer>>, _>(&column(&ours, |(one, _)| {
            one.end.latency.map(|l| l.1)
        }))?
        .bind::<Array<Nullable<Integer>>, _>(&column(&ours, |(one, _)| {
            one.end.latency.map(|l| l.2)
        }))?
        .bind::<Array<sql::Word>, _>(&outcome(true))?
        .bind::<Array<sql::Word>, _>(&outcome(false))?
        .bind::<Array<Nullable<sql::Instant>>, _>(&column(&ours, |(one, _)| {
            one.end.signaled.rang_at.map(V)
        }))?
        .bind::<Array<Nullable<Integer>>, _>(&column(&ours, |(one, _)| {
            one.end.signaled.carrier_status
        }))?
        .insert(entries.collect())?
        .execute(
            conn,
            "UPDATE conversations SET state = 'closing', termination_reason = s.termination, \
               failure_reason = s.failure, ended_at = s.ended_at, duration_seconds = s.duration, \
               latency_turns = s.turns, latency_p50_ms = s.p50, latency_p95_ms = s.p95, \
               outcome = CASE WHEN EXISTS (SELECT 1 FROM conversation_moments m \
                 WHERE m.conversation_id = s.id AND m.role = 'user') THEN s.spoke ELSE s.silent END, \
               rang_at = s.rang_at, carrier_status = s.carrier_status, \
               dialog = CASE WHEN conversations.runtime = 'legacy' THEN conversations.dialog END, \
               last_seq = conversations.last_seq + 1 \
             FROM UNNEST($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) \
               AS s(id, termination, failure, ended_at, duration, turns, p50, p95, spoke, silent, rang_at, \
                 carrier_status) \
             WHERE conversations.id = s.id",
        )
        .await?;
    let answered: Vec<&Open> = ours
        .iter()
        .map(|(_, call)| call)
        .filter(|call| call.runtime == Runtime::Engine && call.answered_at.is_some())
        .collect();
    let agents: HashSet<AgentId> = answered.iter().map(|call| call.agent_id).collect();
    let extracting = extraction::agents_with_schemas(conn, agents).await?;
    for call in answered {
        if extracting.contains(&call.agent_id) {
            extraction::order(conn, (call.account_id, call.agent_id), call.id).await?;
        }
    }
    Ok(Commit(done))
}
