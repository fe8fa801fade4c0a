//! Deliveries as the dispatcher sees them: what is due, and how it goes back.

use crate::store::{Answer, keep};
use std::collections::HashMap;
use std::time::Duration;

use crate::database::RunQueryDsl;
use crate::queries::locks;
use diesel::prelude::*;
use offhook_domain::{AttemptId, ClaimId, DeliveryId, EndpointId, Timestamp};

use crate::database::Conn;
use crate::schema::{attempts, deliveries, resends};
use crate::sql::V;
use crate::{AttemptReport, DeliveryState, DueEndpoint, Result, Store};

/// The conditions of a first attempt that is not held up by an earlier event of its call. The partial
/// index's own condition is written out, so that both databases see that it applies.
macro_rules! first_attempts {
    () => {
        "d.state = 'pending' AND d.state IN ('pending', 'retrying') \
         AND (d.waits_for IS NULL OR NOT EXISTS (SELECT 1 FROM deliveries e \
           WHERE e.id = d.waits_for AND e.state = 'pending' AND e.attempts_count = 0))"
    };
}

/// The conditions of an attempt after a failed one.
macro_rules! retries {
    () => {
        "d.state = 'retrying' AND d.state IN ('pending', 'retrying')"
    };
}
pub(crate) use {first_attempts, retries};

/// The endpoints with deliveries of one state: the index is skipped through from endpoint to endpoint, so that a million
/// rows of one are never walked.
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

/// The enabled endpoints with deliveries of one state, and when each one's first that may be claimed is due. `CROSS` has
/// SQLite walk those few, and not every endpoint.
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

/// Enabled endpoints with open deliveries that may be claimed, and how long each one's next repetition has to wait. A first
/// attempt is due from the beginning, whatever any clock says.
pub(crate) async fn due(
    conn: &mut Conn,
    (now, judged_at): (Timestamp, Timestamp),
) -> Result<Vec<DueEndpoint>> {
    let firsts = due_of(conn, due_query!("pending", first_attempts!()), judged_at).await?;
    let mut retries = due_of(conn, due_query!("retrying", retries!()), judged_at).await?;
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
}

/// How long the delivery has waited that has been due longest; `None` if none is due.
pub(crate) async fn oldest_due(
    conn: &mut Conn,
    (now, judged_at): (Timestamp, Timestamp),
) -> Result<Option<Duration>> {
    let firsts = due_of(conn, due_query!("pending", first_attempts!()), judged_at).await?;
    let retries = due_of(conn, due_query!("retrying", retries!()), judged_at).await?;
    let dues = firsts.into_values().chain(retries.into_values());
    Ok(dues
        .min()
        .filter(|due| *due <= now)
        .map(|due| now.since(due)))
}

async fn due_of(
    conn: &mut Conn,
    query: &'static str,
    judged_at: Timestamp,
) -> Result<HashMap<EndpointId, Timestamp>> {
    #[derive(QueryableByName)]
    struct Due {
        #[diesel(sql_type = crate::sql::Uuid)]
        endpoint_id: EndpointId,
        #[diesel(sql_type = diesel::sql_types::Nullable<crate::sql::Instant>)]
        due: Option<Timestamp>,
    }
    let rows: Vec<Due> = diesel::sql_query(query)
        .bind::<crate::sql::Instant, _>(V(judged_at))
        .load(conn)
        .await?;
    Ok(rows
        .into_iter()
        .filter_map(|row| Some((row.endpoint_id, row.due?)))
        .collect())
}

/// Endpoints with asked-for repetitions that may be claimed.
pub(crate) async fn due_resends(conn: &mut Conn, judged_at: Timestamp) -> Result<Vec<EndpointId>> {
    Ok(resends::table
        .filter(
            resends::claim_id
                .is_null()
                .or(resends::lease_expires_at.lt(V(judged_at))),
        )
        .select(resends::endpoint_id)
        .distinct()
        .load(conn)
        .await?)
}

impl Store {
    /// Takes every claim from its owner: for the start of a process that has the database to itself.
    pub fn orphan_deliveries(&self) -> Answer<'_, ()> {
        keep!(self, |conn| {
            let long_ago = Timestamp::from_micros(-1);
            diesel::update(deliveries::table)
                .filter(diesel::dsl::sql::<diesel::sql_types::Bool>(
                    "deliveries.state IN ('pending', 'retrying')",
                ))
                .filter(deliveries::claim_id.is_not_null())
                .set(deliveries::lease_expires_at.eq(V(long_ago)))
                .execute(conn)
                .await?;
            diesel::update(resends::table)
                .filter(resends::claim_id.is_not_null())
                .set(resends::lease_expires_at.eq(V(long_ago)))
                .run(conn)
                .await
        })
    }

    /// Gives claimed work back that has not been begun.
    pub fn give_back_deliveries(
        &self,
        returned: Vec<(DeliveryId, AttemptId, ClaimId)>,
    ) -> Answer<'_, ()> {
        keep!(self, |conn| {
            let ids = || returned.iter().map(|(delivery, _, _)| V(*delivery));
            let claims = || returned.iter().map(|(_, _, claim)| V(*claim));
            let deliveries_first = returned.iter().map(|(delivery, _, _)| *delivery).collect();
            locks::lock_deliveries(conn, deliveries_first).await?;
            diesel::delete(attempts::table)
                .filter(attempts::id.eq_any(returned.iter().map(|(_, attempt, _)| V(*attempt))))
                .execute(conn)
                .await?;
            diesel::update(deliveries::table)
                .filter(deliveries::id.eq_any(ids()))
                .filter(deliveries::claim_id.eq_any(claims()))
                .set((
                    deliveries::claim_id.eq(None::<ClaimId>),
                    deliveries::lease_expires_at.eq(None::<Timestamp>),
                ))
                .execute(conn)
                .await?;
            diesel::update(resends::table)
                .filter(resends::delivery_id.eq_any(ids()))
                .filter(resends::claim_id.eq_any(claims()))
                .set((
                    resends::claim_id.eq(None::<ClaimId>),
                    resends::lease_expires_at.eq(None::<Timestamp>),
                ))
                .run(conn)
                .await
        })
    }
}

/// Ends asked-for repetitions: one attempt, whatever came of it; success makes the delivery `delivered`.
pub(crate) async fn finish_resends(conn: &mut Conn, reports: &[AttemptReport]) -> Result<()> {
    let by_hand = || reports.iter().filter(|report| report.number == 0);
    let received: Vec<DeliveryId> = by_hand()
        .filter(|report| report.success)
        .map(|report| report.delivery_id)
        .collect();
    if !received.is_empty() {
        // Success always wins, also where the claim is gone or the endpoint was disabled meanwhile.
        diesel::update(deliveries::table)
            .filter(deliveries::id.eq_any(received.into_iter().map(V)))
            .set((
                deliveries::state.eq(V(DeliveryState::Delivered)),
                deliveries::next_attempt_at.eq(None::<Timestamp>),
            ))
            .execute(conn)
            .await?;
    }
    if by_hand().next().is_some() {
        diesel::delete(resends::table)
            .filter(resends::delivery_id.eq_any(by_hand().map(|report| V(report.delivery_id))))
            .filter(resends::claim_id.eq_any(by_hand().map(|report| V(report.claim_id))))
            .execute(conn)
            .await?;
    }
    Ok(())
}
