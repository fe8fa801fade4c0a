//! What happens in a conversation, moment by moment.

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use offhook_domain::{CallState, ConversationId, Timestamp};

use super::super::Conn;
use crate::StoreError;
use crate::schema::conversation_moments as moments;
use crate::sql::V;

/// Writes down that a state was entered.
pub(super) async fn entered(
    conn: &mut Conn,
    id: ConversationId,
    seq: i32,
    state: CallState,
    at: Timestamp,
) -> Result<(), StoreError> {
    diesel::insert_into(moments::table)
        .values((
            moments::conversation_id.eq(V(id)),
            moments::seq.eq(seq),
            moments::at.eq(V(at)),
            moments::state.eq(V(state)),
        ))
        .execute(conn)
        .await?;
    Ok(())
}
