//! Deliveries as the dispatcher sees them: what is due, who has it, what became of it (platform.md W2–W6).

use std::collections::HashMap;
use std::time::Duration;

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use offhook_domain::{
    AccountId, AttemptId, ClaimId, DeliveryId, EndpointId, EventId, EventType, Timestamp,
};

use super::super::{Conn, dialect};
use super::endpoints::signing;
use super::health;
use crate::schema::{attempts, deliveries, events, resends, webhook_endpoints as endpoints};
use crate::sql::V;
use crate::{
    AttemptOutcome, AttemptReport, ClaimSlots, ClaimedAttempt, DeliveryState, DueEndpoint,
    FailingEndpoint, StoreError,
};

/// The third process in a row that dies in one attempt makes it a failed one (platform.md W4).
const ABANDONED_AT_MOST: i32 = 3;

/// What a claim is judged by and runs until.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Times {
    /// The present, as customers read it.
    pub(crate) now: Timestamp,
    /// The present of the schedule: a repetition that is due by then may be claimed.
    pub(crate) due: Timestamp,
    /// The present of leases: what ran out before may be claimed.
    pub(crate) judged_at: Timestamp,
    /// When this claim runs out.
    pub(crate) lease: Timestamp,
}

/// A delivery that may be claimed.
#[derive(Debug, QueryableByName)]
pub(crate) struct Candidate {
    #[diesel(sql_type = crate::sql::Uuid)]
    pub(crate) id: DeliveryId,
    /// The claim of an owner that is gone.
    #[diesel(sql_type = diesel::sql_types::Nullable<crate::sql::Uuid>)]
    pub(crate) claim_id: Option<ClaimId>,
    #[diesel(sql_type = diesel::sql_types::Integer)]
    pub(crate) attempts_count: i32,
    #[diesel(sql_type = diesel::sql_types::Integer)]
    pub(crate) abandoned_count: i32,
}

/// The sealed secrets of endpoints, with the row that each is sealed for.
pub(crate) type Sealed = Vec<(EndpointId, uuid::Uuid, Vec<u8>)>;

struct Taken {
    id: DeliveryId,
    number: i32,
}

/// The conditions of a first attempt that is not held up by an earlier event of its call (decision 7.4). The partial
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
) -> Result<Vec<DueEndpoint>, StoreError> {
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
) -> Result<Option<Duration>, StoreError> {
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
) -> Result<HashMap<EndpointId, Timestamp>, StoreError> {
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
pub(crate) async fn due_resends(
    conn: &mut Conn,
    judged_at: Timestamp,
) -> Result<Vec<EndpointId>, StoreError> {
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

/// Makes every claim one that has run out, on any clock.
pub(crate) async fn orphan(conn: &mut Conn) -> Result<(), StoreError> {
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
        .execute(conn)
        .await?;
    Ok(())
}

/// Claims due deliveries, each endpoint's first ones, and begins an attempt of each. Returns the endpoints too of which a
/// delivery failed because every process died that tried.
pub(crate) async fn claim(
    conn: &mut Conn,
    slots: &[ClaimSlots],
    offsets: &[Duration],
    times: Times,
) -> Result<(Vec<ClaimedAttempt>, Sealed, Vec<FailingEndpoint>), StoreError> {
    let claim_id: ClaimId = crate::store::mint(times.now);
    let candidates = dialect::candidates(conn, slots, times).await?;
    let (mut taken, failed) = take(conn, candidates, offsets, claim_id, times).await?;
    let failing = health::note_abandoned(conn, &failed, times.now).await?;
    for slot in slots.iter().filter(|slot| slot.resends > 0) {
        taken.extend(take_resends(conn, *slot, claim_id, times).await?);
    }
    let (claimed, secrets) = load(conn, claim_id, taken, times.now).await?;
    if !claimed.is_empty() {
        dialect::insert_attempts(conn, &claimed, times.now).await?;
    }
    Ok((claimed, secrets, failing))
}

/// What of the candidates is to be attempted; and the endpoint of each that is not, because it has failed by now, with
/// whether it was given up.
async fn take(
    conn: &mut Conn,
    candidates: Vec<Candidate>,
    offsets: &[Duration],
    claim_id: ClaimId,
    times: Times,
) -> Result<(Vec<Taken>, Vec<(EndpointId, bool)>), StoreError> {
    let mut taken = Vec::with_capacity(candidates.len());
    let mut failed = Vec::new();
    for candidate in candidates {
        let (id, number) = (candidate.id, candidate.attempts_count + 1);
        if candidate.claim_id.is_some() {
            abandon_scheduled(conn, id).await?;
            let abandoned = candidate.abandoned_count + 1;
            if abandoned >= ABANDONED_AT_MOST {
                failed.push(fail_abandoned(conn, id, number, offsets, times.due).await?);
                continue;
            }
            diesel::update(deliveries::table.find(V(id)))
                .set(deliveries::abandoned_count.eq(abandoned))
                .execute(conn)
                .await?;
        }
        taken.push(Taken { id, number });
    }
    if taken.is_empty() {
        return Ok((taken, failed));
    }
    diesel::update(deliveries::table)
        .filter(deliveries::id.eq_any(taken.iter().map(|t| V(t.id))))
        .set((
            deliveries::claim_id.eq(V(claim_id)),
            deliveries::lease_expires_at.eq(V(times.lease)),
        ))
        .execute(conn)
        .await?;
    Ok((taken, failed))
}

async fn abandon_scheduled(conn: &mut Conn, id: DeliveryId) -> Result<(), StoreError> {
    diesel::update(attempts::table)
        .filter(attempts::delivery_id.eq(V(id)))
        .filter(attempts::number.gt(0))
        .filter(attempts::outcome.eq(V(AttemptOutcome::Begun)))
        .set(attempts::outcome.eq(V(AttemptOutcome::Abandoned)))
        .execute(conn)
        .await?;
    Ok(())
}

async fn fail_abandoned(
    conn: &mut Conn,
    id: DeliveryId,
    number: i32,
    offsets: &[Duration],
    due: Timestamp,
) -> Result<(EndpointId, bool), StoreError> {
    let next = usize::try_from(number - 1)
        .ok()
        .and_then(|n| offsets.get(n))
        .map(|o| due.plus(*o));
    let state = if next.is_some() {
        DeliveryState::Retrying
    } else {
        DeliveryState::Exhausted
    };
    let endpoint = diesel::update(deliveries::table.find(V(id)))
        .set((
            deliveries::state.eq(V(state)),
            deliveries::attempts_count.eq(number),
            deliveries::abandoned_count.eq(0),
            deliveries::next_attempt_at.eq(next),
            deliveries::claim_id.eq(None::<ClaimId>),
            deliveries::lease_expires_at.eq(None::<Timestamp>),
        ))
        .returning(deliveries::endpoint_id)
        .get_result(conn)
        .await?;
    Ok((endpoint, next.is_none()))
}

async fn take_resends(
    conn: &mut Conn,
    slot: ClaimSlots,
    claim_id: ClaimId,
    times: Times,
) -> Result<Vec<Taken>, StoreError> {
    let mut taken = Vec::new();
    for (id, dead_claim, requested_at) in
        dialect::resend_candidates(conn, slot, times.judged_at).await?
    {
        if dead_claim.is_some() && abandon_resend(conn, id, requested_at).await? {
            continue;
        }
        diesel::update(resends::table.find(V(id)))
            .set((
                resends::claim_id.eq(V(claim_id)),
                resends::lease_expires_at.eq(V(times.lease)),
            ))
            .execute(conn)
            .await?;
        taken.push(Taken { id, number: 0 });
    }
    Ok(taken)
}

/// Marks a repetition's attempt whose process died; `true` if that has happened too often, and it is over.
async fn abandon_resend(
    conn: &mut Conn,
    id: DeliveryId,
    requested_at: Timestamp,
) -> Result<bool, StoreError> {
    let by_hand = attempts::delivery_id
        .eq(V(id))
        .and(attempts::number.eq(0))
        .and(attempts::at.ge(V(requested_at)));
    diesel::update(attempts::table)
        .filter(by_hand)
        .filter(attempts::outcome.eq(V(AttemptOutcome::Begun)))
        .set(attempts::outcome.eq(V(AttemptOutcome::Abandoned)))
        .execute(conn)
        .await?;
    let abandoned: i64 = attempts::table
        .filter(by_hand)
        .filter(attempts::outcome.eq(V(AttemptOutcome::Abandoned)))
        .count()
        .get_result(conn)
        .await?;
    if abandoned < i64::from(ABANDONED_AT_MOST) {
        return Ok(false);
    }
    diesel::delete(resends::table.find(V(id)))
        .execute(conn)
        .await?;
    Ok(true)
}

async fn load(
    conn: &mut Conn,
    claim_id: ClaimId,
    taken: Vec<Taken>,
    now: Timestamp,
) -> Result<(Vec<ClaimedAttempt>, Sealed), StoreError> {
    if taken.is_empty() {
        return Ok((Vec::new(), Vec::new()));
    }
    type Row = (
        DeliveryId,
        EndpointId,
        AccountId,
        EventId,
        EventType,
        Vec<u8>,
        String,
    );
    let rows: Vec<Row> = deliveries::table
        .inner_join(events::table)
        .inner_join(endpoints::table)
        .filter(deliveries::id.eq_any(taken.iter().map(|t| V(t.id))))
        .select((
            deliveries::id,
            deliveries::endpoint_id,
            deliveries::account_id,
            deliveries::event_id,
            deliveries::event_type,
            events::body,
            endpoints::url,
        ))
        .load(conn)
        .await?;
    let mut endpoint_ids: Vec<EndpointId> = rows.iter().map(|row| row.1).collect();
    endpoint_ids.sort_unstable();
    endpoint_ids.dedup();
    let secrets = signing(conn, &endpoint_ids, now).await?;
    let by_id: HashMap<DeliveryId, Row> = rows.into_iter().map(|row| (row.0, row)).collect();
    let claimed = taken
        .into_iter()
        .filter_map(|Taken { id, number }| {
            // A delivery may be there twice: on its schedule, and by hand.
            let (_, endpoint_id, account_id, event_id, kind, body, url) = by_id.get(&id)?.clone();
            Some(ClaimedAttempt {
                claim_id,
                attempt_id: crate::store::mint(now),
                delivery_id: id,
                endpoint_id,
                account_id,
                number,
                event_id,
                kind,
                body,
                url,
                secrets: Vec::new(),
            })
        })
        .collect();
    Ok((claimed, secrets))
}

/// Gives claimed work back that has not been begun; its attempts never were.
pub(crate) async fn give_back(
    conn: &mut Conn,
    returned: &[(DeliveryId, AttemptId, ClaimId)],
) -> Result<(), StoreError> {
    let ids = || returned.iter().map(|(delivery, _, _)| V(*delivery));
    let claims = || returned.iter().map(|(_, _, claim)| V(*claim));
    let deliveries_first = returned.iter().map(|(delivery, _, _)| *delivery).collect();
    dialect::lock_deliveries(conn, deliveries_first).await?;
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
        .execute(conn)
        .await?;
    Ok(())
}

/// Ends asked-for repetitions: one attempt, whatever came of it; success makes the delivery `delivered`.
pub(crate) async fn finish_resends(
    conn: &mut Conn,
    reports: &[AttemptReport],
) -> Result<(), StoreError> {
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
