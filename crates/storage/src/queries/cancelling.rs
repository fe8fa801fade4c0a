//! Cancelling what is open of endpoints that receive nothing more: a little with the endpoint's change, a lot behind it.

use crate::database::RunQueryDsl;
use crate::queries::locks;
use crate::store::{Answer, read};
use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::Bool;
use offhook_domain::{DeliveryId, EndpointId, Timestamp};

use super::dispatch::open_endpoints;
use crate::database::Conn;
use crate::dialect::dialect;
use crate::schema::{deliveries, resends, webhook_endpoints as endpoints};
use crate::sql::V;
use crate::{DeliveryState, EndpointStatus, Result, Store};

/// Open deliveries that are cancelled in the transaction that disables or deletes their endpoint. Of more the change does
/// not wait: nothing of an endpoint that is not enabled is claimed.
const AT_ONCE: i64 = 2_000;

/// Deliveries that are cancelled in one transaction behind the change.
const BATCH: i64 = 1_000;

/// Cancels what is due, unless it is a lot; an attempt under way may still succeed, and success always wins.
pub(crate) async fn with_the_change(conn: &mut Conn, id: EndpointId) -> Result<()> {
    diesel::delete(resends::table.filter(resends::endpoint_id.eq(V(id))))
        .execute(conn)
        .await?;
    if is_a_lot(conn, id).await? {
        return Ok(());
    }
    locks::lock_open_deliveries(conn, id).await?;
    diesel::update(deliveries::table)
        .filter(deliveries::endpoint_id.eq(V(id)))
        // Written out, so that both databases see that the partial index applies.
        .filter(sql::<Bool>("deliveries.state IN ('pending', 'retrying')"))
        .set((
            deliveries::state.eq(V(DeliveryState::Cancelled)),
            deliveries::next_attempt_at.eq(None::<Timestamp>),
        ))
        .run(conn)
        .await
}

/// Whether more deliveries are open than are cancelled at once.
async fn is_a_lot(conn: &mut Conn, id: EndpointId) -> Result<bool> {
    let one_more: Option<DeliveryId> = deliveries::table
        .filter(deliveries::endpoint_id.eq(V(id)))
        .filter(sql::<Bool>("deliveries.state IN ('pending', 'retrying')"))
        .select(deliveries::id)
        .limit(1)
        .offset(AT_ONCE)
        .found(conn)
        .await?;
    Ok(one_more.is_some())
}

impl Store {
    /// The endpoints that receive nothing, and have open deliveries all the same.
    pub fn endpoints_to_cancel(&self) -> Answer<'_, Vec<EndpointId>> {
        read!(self, |conn| {
            #[derive(QueryableByName)]
            struct Left {
                #[diesel(sql_type = crate::sql::Uuid)]
                endpoint_id: EndpointId,
            }
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
            let mut all: Vec<Left> = diesel::sql_query(left_of!("pending")).load(conn).await?;
            let retrying: Vec<Left> = diesel::sql_query(left_of!("retrying")).load(conn).await?;
            all.extend(retrying);
            let mut ids: Vec<EndpointId> = all.into_iter().map(|row| row.endpoint_id).collect();
            ids.sort_unstable();
            ids.dedup();
            Ok(ids)
        })
    }
}

/// Cancels some of what is open of an endpoint that receives nothing, as far as nobody else has it at the moment; returns
/// how many deliveries that were.
pub(crate) async fn some(conn: &mut Conn, id: EndpointId) -> Result<usize> {
    // It cannot be enabled in between.
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
