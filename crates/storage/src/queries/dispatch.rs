//! Deliveries as the dispatcher sees them: what is due, which claims exist, and how claims are released.

use super::health;
use crate::prelude::*;
use crate::sql::{Instant, Uuid};

/// The conditions of a first attempt that does not wait for an earlier event of its call. The partial index's own
/// condition is written out, so that both databases see that it applies.
macro_rules! first_attempts {
    () => {
        "d.state = 'pending' AND d.state IN ('pending', 'retrying') \
         AND (d.waits_for IS NULL OR NOT EXISTS (SELECT 1 FROM deliveries e \
           WHERE e.id = d.waits_for AND e.state = 'pending' AND e.attempts_count = 0))"
    };
}

/// The conditions of a retry.
macro_rules! retries {
    () => {
        "d.state = 'retrying' AND d.state IN ('pending', 'retrying')"
    };
}
pub(crate) use {first_attempts, retries};

/// The endpoints with deliveries of one state. The query skips through the index from endpoint to endpoint, so that it
/// never scans a million rows of one.
macro_rules! open_endpoints {
    ($state:literal) => {
        concat!(
            "WITH RECURSIVE skip(endpoint_id) AS ( \
               SELECT * FROM (SELECT endpoint_id FROM deliveries \
                 WHERE state = '",
            $state,
            "' AND state IN ('pending', 'retrying') \
                 ORDER BY endpoint_id LIMIT 1) AS first \
               UNION ALL \
               SELECT (SELECT d.endpoint_id FROM deliveries d \
                 WHERE d.state = '",
            $state,
            "' AND d.state IN ('pending', 'retrying') \
                   AND d.endpoint_id > skip.endpoint_id \
                 ORDER BY d.endpoint_id LIMIT 1) \
               FROM skip WHERE skip.endpoint_id IS NOT NULL)"
        )
    };
}
pub(crate) use open_endpoints;

/// The enabled endpoints with deliveries of one state, and when the first claimable one of each is due. `CROSS` makes
/// SQLite scan those few, not every endpoint.
macro_rules! due_query {
    ($state:literal, $conditions:expr) => {
        concat!(
            open_endpoints!($state),
            " SELECT skip.endpoint_id, (SELECT d.next_attempt_at FROM deliveries d \
                 WHERE d.endpoint_id = skip.endpoint_id AND ",
            $conditions,
            " \
                   AND (d.claim_id IS NULL OR d.lease_expires_at < $1) \
                 ORDER BY d.next_attempt_at LIMIT 1) AS due \
             FROM skip CROSS JOIN webhook_endpoints p \
             WHERE p.id = skip.endpoint_id AND p.status = 'enabled'"
        )
    };
}

/// For each enabled endpoint with claimable deliveries: since when its first attempts are due, and when its next retry
/// is due.
async fn dues(
    conn: &mut Conn,
    judged_at: Timestamp,
) -> Result<[HashMap<EndpointId, Timestamp>; 2]> {
    #[derive(QueryableByName)]
    struct Due {
        #[diesel(sql_type = Uuid)]
        endpoint_id: EndpointId,
        #[diesel(sql_type = Nullable<Instant>)]
        due: Option<Timestamp>,
    }
    let mut dues = [HashMap::new(), HashMap::new()];
    let queries = [
        due_query!("pending", first_attempts!()),
        due_query!("retrying", retries!()),
    ];
    for (dues, query) in dues.iter_mut().zip(queries) {
        let rows: Vec<Due> = diesel::sql_query(query)
            .bind::<Instant, _>(judged_at)
            .load(conn)
            .await?;
        dues.extend(
            rows.into_iter()
                .filter_map(|row| Some((row.endpoint_id, row.due?))),
        );
    }
    Ok(dues)
}

/// How long the oldest due delivery has waited; `None` if none is due.
pub(crate) async fn oldest_due(
    conn: &mut Conn,
    (now, judged_at): (Timestamp, Timestamp),
) -> Result<Option<Duration>> {
    let dues = dues(conn, judged_at).await?.into_iter().flatten();
    Ok(dues
        .map(|(_, due)| due)
        .min()
        .filter(|due| *due <= now)
        .map(|due| now.since(due)))
}

impl Store {
    /// Enabled endpoints with open, unclaimed deliveries, and how long until each one's next retry: by the database's
    /// clock on PostgreSQL, else by `steady`. A first attempt is due at once, whatever any clock shows. Deliveries that
    /// wait for an earlier event of their call do not count.
    pub fn due_endpoints(&self, steady: Timestamp) -> Answer<'_, Vec<DueEndpoint>> {
        let offset = self.offset();
        read!(self, |conn| {
            let (now, judged_at) = dialect!(conn, clocks(steady, offset))?;
            let [firsts, mut retries] = dues(conn, judged_at).await?;
            let mut all: Vec<DueEndpoint> = firsts
                .into_keys()
                .map(|endpoint| DueEndpoint {
                    endpoint,
                    first: true,
                    retry: retries.remove(&endpoint).map(|due| due.since(now)),
                })
                .collect();
            all.extend(retries.into_iter().map(|(endpoint, retry)| DueEndpoint {
                endpoint,
                first: false,
                retry: Some(retry.since(now)),
            }));
            Ok(all)
        })
    }

    /// Endpoints with unclaimed resends.
    pub fn due_resends(&self) -> Answer<'_, Vec<EndpointId>> {
        let offset = self.offset();
        read!(self, |conn| {
            let judged_at = dialect!(conn, lease_clock(offset))?;
            Ok(resends::table
                .filter(is_unclaimed!(resends, judged_at))
                .select(resends::endpoint_id)
                .distinct()
                .load(conn)
                .await?)
        })
    }

    /// Expires all claims, at the start of a process that has the database to itself.
    pub fn orphan_deliveries(&self) -> Answer<'_, ()> {
        keep!(self, |conn| {
            let long_ago = Some(Timestamp::from_micros(-1));
            diesel::update(deliveries::table)
                .filter(sql::<Bool>("deliveries.state IN ('pending', 'retrying')"))
                .filter(deliveries::claim_id.is_not_null())
                .set(deliveries::lease_expires_at.eq(long_ago))
                .execute(conn)
                .await?;
            diesel::update(resends::table)
                .filter(resends::claim_id.is_not_null())
                .set(resends::lease_expires_at.eq(long_ago))
                .run(conn)
                .await
        })
    }

    /// Releases claimed work that has not started.
    pub fn give_back_deliveries(
        &self,
        returned: Vec<(DeliveryId, AttemptId, ClaimId)>,
    ) -> Answer<'_, ()> {
        keep!(self, |conn| {
            let ids = || returned.iter().map(|(delivery, _, _)| V(*delivery));
            let claims = || returned.iter().map(|(_, _, claim)| Some(*claim));
            let deliveries_first = returned.iter().map(|(delivery, _, _)| *delivery).collect();
            locks::lock_deliveries(conn, deliveries_first).await?;
            diesel::delete(attempts::table)
                .filter(attempts::id.eq_any(returned.iter().map(|(_, attempt, _)| V(*attempt))))
                .execute(conn)
                .await?;
            diesel::update(deliveries::table)
                .filter(deliveries::id.eq_any(ids()))
                .filter(deliveries::claim_id.eq_any(claims()))
                .set(row! { deliveries: claim_id = NULL, lease_expires_at = NULL })
                .execute(conn)
                .await?;
            diesel::update(resends::table)
                .filter(resends::delivery_id.eq_any(ids()))
                .filter(resends::claim_id.eq_any(claims()))
                .set(row! { resends: claim_id = NULL, lease_expires_at = NULL })
                .run(conn)
                .await
        })
    }

    /// Records the results of attempts, in one transaction. `steady` is the current time by the clock of their ends.
    /// Returns the endpoints that have failed.
    pub fn finish_attempts(
        &self,
        reports: Vec<AttemptReport>,
        steady: Timestamp,
    ) -> Answer<'_, Vec<FailingEndpoint>> {
        let clock = (steady, self.offset());
        keep!(self, |conn| {
            // Lock order: deliveries before their attempts, as in claiming and cancelling.
            let ids = reports.iter().map(|report| report.delivery_id).collect();
            locks::lock_deliveries(conn, ids).await?;
            let exhausted = dialect!(conn, finish(&reports, clock))?;
            // A resend is a single attempt, whatever its result; success makes the delivery `delivered`.
            let by_hand = || reports.iter().filter(|report| report.number == 0);
            let received: Vec<V<DeliveryId>> = by_hand()
                .filter(|report| report.success)
                .map(|report| V(report.delivery_id))
                .collect();
            if !received.is_empty() {
                // Success always wins, even if the claim is lost or the endpoint was disabled meanwhile.
                diesel::update(deliveries::table)
                    .filter(deliveries::id.eq_any(received))
                    .set(row! {
                        deliveries: state = DeliveryState::Delivered, next_attempt_at = NULL
                    })
                    .execute(conn)
                    .await?;
            }
            if by_hand().next().is_some() {
                diesel::delete(resends::table)
                    .filter(
                        resends::delivery_id.eq_any(by_hand().map(|report| V(report.delivery_id))),
                    )
                    .filter(resends::claim_id.eq_any(by_hand().map(|report| Some(report.claim_id))))
                    .execute(conn)
                    .await?;
            }
            health::note(conn, &reports, &exhausted).await
        })
    }
}
