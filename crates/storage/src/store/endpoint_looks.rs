//! An endpoint's own deliveries, and how endpoints fare.

use offhook_domain::{AccountId, DeliveryId, EndpointId};

use super::{Answer, read};
use crate::queries;
use crate::{Delivery, EndpointDeliveryFilter, Store};

impl Store {
    /// A page of the deliveries to one endpoint, the newest first, with one more than `limit` if there is a next page;
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
            if !queries::endpoint_looks::is_of(conn, account, endpoint).await? {
                return Ok(None);
            }
            let rows =
                queries::endpoint_looks::deliveries_to(conn, endpoint, filter, after, limit + 1);
            Ok(Some(rows.await?))
        })
    }
}
