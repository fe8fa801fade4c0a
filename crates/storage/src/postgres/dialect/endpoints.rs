//! The statements on webhook endpoints that differ, for PostgreSQL.

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use offhook_domain::{AccountId, EndpointId, Timestamp};

use super::super::Conn;
use crate::schema::{webhook_endpoint_health as health, webhook_endpoints as endpoints};
use crate::sql::V;
use crate::{DISABLED_AS_FAILING, EndpointStatus, StoreError};

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

/// The endpoints that deliveries are written for: those that receive events, and those that failed too long to.
/// Read with a lock that an endpoint's deletion or disabling waits for, so that no delivery is written behind it.
pub(crate) async fn endpoints_to_store_for(
    conn: &mut Conn,
    account: AccountId,
) -> Result<Vec<(EndpointId, EndpointStatus)>, StoreError> {
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
        .for_share()
        .load(conn)
        .await?)
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
