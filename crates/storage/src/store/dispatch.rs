//! Deliveries as the dispatcher sees them: what is due, who has it, what became of it.

use async_recursion::async_recursion as boxed;
use std::collections::HashMap;
use std::time::Duration;

use offhook_domain::{EndpointId, Timestamp};

use super::{Answer, keep, lease, read};
use crate::dialect::dialect;
use crate::queries;
use crate::{
    AttemptReport, ClaimSlots, Claimed, ClaimedWork, DueEndpoint, FailingEndpoint, Rechecked,
    Result, Store,
};

impl Store {
    /// Enabled endpoints with open deliveries that nobody has claimed, and how long each one's next repetition has to wait: by
    /// the database's clock on PostgreSQL, else by `steady`. Deliveries that wait for an earlier event of
    /// their call do not count.
    pub fn due_endpoints(&self, steady: Timestamp) -> Answer<'_, Vec<DueEndpoint>> {
        let offset = self.offset();
        read!(self, |conn| {
            let clocks = dialect!(conn, delivery_clocks(steady, offset))?;
            queries::dispatch::due(conn, clocks).await
        })
    }

    /// Endpoints with asked-for repetitions that nobody has claimed.
    pub fn due_resends(&self) -> Answer<'_, Vec<EndpointId>> {
        let offset = self.offset();
        read!(self, |conn| {
            let judged_at = dialect!(conn, lease_clock(offset))?;
            queries::dispatch::due_resends(conn, judged_at).await
        })
    }

    /// Claims due deliveries and begins an attempt of each. `offsets` are the waits after the 1st, 2nd, … failure; what is
    /// due is judged as by [`Store::due_endpoints`], `now` is for what customers read. An attempt without secrets is of an
    /// endpoint that has been deleted meanwhile, or whose secret cannot be read.
    ///
    /// # Errors
    /// `StoreError::UnknownCommit` if the claim may be in
    /// force: it runs out by itself.
    #[boxed]
    pub async fn claim_deliveries(
        &self,
        slots: Vec<ClaimSlots>,
        offsets: Vec<Duration>,
        (now, steady): (Timestamp, Timestamp),
    ) -> Result<Claimed> {
        let offset = self.offset();
        let (mut attempts, sealed, failing) = keep!(self, |conn| {
            let (due, judged_at) = dialect!(conn, delivery_clocks(steady, offset))?;
            let times = queries::delivery_claims::Times {
                now,
                due,
                judged_at,
                lease: judged_at.plus(lease()),
            };
            let claimed = queries::delivery_claims::claim(conn, &slots, &offsets, times).await?;
            Ok(claimed)
        })
        .await?;
        let secrets = self.unseal(sealed);
        for attempt in &mut attempts {
            attempt.secrets = secrets
                .get(&attempt.endpoint_id)
                .cloned()
                .unwrap_or_default();
        }
        Ok(Claimed { attempts, failing })
    }

    /// What of an endpoint's claimed work may still be begun: it may have been disabled, deleted or changed since the
    /// claim.
    #[boxed]
    pub async fn recheck_claims(
        &self,
        endpoint: EndpointId,
        work: Vec<ClaimedWork>,
        now: Timestamp,
    ) -> Result<Rechecked> {
        let (receiving, in_force) = read!(self, |conn| {
            let receiving = queries::rechecks::receiving(conn, endpoint, now).await?;
            let in_force = match &receiving {
                Some(_) => queries::rechecks::in_force(conn, work).await?,
                None => Vec::new(),
            };
            Ok((receiving, in_force))
        })
        .await?;
        let Some((url, sealed)) = receiving else {
            return Ok(Rechecked::default());
        };
        Ok(Rechecked {
            url,
            secrets: self.unseal(sealed).remove(&endpoint).unwrap_or_default(),
            in_force: in_force.into_iter().map(|one| one.attempt_id).collect(),
        })
    }

    /// Each endpoint's secrets, the newest last.
    fn unseal(
        &self,
        sealed: Vec<(EndpointId, uuid::Uuid, Vec<u8>)>,
    ) -> HashMap<EndpointId, Vec<String>> {
        let mut secrets: HashMap<EndpointId, Vec<String>> = HashMap::new();
        for (endpoint, row, sealed) in sealed {
            match self.master_key.open(&sealed, &row) {
                Ok(secret) => secrets.entry(endpoint).or_default().push(secret),
                // One endpoint's broken row must not keep the others waiting.
                Err(error) => tracing::error!(%endpoint, %error, "a signing secret cannot be read"),
            }
        }
        secrets
    }

    /// Records what became of attempts, in one transaction. `steady` is the present by the clock of their ends. Returns
    /// the endpoints that have failed.
    pub fn finish_attempts(
        &self,
        reports: Vec<AttemptReport>,
        steady: Timestamp,
    ) -> Answer<'_, Vec<FailingEndpoint>> {
        let clock = (steady, self.offset());
        keep!(self, |conn| {
            // Deliveries before their attempts, as claiming and cancelling do.
            let ids = reports.iter().map(|report| report.delivery_id).collect();
            queries::locks::lock_deliveries(conn, ids).await?;
            let exhausted = dialect!(conn, finish(&reports, clock))?;
            queries::dispatch::finish_resends(conn, &reports).await?;
            let failing = queries::health::note(conn, &reports, &exhausted).await?;
            Ok(failing)
        })
    }
}
