//! The statements on webhook endpoints that differ, for PostgreSQL.

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use offhook_domain::{EndpointId, Timestamp};

use super::super::Conn;
use crate::StoreError;
use crate::schema::{webhook_endpoint_health as health, webhook_endpoints as endpoints};
use crate::sql::V;

/// Makes the endpoint's deletion or disabling wait for the transaction's end, and waits for one under way.
pub(crate) async fn hold_endpoint(conn: &mut Conn, id: EndpointId) -> Result<(), StoreError> {
    let _: Option<EndpointId> = endpoints::table
        .find(V(id))
        .select(endpoints::id)
        .for_share()
        .first(conn)
        .await
        .optional()?;
    Ok(())
}

/// The health of these endpoints, as far as it may change: of all that fail, and of those received from that failed
/// before. In id order and for the duration of the transaction.
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
        .for_no_key_update()
        .load(conn)
        .await?)
}
