//! The moments of a conversation.

use crate::prelude::*;
use std::borrow::Cow;

/// The text without U+0000, which PostgreSQL rejects. The output of a model or a service must not stop a conversation.
pub(crate) fn kept(text: &str) -> Cow<'_, str> {
    if text.contains('\0') {
        Cow::Owned(text.replace('\0', ""))
    } else {
        Cow::Borrowed(text)
    }
}

/// Writes that a state was entered.
pub(super) async fn entered(
    conn: &mut Conn,
    id: ConversationId,
    seq: i32,
    state: CallState,
    at: Timestamp,
) -> Result<()> {
    insert! { conn, moments: conversation_id = id, seq, at, state }
}

/// Whether the conversation's moment `seq` is a turn that began at this time.
pub(super) async fn has(
    conn: &mut Conn,
    id: ConversationId,
    seq: i32,
    at: Timestamp,
) -> Result<bool> {
    moments::table
        .find((V(id), seq))
        .filter(moments::at.eq(V(at)))
        .filter(moments::role.is_not_null())
        .select(moments::seq)
        .exists(conn)
        .await
}

/// Writes a turn as the conversation's moment `seq`.
pub(crate) async fn said(
    conn: &mut Conn,
    id: ConversationId,
    seq: i32,
    turn: NewTurn,
) -> Result<()> {
    insert! {
        conn, moments of turn: conversation_id = id, seq = seq, at = turn.started_at, role,
        content = &*kept(&turn.text), duration_ms, interrupted, latency
    }
}
