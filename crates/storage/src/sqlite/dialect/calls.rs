//! The statements on calls that differ, for SQLite.

use crate::prelude::*;
use crate::queries::moments;

define_sql_function! {
    fn coalesce(first: Nullable<Integer>, second: Integer) -> Integer;
}

/// Appends a turn to a live call.
pub(crate) async fn append_turn(
    conn: &mut Conn,
    id: ConversationId,
    claim: ClaimId,
    turn: NewTurn,
) -> Result<Fenced> {
    let counts = i32::from(turn.role != "tool");
    let before = turn.seq.map(|seq| seq - 1);
    let seq: Option<i32> = diesel::update(calls::table.find(V(id)))
        .filter(calls::state.eq(V(CallState::Live)))
        .filter(calls::claim_id.eq(V(claim)))
        .filter(calls::last_seq.eq(coalesce(before, calls::last_seq)))
        .set(row! { calls: last_seq += 1, messages_count += counts })
        .returning(calls::last_seq)
        .get_result(conn)
        .await
        .optional()?;
    let seq = some_or!(seq, Fenced::Lost);
    moments::said(conn, id, seq, turn).await?;
    Ok(Fenced::Done)
}
