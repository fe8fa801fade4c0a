//! The statements on calls that differ, for PostgreSQL.

use crate::postgres::{CallStep, Step};
use crate::prelude::*;
use diesel::query_builder::{AstPass, QueryFragment, QueryId};

/// Appends a turn to a live call, in one statement: with thousands of calls, turns are most of what is written.
pub(crate) async fn append_turn(
    conn: &mut Conn,
    id: ConversationId,
    claim: ClaimId,
    turn: NewTurn,
) -> Result<Fenced> {
    let append = AppendTurn {
        id: V(id),
        claim: V(claim),
        live: V(CallState::Live),
        counts: i32::from(turn.role != "tool"),
        at: V(turn.started_at),
        before: turn.seq.map(|seq| seq - 1),
        turn,
    };
    Ok(match append.execute(conn).await? {
        0 => Fenced::Lost,
        _ => Fenced::Done,
    })
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
        "WITH step AS MATERIALIZED (SELECT * FROM UNNEST($1, $2, $3, $4, $5, $6, $7, $8, $11, $12) \
             AS s(id, claim_id, at, role, content, duration_ms, interrupted, latency, dialog, seq)), \
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
             (conversation_id, seq, at, state, role, content, duration_ms, interrupted, latency) \
         SELECT call.id, call.last_seq, step.at, CASE WHEN step.role IS NULL THEN $10 END, \
             step.role, step.content, step.duration_ms, step.interrupted, step.latency \
         FROM call JOIN step ON step.id = call.id \
         RETURNING conversation_id",
    )
    .bind::<Array<sql::Uuid>, _>(super::column(steps, |one| V(one.id)))
    .bind::<Array<sql::Uuid>, _>(super::column(steps, |one| V(one.claim)))
    .bind::<Array<sql::Instant>, _>(super::column(steps, at))
    .bind::<Array<Nullable<Text>>, _>(super::column(steps, |one| turn(one).map(|turn| turn.role)))
    .bind::<Array<Nullable<Text>>, _>(super::column(steps, |one| turn(one).map(|turn| turn.text)))
    .bind::<Array<Nullable<Integer>>, _>(super::column(steps, |one| {
        turn(one).map(|turn| turn.duration_ms)
    }))
    .bind::<Array<Nullable<Bool>>, _>(super::column(steps, |one| {
        turn(one).map(|turn| turn.interrupted)
    }))
    .bind::<Array<Nullable<Text>>, _>(super::column(steps, |one| {
        turn(one).and_then(|turn| turn.latency)
    }))
    .bind::<sql::Word, _>(V(CallState::Dialing))
    .bind::<sql::Word, _>(V(CallState::Live))
    .bind::<Array<Nullable<Text>>, _>(super::column(steps, dialog))
    .bind::<Array<Nullable<Integer>>, _>(super::column(steps, |one| {
        turn(one).and_then(|turn| turn.seq)
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

struct AppendTurn {
    id: V<ConversationId>,
    claim: V<ClaimId>,
    live: V<CallState>,
    /// 1 if it is a message.
    counts: i32,
    at: V<Timestamp>,
    /// The last moment before it, if known.
    before: Option<i32>,
    turn: NewTurn,
}

impl QueryFragment<Db> for AppendTurn {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Db>) -> QueryResult<()> {
        out.push_sql(
            "WITH call AS (UPDATE conversations \
             SET last_seq = last_seq + 1, messages_count = messages_count + ",
        );
        out.push_bind_param::<Integer, _>(&self.counts)?;
        out.push_sql(" WHERE id = ");
        out.push_bind_param::<sql::Uuid, _>(&self.id)?;
        out.push_sql(" AND claim_id = ");
        out.push_bind_param::<sql::Uuid, _>(&self.claim)?;
        out.push_sql(" AND state = ");
        out.push_bind_param::<sql::Word, _>(&self.live)?;
        out.push_sql(" AND last_seq = COALESCE(");
        out.push_bind_param::<Nullable<Integer>, _>(&self.before)?;
        out.push_sql(
            ", last_seq) RETURNING id, last_seq) INSERT INTO conversation_moments \
             (conversation_id, seq, at, role, content, duration_ms, interrupted, latency) \
             SELECT id, last_seq, ",
        );
        out.push_bind_param::<sql::Instant, _>(&self.at)?;
        out.push_sql(", ");
        out.push_bind_param::<Text, _>(&self.turn.role)?;
        out.push_sql(", ");
        out.push_bind_param::<Text, _>(&self.turn.text)?;
        out.push_sql(", ");
        out.push_bind_param::<Integer, _>(&self.turn.duration_ms)?;
        out.push_sql(", ");
        out.push_bind_param::<Bool, _>(&self.turn.interrupted)?;
        out.push_sql(", ");
        out.push_bind_param::<Nullable<Text>, _>(&self.turn.latency)?;
        out.push_sql(" FROM call");
        Ok(())
    }
}

impl QueryId for AppendTurn {
    type QueryId = Self;
    const HAS_STATIC_QUERY_ID: bool = true;
}
