//! The statements on calls that differ, for PostgreSQL.

use super::column;
use crate::prelude::*;
use crate::{CallStep, Step};

/// Appends a turn to a live call, in one statement: with thousands of calls, turns are most of what is written.
pub(crate) async fn append_turn(
    conn: &mut Conn,
    id: ConversationId,
    claim: ClaimId,
    turn: NewTurn,
) -> Result<Fenced> {
    let appended = diesel::sql_query(
        "WITH call AS (UPDATE conversations \
             SET last_seq = last_seq + 1, messages_count = messages_count + $1 \
             WHERE id = $2 AND claim_id = $3 AND state = $4 AND last_seq = COALESCE($5, last_seq) \
             RETURNING id, last_seq) \
         INSERT INTO conversation_moments \
             (conversation_id, seq, at, role, content, duration_ms, interrupted, latency, source) \
         SELECT id, last_seq, $6, $7, $8, $9, $10, $11, $12 FROM call",
    )
    .bind::<Integer, _>(i32::from(turn.role != "tool"))
    .bind::<sql::Uuid, _>(V(id))
    .bind::<sql::Uuid, _>(V(claim))
    .bind::<sql::Word, _>(V(CallState::Live))
    .bind::<Nullable<Integer>, _>(turn.seq.map(|seq| seq - 1))
    .bind::<sql::Instant, _>(V(turn.started_at))
    .bind::<Text, _>(turn.role)
    .bind::<Text, _>(turn.text)
    .bind::<Integer, _>(turn.duration_ms)
    .bind::<Bool, _>(turn.interrupted)
    .bind::<Nullable<Text>, _>(turn.latency)
    .bind::<Nullable<Text>, _>(turn.source)
    .changes(conn)
    .await?;
    Ok(Fenced::of(appended))
}

/// Applies one step to each of several calls, and returns the calls that took theirs. Skips rows that another
/// transaction has locked: waiting for one row while holding others could deadlock.
pub(crate) async fn take_steps(
    conn: &mut Conn,
    steps: &[CallStep],
) -> Result<HashSet<ConversationId>> {
    let turn = |step: &CallStep| match &step.step {
        Step::Answered(..) => None,
        Step::Turn(turn) => Some(turn.clone()),
    };
    let dialog = |step: &CallStep| match &step.step {
        Step::Answered(_, dialog) => dialog.clone(),
        Step::Turn(_) => None,
    };
    let at = |step: &CallStep| match &step.step {
        Step::Answered(at, _) => V(*at),
        Step::Turn(turn) => V(turn.started_at),
    };
    let taken = diesel::sql_query(
        "WITH step AS MATERIALIZED (SELECT * FROM UNNEST($1, $2, $3, $4, $5, $6, $7, $8, $11, $12, $13) \
             AS s(id, claim_id, at, role, content, duration_ms, interrupted, latency, dialog, seq, source)), \
         free AS MATERIALIZED (SELECT c.id FROM step JOIN conversations c ON c.id = step.id \
             WHERE c.claim_id = step.claim_id AND c.state = CASE WHEN step.role IS NULL THEN $9 ELSE $10 END \
             AND c.last_seq = COALESCE(step.seq - 1, c.last_seq) \
             FOR NO KEY UPDATE OF c SKIP LOCKED), \
         call AS (UPDATE conversations c SET state = $10, \
             answered_at = CASE WHEN step.role IS NULL THEN step.at ELSE c.answered_at END, \
             dialog = COALESCE(step.dialog, c.dialog), \
             last_seq = c.last_seq + 1, \
             messages_count = c.messages_count + CASE WHEN step.role IN ('agent', 'user') THEN 1 ELSE 0 END \
             FROM free JOIN step ON step.id = free.id WHERE c.id = free.id \
             RETURNING c.id, c.last_seq) \
         INSERT INTO conversation_moments \
             (conversation_id, seq, at, state, role, content, duration_ms, interrupted, latency, source) \
         SELECT call.id, call.last_seq, step.at, CASE WHEN step.role IS NULL THEN $10 END, \
             step.role, step.content, step.duration_ms, step.interrupted, step.latency, step.source \
         FROM call JOIN step ON step.id = call.id \
         RETURNING conversation_id",
    )
    .bind::<Array<sql::Uuid>, _>(column(steps, |one| V(one.id)))
    .bind::<Array<sql::Uuid>, _>(column(steps, |one| V(one.claim)))
    .bind::<Array<sql::Instant>, _>(column(steps, at))
    .bind::<Array<Nullable<Text>>, _>(column(steps, |one| turn(one).map(|turn| turn.role)))
    .bind::<Array<Nullable<Text>>, _>(column(steps, |one| turn(one).map(|turn| turn.text)))
    .bind::<Array<Nullable<Integer>>, _>(column(steps, |one| {
        turn(one).map(|turn| turn.duration_ms)
    }))
    .bind::<Array<Nullable<Bool>>, _>(column(steps, |one| {
        turn(one).map(|turn| turn.interrupted)
    }))
    .bind::<Array<Nullable<Text>>, _>(column(steps, |one| {
        turn(one).and_then(|turn| turn.latency)
    }))
    .bind::<sql::Word, _>(V(CallState::Dialing))
    .bind::<sql::Word, _>(V(CallState::Live))
    .bind::<Array<Nullable<Text>>, _>(column(steps, dialog))
    .bind::<Array<Nullable<Integer>>, _>(column(steps, |one| {
        turn(one).and_then(|turn| turn.seq)
    }))
    .bind::<Array<Nullable<Text>>, _>(column(steps, |one| {
        turn(one).and_then(|turn| turn.source)
    }))
    .load::<Taken, _>(conn)
    .await?;
    Ok(taken.into_iter().map(|row| row.conversation_id).collect())
}

#[derive(QueryableByName)]
struct Taken {
    #[diesel(sql_type = sql::Uuid)]
    conversation_id: ConversationId,
}
