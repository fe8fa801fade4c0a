//! Cancels the open deliveries of disabled endpoints: a small number with the endpoint's change, a large number after
//! it.

use super::dispatch::open_endpoints;
use crate::prelude::*;

/// The most open deliveries that the transaction which disables or deletes their endpoint cancels. The change does not
/// wait for more: deliveries of an endpoint that is not enabled are never claimed.
const AT_ONCE: i64 = 2_000;

/// Deliveries per transaction that are cancelled after the change.
const BATCH: i64 = 1_000;

/// Cancels the open deliveries, unless there are many. An attempt in flight may still succeed, and success always wins.
pub(crate) async fn with_the_change(conn: &mut Conn, id: EndpointId) -> Result<()> {
    delete(conn, resends::table.filter(resends::endpoint_id.eq(V(id)))).await?;
    ensure!(!is_a_lot(conn, id).await?, ());
    locks::lock_open_deliveries(conn, id).await?;
    diesel::update(deliveries::table)
        .filter(deliveries::endpoint_id.eq(V(id)))
        // Written out, so that both databases see that the partial index applies.
        .filter(sql::<Bool>("deliveries.state IN ('pending', 'retrying')"))
        .set(row! { deliveries: state = DeliveryState::Cancelled, next_attempt_at = NULL })
        .run(conn)
        .await
}

/// Whether there are more open deliveries than [`AT_ONCE`].
async fn is_a_lot(conn: &mut Conn, id: EndpointId) -> Result<bool> {
    deliveries::table
        .filter(deliveries::endpoint_id.eq(V(id)))
        .filter(sql::<Bool>("deliveries.state IN ('pending', 'retrying')"))
        .select(deliveries::id)
        .limit(1)
        .offset(AT_ONCE)
        .exists(conn)
        .await
}

impl Store {
    /// The disabled endpoints that still have open deliveries.
    pub fn endpoints_to_cancel(&self) -> Answer<'_, Vec<EndpointId>> {
        read!(self, |conn| {
            macro_rules! left_of {
                ($state:literal) => {
                    concat!(
                        open_endpoints!($state),
                        " SELECT skip.endpoint_id FROM skip \
                          CROSS JOIN webhook_endpoints p \
                          WHERE p.id = skip.endpoint_id AND p.status = 'disabled'"
                    )
                };
            }
            let mut ids: Vec<EndpointId> = sql::<sql::Uuid>(left_of!("pending")).load(conn).await?;
            let retrying: Vec<EndpointId> =
                sql::<sql::Uuid>(left_of!("retrying")).load(conn).await?;
            ids.extend(retrying);
            ids.sort_unstable();
            ids.dedup();
            Ok(ids)
        })
    }
}

/// Cancels some open deliveries of a disabled endpoint, and skips those that another transaction has locked. Returns
/// how many it cancelled.
pub(crate) async fn some(conn: &mut Conn, id: EndpointId) -> Result<usize> {
    // Keeps it from being enabled meanwhile.
    locks::hold_endpoint(conn, id).await?;
    let disabled: Option<EndpointId> = endpoints::table
        .find(V(id))
        .filter(endpoints::status.eq(V(EndpointStatus::Disabled)))
        .select(endpoints::id)
        .found(conn)
        .await?;
    match disabled {
        Some(id) => dialect!(conn, cancel_open(id, BATCH)),
        None => Ok(0),
    }
}
