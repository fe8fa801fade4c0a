//! The statements on calls that differ, for PostgreSQL.

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use offhook_domain::ConversationId;

use super::super::Conn;
use crate::StoreError;
use crate::schema::conversations;
use crate::sql::V;

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
