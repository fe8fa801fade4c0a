//! The statements on analyses that differ, for PostgreSQL.

use diesel::dsl::{exists, sql};
use diesel::prelude::*;
use diesel::sql_types::Bool;
use diesel_async::RunQueryDsl;
use offhook_domain::{AccountId, CallState, ConversationId, Timestamp};

use super::super::Conn;
use crate::StoreError;
use crate::schema::{conversation_analyses as analyses, conversations as calls};
use crate::sql::V;

/// The oldest conversation that is settled, waits for its analysis and is nobody's at `judged_at`; none of the `busy`
/// accounts'; the row is this transaction's.
pub(crate) async fn waiting_analysis(
    conn: &mut Conn,
    busy: Vec<AccountId>,
    judged_at: Timestamp,
) -> Result<Option<ConversationId>, StoreError> {
    let settled = [CallState::Completed, CallState::Failed].map(V);
    let conversation = calls::table
        .filter(calls::id.eq(analyses::conversation_id))
        .filter(calls::state.eq_any(settled));
    Ok(analyses::table
        // Written out, so that the partial index is seen to apply.
        .filter(sql::<Bool>("conversation_analyses.status = 'pending'"))
        .filter(
            analyses::lease_expires_at
                .is_null()
                .or(analyses::lease_expires_at.lt(V(judged_at))),
        )
        .filter(analyses::account_id.ne_all(busy.into_iter().map(V)))
        .filter(exists(conversation))
        .order(analyses::conversation_id)
        .select(analyses::conversation_id)
        .for_update()
        .skip_locked()
        .first(conn)
        .await
        .optional()?)
}
