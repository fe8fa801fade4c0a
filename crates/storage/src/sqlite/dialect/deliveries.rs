//! The statements on deliveries and attempts that differ, for SQLite.

use crate::prelude::*;
use crate::queries::delivery_claims::{Candidate, Claim, Found};
use crate::queries::dispatch::{first_attempts, retries};

/// Cancels up to `most` open deliveries of an endpoint. Returns how many it cancelled.
pub(crate) async fn cancel_open(conn: &mut Conn, endpoint: EndpointId, most: i64) -> Result<usize> {
    Ok(diesel::sql_query(
        "UPDATE deliveries SET state = 'cancelled', next_attempt_at = NULL \
           WHERE id IN (SELECT id FROM deliveries \
             WHERE endpoint_id = ?1 AND state IN ('pending', 'retrying') LIMIT ?2)",
    )
    .bind::<sql::Uuid, _>(endpoint)
    .bind::<BigInt, _>(most)
    .execute(conn)
    .await?)
}

/// Each enabled endpoint's due deliveries, oldest first. None has the claim yet.
pub(crate) async fn claim_due(
    conn: &mut Conn,
    slots: &[ClaimSlots],
    claim: Claim,
) -> Result<Found> {
    macro_rules! due_of_endpoint {
        ($conditions:expr, $due:literal) => {
            concat!(
                "SELECT d.id, d.claim_id, d.attempts_count, d.abandoned_count, \
                   d.next_attempt_at AS due FROM deliveries d \
                 WHERE ",
                $conditions,
                " AND d.endpoint_id = ?1 AND ",
                $due,
                " AND EXISTS (SELECT 1 FROM webhook_endpoints p WHERE p.id = ?1 AND p.status = 'enabled') \
                   AND (d.claim_id IS NULL OR d.lease_expires_at < ?3) \
                 ORDER BY d.next_attempt_at LIMIT ?4"
            )
        };
    }
    let mut found = Found::default();
    for slot in slots {
        for (query, most) in [
            (
                due_of_endpoint!(retries!(), "d.next_attempt_at <= ?2"),
                slot.retries,
            ),
            (
                due_of_endpoint!(first_attempts!(), "?2 IS NOT NULL"),
                slot.firsts,
            ),
        ] {
            if most == 0 {
                continue;
            }
            let rows: Vec<Candidate> = diesel::sql_query(query)
                .bind::<sql::Uuid, _>(slot.endpoint)
                .bind::<sql::Instant, _>(claim.due)
                .bind::<sql::Instant, _>(claim.judged_at)
                .bind::<BigInt, _>(i64::try_from(most).unwrap_or(i64::MAX))
                .load(conn)
                .await?;
            found.candidates.extend(rows);
        }
    }
    Ok(found)
}

/// Records the results of scheduled attempts, and moves their deliveries where the claim is still in force. Returns the
/// deliveries that were given up.
pub(crate) async fn finish(
    conn: &mut Conn,
    reports: &[AttemptReport],
    (steady, _): (Timestamp, i64),
) -> Result<HashSet<DeliveryId>> {
    let mut exhausted = HashSet::new();
    for report in reports {
        diesel::update(attempts::table.find(V(report.attempt_id)))
            .set(row! {
                attempts of report: at, outcome = report.outcome(), status_code, duration_ms, error,
                response_snippet
            })
            .execute(conn)
            .await?;
        if report.number == 0 {
            continue;
        }
        let next = report
            .wait_left(steady)
            .map(|left| Timestamp::from_micros(steady.micros().saturating_add(left)));
        let state = match (report.success, next) {
            (true, _) => DeliveryState::Delivered,
            (false, Some(_)) => DeliveryState::Retrying,
            (false, None) => DeliveryState::Exhausted,
        };
        let mine = deliveries::id
            .eq(V(report.delivery_id))
            .and(deliveries::claim_id.eq(V(report.claim_id)));
        let recorded = row! {
            deliveries: attempts_count = report.number, abandoned_count = 0, claim_id = NULL,
            lease_expires_at = NULL
        };
        let moved = row! { deliveries: state, next_attempt_at = next };
        let open =
            deliveries::state.eq_any([DeliveryState::Pending, DeliveryState::Retrying].map(V));
        // A failure does not reopen a delivery that was cancelled or received meanwhile.
        let changed = diesel::update(deliveries::table)
            .filter(mine)
            .filter(open.or(report.success.into_sql::<Bool>()))
            .set(moved)
            .execute(conn)
            .await?;
        if changed > 0 && state == DeliveryState::Exhausted {
            exhausted.insert(report.delivery_id);
        }
        diesel::update(deliveries::table)
            .filter(mine)
            .set(recorded)
            .execute(conn)
            .await?;
    }
    Ok(exhausted)
}
