//! Whether claimed deliveries may still be sent: their endpoint may have been disabled, deleted or changed since.

use super::endpoints::{Sealed, signing};
use crate::prelude::*;

#[boxed]
impl Store {
    /// The claimed work of an endpoint that may still start: the endpoint may have been disabled, deleted or changed
    /// since the claim.
    pub async fn recheck_claims(
        &self,
        endpoint: EndpointId,
        work: Vec<ClaimedWork>,
        now: Timestamp,
    ) -> Result<Rechecked> {
        let receiving: Option<(Sealed, Rechecked)> = read!(self, |conn| {
            let url: Option<String> = endpoints::table
                .filter(endpoints::id.eq(V(endpoint)))
                .filter(endpoints::deleted_at.is_null())
                .filter(endpoints::status.eq(V(EndpointStatus::Enabled)))
                .select(endpoints::url)
                .found(conn)
                .await?;
            let Some(url) = url else { return Ok(None) };
            let sealed = signing(conn, &[endpoint], now).await?;
            let ids = |by_hand: bool| {
                let of_kind = work.iter().filter(move |one| one.by_hand == by_hand);
                of_kind.map(|one| V(one.delivery_id)).collect::<Vec<_>>()
            };
            let mut claims: Vec<(DeliveryId, Option<ClaimId>, bool)> =
                Vec::with_capacity(work.len());
            let scheduled = ids(false);
            if !scheduled.is_empty() {
                let rows: Vec<(DeliveryId, Option<ClaimId>)> = deliveries::table
                    .filter(deliveries::id.eq_any(scheduled))
                    .filter(sql::<Bool>("deliveries.state IN ('pending', 'retrying')"))
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
            let in_force = work
                .iter()
                .filter(|one| claims.contains(&(one.delivery_id, Some(one.claim_id), one.by_hand)));
            let rechecked = Rechecked {
                url,
                secrets: Vec::new(),
                in_force: in_force.map(|one| one.attempt_id).collect(),
            };
            Ok(Some((sealed, rechecked)))
        })
        .await?;
        let (sealed, mut rechecked) = some_or!(receiving, Rechecked::default());
        rechecked.secrets = self.unseal(sealed).remove(&endpoint).unwrap_or_default();
        Ok(rechecked)
    }

    /// Each endpoint's secrets, newest last.
    pub(crate) fn unseal(&self, sealed: Sealed) -> HashMap<EndpointId, Vec<String>> {
        let mut secrets: HashMap<EndpointId, Vec<String>> = HashMap::new();
        for (endpoint, row, sealed) in sealed {
            match self.master_key.open(&sealed, &row.uuid()) {
                Ok(secret) => secrets.entry(endpoint).or_default().push(secret),
                // One endpoint's corrupt row must not block the others.
                Err(error) => tracing::error!(%endpoint, %error, "a signing secret cannot be read"),
            }
        }
        secrets
    }
}
