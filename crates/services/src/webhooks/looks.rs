//! The health of endpoints, and the deliveries to one of them.

use super::Webhooks;
use crate::error::Result;
use crate::prelude::*;

#[boxed]
impl Webhooks {
    /// The health of each endpoint of the account.
    pub async fn health(&self, account: AccountId) -> Result<Vec<EndpointHealth>, StoreError> {
        self.ctx.store.endpoint_health(account).await
    }

    /// Lists the deliveries to one endpoint, newest first.
    pub async fn deliveries_to(
        &self,
        account: AccountId,
        endpoint: EndpointId,
        filter: EndpointDeliveryFilter,
        page: PageRequest<DeliveryId>,
    ) -> Result<Page<Delivery>> {
        let (after, limit) = (page.after.map(|(_, id)| id), i64::from(page.limit));
        let store = &self.ctx.store;
        let rows = store.endpoint_deliveries(account, endpoint, filter, after, limit);
        let rows = rows.await?.ok_or(UseCaseError::NotFound)?;
        Ok(Page::of(rows, page.limit))
    }
}
