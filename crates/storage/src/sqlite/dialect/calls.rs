//! The statements on calls that differ, for SQLite.

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use offhook_domain::{CallState, ClaimId, ConversationId};

use super::super::Conn;
use crate::schema::{conversation_moments as moments, conversations as calls};
use crate::sql::V;
use crate::{Fenced, NewTurn, StoreError};

/// The conversations that these ids name, for the duration of the transaction.
pub(crate) async fn skip_locked_calls(
    _conn: &mut Conn,
    ids: Vec<ConversationId>,
) -> Result<Vec<ConversationId>, StoreError> {
    Ok(ids)
}

/// Appends a turn to a live call.
pub(crate) async fn append_turn(
    conn: &mut Conn,
    id: ConversationId,
    claim: ClaimId,
    turn: NewTurn,
) -> Result<Fenced, StoreError> {
    let counts = i32::from(turn.role != "tool");
    let seq: Option<i32> = diesel::update(calls::table.find(V(id)))
        .filter(
            calls::state
                .eq(V(CallState::Live))
                .and(calls::claim_id.eq(V(claim))),
        )
        .set((
            calls::last_seq.eq(calls::last_seq + 1),
            calls::messages_count.eq(calls::messages_count + counts),
        ))
        .returning(calls::last_seq)
        .get_result(conn)
        .await
        .optional()?;
    let Some(seq) = seq else {
        return Ok(Fenced::Lost);
    };
    diesel::insert_into(moments::table)
        .values((
            moments::conversation_id.eq(V(id)),
            moments::seq.eq(seq),
            moments::at.eq(V(turn.started_at)),
            moments::role.eq(turn.role),
            moments::content.eq(turn.text),
            moments::duration_ms.eq(turn.duration_ms),
            moments::interrupted.eq(turn.interrupted),
            moments::latency.eq(turn.latency),
        ))
        .execute(conn)
        .await?;
    Ok(Fenced::Done)
}
