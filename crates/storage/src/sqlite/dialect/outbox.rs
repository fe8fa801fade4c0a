//! The event and whom it is for. A statement costs no round trip here, so each is one of its own.

use crate::database::RunQueryDsl;
use diesel::prelude::*;
use offhook_domain::{AccountId, ConversationId, EndpointId, Timestamp};

use crate::database::{Conn, Db};
use crate::queries::{calls, events};
use crate::schema::webhook_endpoints as endpoints;
use crate::sql::V;
use crate::{DISABLED_AS_FAILING, EndpointStatus, NewCall, NewEvent, Result};

/// Writes the conversation, if there is one, and its event. Returns the endpoints that deliveries are written for: those
/// that receive events, and those that failed too long to. Their deletion or disabling waits, as the one writer does.
pub(crate) async fn insert_event_and_hold_endpoints(
    conn: &mut Conn,
    call: Option<&NewCall>,
    (account, conversation): (AccountId, ConversationId),
    event: NewEvent,
    at: Timestamp,
) -> Result<Vec<(EndpointId, EndpointStatus)>> {
    if let Some(call) = call {
        calls::row(Db::Sqlite, call).execute(conn).await?;
    }
    events::row(account, Some(conversation), event, at)
        .execute(conn)
        .await?;
    Ok(endpoints::table
        .filter(endpoints::account_id.eq(V(account)))
        .filter(endpoints::deleted_at.is_null())
        .filter(
            endpoints::status
                .eq(V(EndpointStatus::Enabled))
                .or(endpoints::disabled_reason
                    .eq(DISABLED_AS_FAILING)
                    .assume_not_null()),
        )
        .order((endpoints::created_at, endpoints::id))
        .select((endpoints::id, endpoints::status))
        .load(conn)
        .await?)
}
