//! Deliveries that a dispatcher claims: each for one attempt, fenced by the claim and bounded by its lease.

use std::collections::HashMap;
use std::time::Duration;

use crate::database::RunQueryDsl;
use diesel::prelude::*;
use offhook_domain::{AccountId, ClaimId, DeliveryId, EndpointId, EventId, EventType, Timestamp};

use super::endpoints::signing;
use super::health;
use crate::database::Conn;
use crate::dialect::Lock as _;
use crate::dialect::dialect;
use crate::schema::{attempts, deliveries, events, resends, webhook_endpoints as endpoints};
use crate::sql::V;
use crate::{AttemptOutcome, ClaimSlots, ClaimedAttempt, DeliveryState, FailingEndpoint, Result};

/// The third process in a row that dies in one attempt makes it a failed one.
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

/// A delivery that may be claimed, and is this transaction's until its end.
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
    /// Since when it is due.
    #[diesel(sql_type = diesel::sql_types::Nullable<crate::sql::Instant>)]
    pub(crate) due: Option<Timestamp>,
}

/// What the database found of a claim's slots.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// Has the claim already: what nobody had before, where the database claims what it finds.
    pub(crate) claimed: Vec<Work>,
    /// Has it not yet.
    pub(crate) candidates: Vec<Candidate>,
}

/// An attempt to be made.
#[derive(Debug, Clone)]
pub(crate) struct Work {
    pub(crate) delivery: DeliveryId,
    pub(crate) endpoint: EndpointId,
    pub(crate) account: AccountId,
    pub(crate) event: EventId,
    pub(crate) kind: EventType,
    pub(crate) body: Vec<u8>,
    pub(crate) url: String,
    /// 1 to 4, or 0 when asked for by hand.
    pub(crate) number: i32,
    /// Since when it is due.
    pub(crate) due: Option<Timestamp>,
}

/// The sealed secrets of endpoints, with the row that each is sealed for.
pub(crate) type Sealed = Vec<(EndpointId, uuid::Uuid, Vec<u8>)>;

struct Taken {
    id: DeliveryId,
    number: i32,
    due: Option<Timestamp>,
}

/// Claims due deliveries, each endpoint's first ones, and begins an attempt of each. Returns the endpoints too of which a
/// delivery failed because every process died that tried.
pub(crate) async fn claim(
    conn: &mut Conn,
    slots: &[ClaimSlots],
    offsets: &[Duration],
    times: Times,
) -> Result<(Vec<ClaimedAttempt>, Sealed, Vec<FailingEndpoint>)> {
    let claim_id: ClaimId = crate::store::mint(times.now);
    let Found {
        claimed: mut scheduled,
        candidates,
    } = dialect!(conn, claim_due(slots, claim_id, times))?;
    let (taken, failed) = take(conn, candidates, offsets, claim_id, times).await?;
    let failing = health::note_abandoned(conn, &failed, times.now).await?;
    scheduled.extend(load(conn, taken).await?);
    // In the order of the slots, and each endpoint's first ones first, whoever had them before.
    let places: HashMap<EndpointId, usize> = slots.iter().map(|s| s.endpoint).zip(0..).collect();
    scheduled.sort_by_key(|work| (places.get(&work.endpoint).copied(), work.due));
    let mut by_hand = Vec::new();
    for slot in slots.iter().filter(|slot| slot.resends > 0) {
        by_hand.extend(take_resends(conn, *slot, claim_id, times).await?);
    }
    let by_hand = load(conn, by_hand).await?;
    let claimed: Vec<ClaimedAttempt> = scheduled
        .into_iter()
        .chain(by_hand)
        .map(|work| ClaimedAttempt {
            claim_id,
            attempt_id: crate::store::mint(times.now),
            delivery_id: work.delivery,
            endpoint_id: work.endpoint,
            account_id: work.account,
            number: work.number,
            event_id: work.event,
            kind: work.kind,
            body: work.body,
            url: work.url,
            secrets: Vec::new(),
        })
        .collect();
    if claimed.is_empty() {
        return Ok((claimed, Vec::new(), failing));
    }
    let mut endpoint_ids: Vec<EndpointId> = claimed.iter().map(|one| one.endpoint_id).collect();
    endpoint_ids.sort_unstable();
    endpoint_ids.dedup();
    let secrets = signing(conn, &endpoint_ids, times.now).await?;
    dialect!(conn, insert_attempts(&claimed, times.now))?;
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
) -> Result<(Vec<Taken>, Vec<(EndpointId, bool)>)> {
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
        let due = candidate.due;
        taken.push(Taken { id, number, due });
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

async fn abandon_scheduled(conn: &mut Conn, id: DeliveryId) -> Result<()> {
    diesel::update(attempts::table)
        .filter(attempts::delivery_id.eq(V(id)))
        .filter(attempts::number.gt(0))
        .filter(attempts::outcome.eq(V(AttemptOutcome::Begun)))
        .set(attempts::outcome.eq(V(AttemptOutcome::Abandoned)))
        .run(conn)
        .await
}

async fn fail_abandoned(
    conn: &mut Conn,
    id: DeliveryId,
    number: i32,
    offsets: &[Duration],
    due: Timestamp,
) -> Result<(EndpointId, bool)> {
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
) -> Result<Vec<Taken>> {
    let mut taken = Vec::new();
    for (id, dead_claim, requested_at) in resend_candidates(conn, slot, times.judged_at).await? {
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
        taken.push(Taken {
            id,
            number: 0,
            due: None,
        });
    }
    Ok(taken)
}

/// Marks a repetition's attempt whose process died; `true` if that has happened too often, and it is over.
async fn abandon_resend(conn: &mut Conn, id: DeliveryId, requested_at: Timestamp) -> Result<bool> {
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

async fn load(conn: &mut Conn, taken: Vec<Taken>) -> Result<Vec<Work>> {
    if taken.is_empty() {
        return Ok(Vec::new());
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
    let mut by_id: HashMap<DeliveryId, Row> = rows.into_iter().map(|row| (row.0, row)).collect();
    let work = taken.into_iter().filter_map(|Taken { id, number, due }| {
        let (delivery, endpoint, account, event, kind, body, url) = by_id.remove(&id)?;
        Some(Work {
            delivery,
            endpoint,
            account,
            event,
            kind,
            body,
            url,
            number,
            due,
        })
    });
    Ok(work.collect())
}

/// The endpoint's asked-for repetitions that may be claimed, as far as no other transaction has them.
async fn resend_candidates(
    conn: &mut Conn,
    slot: ClaimSlots,
    judged_at: Timestamp,
) -> Result<Vec<(DeliveryId, Option<ClaimId>, Timestamp)>> {
    Ok(resends::table
        .filter(resends::endpoint_id.eq(V(slot.endpoint)))
        .filter(
            resends::claim_id
                .is_null()
                .or(resends::lease_expires_at.lt(V(judged_at))),
        )
        .order((resends::bulk, resends::requested_at))
        .limit(i64::try_from(slot.resends).unwrap_or(i64::MAX))
        .select((
            resends::delivery_id,
            resends::claim_id,
            resends::requested_at,
        ))
        .locked("FOR NO KEY UPDATE SKIP LOCKED")
        .load(conn)
        .await?)
}
