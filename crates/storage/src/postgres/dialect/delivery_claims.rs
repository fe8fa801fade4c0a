//! The claim of due deliveries, for PostgreSQL: finds, claims and reads them in one statement, so that each row is
//! looked up once.

use super::column;
use crate::prelude::*;
use crate::queries::delivery_claims::{Candidate, Claim, Found};
use crate::queries::dispatch::{first_attempts, retries};

/// `found` locks each due row that no other transaction has locked. If another transaction has changed a row since the
/// statement began, PostgreSQL rechecks the conditions on its new version. `taken` gives rows without a claim this one,
/// by id: the array makes the planner use the primary key, whatever row count it estimates. The caller handles rows
/// that a dead owner left.
const CLAIM: &str = concat!(
    "WITH found AS ( \
       SELECT one.* FROM UNNEST($1, $2, $3) AS s(endpoint_id, firsts, retries) \
       JOIN webhook_endpoints p ON p.id = s.endpoint_id AND p.status = 'enabled' \
       CROSS JOIN LATERAL ( \
         SELECT r.* FROM ( \
           SELECT d.id, d.claim_id, d.attempts_count, d.abandoned_count, d.next_attempt_at \
           FROM deliveries d WHERE ",
    retries!(),
    "        AND d.endpoint_id = s.endpoint_id AND d.next_attempt_at <= $4 \
             AND (d.claim_id IS NULL OR d.lease_expires_at < $5) \
           ORDER BY d.next_attempt_at LIMIT s.retries FOR NO KEY UPDATE SKIP LOCKED) r \
         UNION ALL \
         SELECT f.* FROM ( \
           SELECT d.id, d.claim_id, d.attempts_count, d.abandoned_count, d.next_attempt_at \
           FROM deliveries d WHERE ",
    first_attempts!(),
    "        AND d.endpoint_id = s.endpoint_id \
             AND (d.claim_id IS NULL OR d.lease_expires_at < $5) \
           ORDER BY d.next_attempt_at LIMIT s.firsts FOR NO KEY UPDATE SKIP LOCKED) f) one), \
     taken AS ( \
       UPDATE deliveries SET claim_id = $6, lease_expires_at = $7 \
       WHERE id = ANY (ARRAY(SELECT found.id FROM found WHERE found.claim_id IS NULL)) \
       RETURNING id, attempts_count, next_attempt_at, endpoint_id, account_id, event_id, event_type) \
     SELECT t.id, NULL::uuid AS claim_id, t.attempts_count, 0 AS abandoned_count, t.next_attempt_at AS due, \
       t.endpoint_id, t.account_id, t.event_id, t.event_type, e.body, w.url \
     FROM taken t JOIN events e ON e.id = t.event_id JOIN webhook_endpoints w ON w.id = t.endpoint_id \
     UNION ALL \
     SELECT found.id, found.claim_id, found.attempts_count, found.abandoned_count, found.next_attempt_at, \
       NULL, NULL, NULL, NULL, NULL, NULL \
     FROM found WHERE found.claim_id IS NOT NULL"
);

/// A delivery that now has the claim, with all that its attempt needs; or one of a dead owner, without that.
#[derive(QueryableByName)]
struct Row {
    #[diesel(embed)]
    candidate: Candidate,
    #[diesel(sql_type = Nullable<sql::Uuid>)]
    endpoint_id: Option<EndpointId>,
    #[diesel(sql_type = Nullable<sql::Uuid>)]
    account_id: Option<AccountId>,
    #[diesel(sql_type = Nullable<sql::Uuid>)]
    event_id: Option<EventId>,
    #[diesel(sql_type = Nullable<sql::Word>)]
    event_type: Option<EventType>,
    #[diesel(sql_type = Nullable<Binary>)]
    body: Option<Vec<u8>>,
    #[diesel(sql_type = Nullable<Text>)]
    url: Option<String>,
}

impl Row {
    /// The attempt to make, if the delivery has the claim.
    fn attempt(&mut self, claim: Claim) -> Option<ClaimedAttempt> {
        Some(ClaimedAttempt {
            claim_id: claim.id,
            attempt_id: mint(claim.now),
            delivery_id: self.candidate.id,
            endpoint_id: self.endpoint_id?,
            account_id: self.account_id?,
            number: self.candidate.attempts_count + 1,
            event_id: self.event_id?,
            kind: self.event_type?,
            body: self.body.take()?,
            url: self.url.take()?,
            secrets: Vec::new(),
        })
    }
}

/// Locks each enabled endpoint's due deliveries, oldest first, until the transaction ends. Skips those that other
/// transactions have locked. Deliveries without an owner get the claim.
pub(crate) async fn claim_due(
    conn: &mut Conn,
    slots: &[ClaimSlots],
    claim: Claim,
) -> Result<Found> {
    if slots.iter().all(|slot| slot.firsts + slot.retries == 0) {
        return Ok(Found::default());
    }
    let count = |n: usize| i64::try_from(n).unwrap_or(i64::MAX);
    let rows: Vec<Row> = diesel::sql_query(CLAIM)
        .bind::<Array<sql::Uuid>, _>(column(slots, |s| s.endpoint))
        .bind::<Array<BigInt>, _>(column(slots, |s| count(s.firsts)))
        .bind::<Array<BigInt>, _>(column(slots, |s| count(s.retries)))
        .bind::<sql::Instant, _>(claim.due)
        .bind::<sql::Instant, _>(claim.judged_at)
        .bind::<sql::Uuid, _>(claim.id)
        .bind::<sql::Instant, _>(claim.lease)
        .load(conn)
        .await?;
    let mut found = Found::default();
    for mut row in rows {
        match row.attempt(claim) {
            Some(attempt) => found.claimed.push((attempt, row.candidate.due)),
            None => found.candidates.push(row.candidate),
        }
    }
    Ok(found)
}
