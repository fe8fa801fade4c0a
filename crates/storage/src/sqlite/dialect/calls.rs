//! The statements on calls that differ, for SQLite.

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use offhook_domain::{CallState, ClaimId, ConversationId};

use super::super::Conn;
use super::super::queries::moments;
use crate::schema::conversations as calls;
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
    moments::said(conn, id, seq, turn).await?;
    Ok(Fenced::Done)
}
