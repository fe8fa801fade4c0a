//! Whether claimed deliveries may still be sent: their endpoint may have been disabled, deleted or changed since.

use crate::database::RunQueryDsl;
use diesel::prelude::*;
use diesel::sql_types::Bool;
use offhook_domain::{ClaimId, DeliveryId, EndpointId, Timestamp};

use super::endpoints::signing;
use crate::database::Conn;
use crate::schema::{deliveries, resends, webhook_endpoints as endpoints};
use crate::sql::V;
use crate::{ClaimedWork, EndpointStatus, Result};

/// An endpoint that receives events: its URL, and its sealed secrets.
pub(crate) type Receiving = (String, Vec<(EndpointId, uuid::Uuid, Vec<u8>)>);

/// Where the endpoint's deliveries go at `now`; `None` if it receives nothing.
pub(crate) async fn receiving(
    conn: &mut Conn,
    endpoint: EndpointId,
    now: Timestamp,
) -> Result<Option<Receiving>> {
    let url: Option<String> = endpoints::table
        .filter(endpoints::id.eq(V(endpoint)))
        .filter(endpoints::deleted_at.is_null())
        .filter(endpoints::status.eq(V(EndpointStatus::Enabled)))
        .select(endpoints::url)
        .found(conn)
        .await?;
    let Some(url) = url else { return Ok(None) };
    Ok(Some((url, signing(conn, &[endpoint], now).await?)))
}

/// Of this work, what is still claimed and to be done.
pub(crate) async fn in_force(conn: &mut Conn, work: Vec<ClaimedWork>) -> Result<Vec<ClaimedWork>> {
    let ids = |by_hand: bool| {
        let of_kind = work.iter().filter(move |one| one.by_hand == by_hand);
        of_kind.map(|one| V(one.delivery_id)).collect::<Vec<_>>()
    };
    let mut claims: Vec<(DeliveryId, Option<ClaimId>, bool)> = Vec::with_capacity(work.len());
    let scheduled = ids(false);
    if !scheduled.is_empty() {
        let rows: Vec<(DeliveryId, Option<ClaimId>)> = deliveries::table
            .filter(deliveries::id.eq_any(scheduled))
            .filter(diesel::dsl::sql::<Bool>(
                "deliveries.state IN ('pending', 'retrying')",
            ))
            .select((deliveries::id, deliveries::claim_id))
            .load(conn)
            .await?;
        claims.extend(rows.into_iter().map(|(id, claim)| (id, claim, false)));
    }
    let asked_for = ids(true);
    if !asked_for.is_empty() {
        let rows: Vec<(DeliveryId, Option<ClaimId>)> = resends::table
            .filter(resends::delivery_id.eq_any(asked_for))
            .select((resends::delivery_id, resends::claim_id))
            .load(conn)
            .await?;
        claims.extend(rows.into_iter().map(|(id, claim)| (id, claim, true)));
    }
    let holds =
        |one: &ClaimedWork| claims.contains(&(one.delivery_id, Some(one.claim_id), one.by_hand));
    Ok(work.iter().copied().filter(holds).collect())
}
