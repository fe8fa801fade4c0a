//! The statements on webhook endpoints that differ, for SQLite.

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use offhook_domain::{EndpointId, Timestamp};

use super::super::Conn;
use crate::StoreError;
use crate::schema::webhook_endpoint_health as health;
use crate::sql::V;

/// Makes the endpoint's deletion or disabling wait for the transaction's end; the one writer does.
pub(crate) async fn hold_endpoint(_conn: &mut Conn, _id: EndpointId) -> Result<(), StoreError> {
    Ok(())
}

/// The health of these endpoints, as far as it may change: of all that fail, and of those received from that failed
/// before.
pub(crate) async fn lock_health(
    conn: &mut Conn,
    received: Vec<V<EndpointId>>,
    failed: Vec<V<EndpointId>>,
) -> Result<Vec<(EndpointId, Option<Timestamp>, i32)>, StoreError> {
    Ok(health::table
        .filter(
            health::endpoint_id.eq_any(failed).or(health::endpoint_id
                .eq_any(received)
                .and(health::first_failure_at.is_not_null())),
        )
        .order(health::endpoint_id)
        .select((
            health::endpoint_id,
            health::first_failure_at,
            health::exhausted_count,
        ))
        .load(conn)
        .await?)
}
