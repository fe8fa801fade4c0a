//! The statements on calls that differ, for PostgreSQL.

use diesel::pg::Pg;
use diesel::prelude::*;
use diesel::query_builder::{AstPass, QueryFragment, QueryId};
use diesel::sql_types::{Bool, Integer, Text};
use diesel_async::RunQueryDsl;
use offhook_domain::{CallState, ClaimId, ConversationId, Timestamp};

use super::super::Conn;
use crate::schema::conversations;
use crate::sql::{self, V};
use crate::{Fenced, NewTurn, StoreError};

/// Of these conversations, those that no other transaction has, for the duration of this one.
pub(crate) async fn skip_locked_calls(
    conn: &mut Conn,
    ids: Vec<ConversationId>,
) -> Result<Vec<ConversationId>, StoreError> {
    Ok(conversations::table
        .filter(conversations::id.eq_any(ids.into_iter().map(V)))
        .order(conversations::id)
        .select(conversations::id)
        .for_update()
        .skip_locked()
        .load(conn)
        .await?)
}

/// Appends a turn to a live call, in one statement: with thousands of calls their turns are most of what is written.
pub(crate) async fn append_turn(
    conn: &mut Conn,
    id: ConversationId,
    claim: ClaimId,
    turn: NewTurn,
) -> Result<Fenced, StoreError> {
    let append = AppendTurn {
        id: V(id),
        claim: V(claim),
        live: V(CallState::Live),
        counts: i32::from(turn.role != "tool"),
        at: V(turn.started_at),
        turn,
    };
    Ok(match append.execute(conn).await? {
        0 => Fenced::Lost,
        _ => Fenced::Done,
    })
}

struct AppendTurn {
    id: V<ConversationId>,
    claim: V<ClaimId>,
    live: V<CallState>,
    /// 1 if it is a message.
    counts: i32,
    at: V<Timestamp>,
    turn: NewTurn,
}

impl QueryFragment<Pg> for AppendTurn {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Pg>) -> QueryResult<()> {
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
        out.push_sql(
            " RETURNING id, last_seq) INSERT INTO conversation_moments \
             (conversation_id, seq, at, role, content, duration_ms, interrupted) SELECT id, last_seq, ",
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
        out.push_sql(" FROM call");
        Ok(())
    }
}

impl QueryId for AppendTurn {
    type QueryId = Self;
    const HAS_STATIC_QUERY_ID: bool = true;
}
