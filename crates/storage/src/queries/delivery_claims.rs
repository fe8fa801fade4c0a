//! Claims of deliveries by dispatchers: each is for one attempt, fenced by the claim and limited by its lease.

use super::endpoints::signing;
use crate::prelude::*;

/// After this many processes in a row have died in its attempt, a delivery has to wait.
const ABANDONED_AT_MOST: i32 = 3;

/// A claim: its fence, its clocks, and its lease.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Claim {
    pub(crate) id: ClaimId,
    /// The time that customers read.
    pub(crate) now: Timestamp,
    /// The schedule's time: a retry that is due by then may be claimed.
    pub(crate) due: Timestamp,
    /// The time for leases: a lease that expired before may be claimed.
    pub(crate) judged_at: Timestamp,
    /// When this claim expires.
    pub(crate) lease: Timestamp,
}

/// A delivery that may be claimed, locked until this transaction ends.
#[derive(Debug, QueryableByName)]
pub(crate) struct Candidate {
    #[diesel(sql_type = sql::Uuid)]
    pub(crate) id: DeliveryId,
    /// The claim of a dead owner.
    #[diesel(sql_type = Nullable<sql::Uuid>)]
    pub(crate) claim_id: Option<ClaimId>,
    #[diesel(sql_type = Integer)]
    pub(crate) attempts_count: i32,
    #[diesel(sql_type = Integer)]
    pub(crate) abandoned_count: i32,
    /// Since when it is due.
    #[diesel(sql_type = Nullable<sql::Instant>)]
    pub(crate) due: Option<Timestamp>,
}

/// The database's result for a claim's slots.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// Already claimed: deliveries without an owner, where the database claims what it finds.
    pub(crate) claimed: Vec<Work>,
    /// Not claimed yet.
    pub(crate) candidates: Vec<Candidate>,
}

/// An attempt to make, and since when it is due.
pub(crate) type Work = (ClaimedAttempt, Option<Timestamp>);

/// A claimed delivery, the number of its attempt, and since when that is due.
type Taken = (DeliveryId, i32, Option<Timestamp>);

#[boxed]
impl Store {
    /// Claims due deliveries, oldest first per endpoint, and begins an attempt of each. `offsets` are the waits after
    /// the 1st, 2nd, … failure, and of a delivery in which processes died. Due times are judged as in
    /// [`Store::due_endpoints`]; `now` is the time that customers read. An attempt has no secrets if its endpoint was
    /// deleted meanwhile or its secret cannot be read.
    ///
    /// After `StoreError::UnknownCommit` the claim may be in force; it expires on its own.
    pub async fn claim_deliveries(
        &self,
        slots: Vec<ClaimSlots>,
        offsets: Vec<Duration>,
        (now, steady): (Timestamp, Timestamp),
    ) -> Result<Vec<ClaimedAttempt>> {
        let offset = self.offset();
        let (mut attempts, sealed) = keep!(self, |conn| {
            let (due, judged_at) = dialect!(conn, clocks(steady, offset))?;
            let claim = Claim {
                id: mint(now),
                now,
                due,
                judged_at,
                lease: judged_at.plus(lease()),
            };
            let Found {
                claimed: mut scheduled,
                candidates,
            } = dialect!(conn, claim_due(&slots, claim))?;
            let taken = take(conn, candidates, &offsets, claim).await?;
            scheduled.extend(load(conn, taken, claim).await?);
            // In the order of the slots, and oldest first per endpoint, whatever their previous owner.
            let places: HashMap<EndpointId, usize> =
                slots.iter().map(|slot| slot.endpoint).zip(0..).collect();
            scheduled.sort_by_key(|(one, due)| (places.get(&one.endpoint_id).copied(), *due));
            let mut by_hand = Vec::new();
            for slot in slots.iter().filter(|slot| slot.resends > 0) {
                by_hand.extend(take_resends(conn, *slot, claim).await?);
            }
            let by_hand = load(conn, by_hand, claim).await?;
            let all = scheduled.into_iter().chain(by_hand);
            let attempts: Vec<ClaimedAttempt> = all.map(|(attempt, _)| attempt).collect();
            ensure!(!attempts.is_empty(), (attempts, Vec::new()));
            let mut endpoints: Vec<EndpointId> =
                attempts.iter().map(|one| one.endpoint_id).collect();
            endpoints.sort_unstable();
            endpoints.dedup();
            let sealed = signing(conn, &endpoints, now).await?;
            bulk! {
                conn, "attempts", attempts of one in &attempts; id = one.attempt_id, delivery_id,
                number, at = now, outcome = AttemptOutcome::Begun
            }?;
            Ok((attempts, sealed))
        })
        .await?;
        let secrets = self.unseal(sealed);
        for attempt in &mut attempts {
            attempt.secrets = secrets
                .get(&attempt.endpoint_id)
                .cloned()
                .unwrap_or_default();
        }
        Ok(attempts)
    }
}

/// Takes the candidates that are to be attempted now.
async fn take(
    conn: &mut Conn,
    candidates: Vec<Candidate>,
    offsets: &[Duration],
    claim: Claim,
) -> Result<Vec<Taken>> {
    let mut taken: Vec<Taken> = Vec::with_capacity(candidates.len());
    for candidate in candidates {
        let (id, number) = (candidate.id, candidate.attempts_count + 1);
        if candidate.claim_id.is_some() {
            diesel::update(attempts::table)
                .filter(attempts::delivery_id.eq(V(id)))
                .filter(attempts::number.gt(0))
                .filter(attempts::outcome.eq(V(AttemptOutcome::Begun)))
                .set(attempts::outcome.eq(V(AttemptOutcome::Abandoned)))
                .execute(conn)
                .await?;
            let abandoned = candidate.abandoned_count + 1;
            diesel::update(deliveries::table.find(V(id)))
                .set(deliveries::abandoned_count.eq(abandoned))
                .execute(conn)
                .await?;
            if let Ok(beyond) = usize::try_from(abandoned - ABANDONED_AT_MOST) {
                let wait = offsets.get(beyond).or(offsets.last());
                let next = claim.due.plus(wait.copied().unwrap_or_default());
                postpone(conn, id, next).await?;
                continue;
            }
        }
        taken.push((id, number, candidate.due));
    }
    ensure!(!taken.is_empty(), taken);
    diesel::update(deliveries::table)
        .filter(deliveries::id.eq_any(taken.iter().map(|(id, ..)| V(*id))))
        .set(row! { deliveries: claim_id = claim.id, lease_expires_at = claim.lease })
        .execute(conn)
        .await?;
    Ok(taken)
}

/// Postpones a delivery in which several processes in a row have died, in case it is the cause. The receiver has not
/// failed, so this uses up none of its attempts.
async fn postpone(conn: &mut Conn, id: DeliveryId, next: Timestamp) -> Result<()> {
    tracing::warn!(delivery = %id, until = %next, "processes died in one attempt after another: the next one waits");
    diesel::update(deliveries::table.find(V(id)))
        .set(row! {
            deliveries: state = DeliveryState::Retrying, next_attempt_at = next,
            claim_id = NULL, lease_expires_at = NULL
        })
        .execute(conn)
        .await?;
    Ok(())
}

/// Claims the endpoint's waiting resends, and skips those that another transaction has locked.
async fn take_resends(conn: &mut Conn, slot: ClaimSlots, claim: Claim) -> Result<Vec<Taken>> {
    let candidates: Vec<(DeliveryId, Option<ClaimId>, Timestamp)> = resends::table
        .filter(resends::endpoint_id.eq(V(slot.endpoint)))
        .filter(is_unclaimed!(resends, claim.judged_at))
        .order((resends::bulk, resends::requested_at))
        .limit(i64::try_from(slot.resends).unwrap_or(i64::MAX))
        .select((
            resends::delivery_id,
            resends::claim_id,
            resends::requested_at,
        ))
        .locked("FOR NO KEY UPDATE SKIP LOCKED")
        .load(conn)
        .await?;
    let mut taken = Vec::new();
    for (id, dead_claim, requested_at) in candidates {
        if dead_claim.is_some() && abandon_resend(conn, id, requested_at).await? {
            continue;
        }
        diesel::update(resends::table.find(V(id)))
            .set(row! { resends: claim_id = claim.id, lease_expires_at = claim.lease })
            .execute(conn)
            .await?;
        taken.push((id, 0, None));
    }
    Ok(taken)
}

/// Marks the attempt of a resend whose process died. Returns `true` if that happened too often, which ends the resend.
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
        .counted(conn)
        .await?;
    ensure!(abandoned >= i64::from(ABANDONED_AT_MOST), false);
    delete(conn, resends::table.find(V(id))).await?;
    Ok(true)
}

async fn load(conn: &mut Conn, taken: Vec<Taken>, claim: Claim) -> Result<Vec<Work>> {
    ensure!(!taken.is_empty(), Vec::new());
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
        .filter(deliveries::id.eq_any(taken.iter().map(|(id, ..)| V(*id))))
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
    let work = taken.into_iter().filter_map(|(id, number, due)| {
        let (delivery_id, endpoint_id, account_id, event_id, kind, body, url) =
            by_id.remove(&id)?;
        let attempt = ClaimedAttempt {
            claim_id: claim.id,
            attempt_id: mint(claim.now),
            delivery_id,
            endpoint_id,
            account_id,
            number,
            event_id,
            kind,
            body,
            url,
            secrets: Vec::new(),
        };
        Some((attempt, due))
    });
    Ok(work.collect())
}
