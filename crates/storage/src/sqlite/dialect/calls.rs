//! The statements on calls that differ, for SQLite.

use offhook_domain::ConversationId;

use super::super::Conn;
use crate::StoreError;

/// The conversations that these ids name, for the duration of the transaction.
pub(crate) async fn skip_locked_calls(
    _conn: &mut Conn,
    ids: Vec<ConversationId>,
) -> Result<Vec<ConversationId>, StoreError> {
    Ok(ids)
}
