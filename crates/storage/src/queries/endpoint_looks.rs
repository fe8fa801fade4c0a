//! The deliveries of one endpoint, and the health of endpoints. Ids are created as events occur, so the index of an
//! endpoint's deliveries by id is in order of time.

use crate::prelude::*;

/// Deliveries to an endpoint, newest first, after the one with the id `after`.
async fn deliveries_to(
    conn: &mut Conn,
    endpoint: EndpointId,
    filter: EndpointDeliveryFilter,
    after: Option<DeliveryId>,
    limit: i64,
) -> Result<Vec<Delivery>> {
    let query = deliveries::table
        .filter(deliveries::endpoint_id.eq(V(endpoint)))
        .into_boxed::<Db>()
        .when_is(deliveries::state, filter.state)
        .when_is(deliveries::event_type, filter.kind)
        .when(after, |after| deliveries::id.lt(V(after)));
    Ok(query
        .order(deliveries::id.desc())
        .limit(limit)
        .select(Delivery::as_select())
        .load(conn)
        .await?)
}

impl Store {
    /// A page of the deliveries to one endpoint, newest first, with one more than `limit` if there is a next page.
    /// `None` if the account has no such endpoint.
    pub fn endpoint_deliveries(
        &self,
        account: AccountId,
        endpoint: EndpointId,
        filter: EndpointDeliveryFilter,
        after: Option<DeliveryId>,
        limit: i64,
    ) -> Answer<'_, Option<Vec<Delivery>>> {
        read!(self, |conn| {
            let found: Option<EndpointId> = own!(endpoints, account, endpoint)
                .filter(endpoints::deleted_at.is_null())
                .select(endpoints::id)
                .found(conn)
                .await?;
            Ok(match found {
                Some(id) => Some(deliveries_to(conn, id, filter, after, limit + 1).await?),
                None => None,
            })
        })
    }

    /// The health of each endpoint of the account.
    pub fn endpoint_health(&self, account: AccountId) -> Answer<'_, Vec<EndpointHealth>> {
        read!(self, |conn| {
            let ids: Vec<EndpointId> = endpoints::table
                .filter(endpoints::account_id.eq(V(account)))
                .filter(endpoints::deleted_at.is_null())
                .order(endpoints::id)
                .select(endpoints::id)
                .load(conn)
                .await?;
            let all = ids.iter().copied().map(V);
            let rows: Vec<(EndpointId, Option<Timestamp>, i32)> = health::table
                .filter(health::endpoint_id.eq_any(all))
                .select((
                    health::endpoint_id,
                    health::first_failure_at,
                    health::exhausted_count,
                ))
                .load(conn)
                .await?;
            let mut found = Vec::with_capacity(ids.len());
            for endpoint in ids {
                let filter = EndpointDeliveryFilter::default();
                let mut newest = deliveries_to(conn, endpoint, filter, None, 1).await?;
                let row = rows.iter().find(|(id, ..)| *id == endpoint);
                found.push(EndpointHealth {
                    endpoint,
                    failing_since: row.and_then(|(_, since, _)| *since),
                    exhausted_count: row.map_or(0, |(_, _, count)| *count),
                    newest: newest.pop(),
                });
            }
            Ok(found)
        })
    }
}
