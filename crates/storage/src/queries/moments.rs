//! The moments of a conversation.

use crate::prelude::*;
use diesel::query_builder::{QueryFragment, QueryId};
use std::borrow::Cow;

/// The text without U+0000, which PostgreSQL rejects. The output of a model or a service must not stop a conversation.
pub(crate) fn kept(text: &str) -> Cow<'_, str> {
    if text.contains('\0') {
        Cow::Owned(text.replace('\0', ""))
    } else {
        Cow::Borrowed(text)
    }
}

/// The statement that inserts that a state was entered.
pub(super) fn entry(
    id: ConversationId,
    seq: i32,
    state: CallState,
    at: Timestamp,
) -> impl QueryFragment<Db> + QueryId + Send {
    diesel::insert_into(moments::table)
        .values(row! { moments: conversation_id = id, seq, at, state })
}

/// Writes that a state was entered.
pub(super) async fn entered(
    conn: &mut Conn,
    id: ConversationId,
    seq: i32,
    state: CallState,
    at: Timestamp,
) -> Result<()> {
    entry(id, seq, state, at).run(conn).await
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

/// Whether the customer said anything.
pub(super) async fn has_customer(conn: &mut Conn, id: ConversationId) -> Result<bool> {
    moments::table
        .filter(moments::conversation_id.eq(V(id)))
        .filter(moments::role.eq("user"))
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
        content = &*kept(&turn.text), duration_ms, interrupted, latency, source
    }
}
