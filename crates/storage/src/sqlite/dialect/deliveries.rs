//! The statements on deliveries and attempts that differ, for SQLite.

use std::collections::HashSet;

use diesel::prelude::*;
use diesel::query_builder::{AstPass, QueryFragment};
use diesel::sql_types::BigInt;
use diesel::sqlite::Sqlite;
use diesel_async::RunQueryDsl;
use offhook_domain::{ClaimId, DeliveryId, EndpointId, EventId, Timestamp};

use super::super::Conn;
use super::super::queries::delivery_claims::{Candidate, Found, Times};
use super::super::queries::dispatch::{first_attempts, retries};
use super::super::queries::events::NewDelivery;
use crate::schema::{attempts, deliveries, resends};
use crate::sql::V;
use crate::{
    AttemptOutcome, AttemptReport, ClaimSlots, ClaimedAttempt, DeliveryState, StoreError, sql,
};

/// Takes these deliveries' rows for the duration of the transaction; the one writer has them anyway.
pub(crate) async fn lock_deliveries(
    _conn: &mut Conn,
    _ids: Vec<DeliveryId>,
) -> Result<(), StoreError> {
    Ok(())
}

/// Takes an endpoint's open deliveries; the one writer has them anyway.
pub(crate) async fn lock_open_deliveries(
    _conn: &mut Conn,
    _endpoint: EndpointId,
) -> Result<(), StoreError> {
    Ok(())
}

/// Cancels up to `most` open deliveries of an endpoint; returns how many that were.
pub(crate) async fn cancel_open(
    conn: &mut Conn,
    endpoint: EndpointId,
    most: i64,
) -> Result<usize, StoreError> {
    Ok(diesel::sql_query(
        "UPDATE deliveries SET state = 'cancelled', next_attempt_at = NULL \
           WHERE id IN (SELECT id FROM deliveries \
             WHERE endpoint_id = ?1 AND state IN ('pending', 'retrying') LIMIT ?2)",
    )
    .bind::<sql::Uuid, _>(V(endpoint))
    .bind::<BigInt, _>(most)
    .execute(conn)
    .await?)
}

pub(crate) async fn insert_deliveries(
    conn: &mut Conn,
    rows: Vec<NewDelivery>,
) -> Result<(), StoreError> {
    for row in rows {
        diesel::insert_into(deliveries::table)
            .values((
                deliveries::id.eq(V(row.id)),
                deliveries::account_id.eq(V(row.account)),
                deliveries::endpoint_id.eq(V(row.endpoint)),
                deliveries::event_id.eq(V(row.event)),
                deliveries::event_type.eq(V(row.kind)),
                deliveries::waits_for.eq(row.waits_for),
                deliveries::state.eq(V(row.state)),
                deliveries::attempts_count.eq(0),
                deliveries::abandoned_count.eq(0),
                deliveries::next_attempt_at.eq(row.due()),
                deliveries::created_at.eq(V(row.at)),
            ))
            .execute(conn)
            .await?;
    }
    Ok(())
}

pub(crate) async fn insert_attempts(
    conn: &mut Conn,
    claimed: &[ClaimedAttempt],
    at: Timestamp,
) -> Result<(), StoreError> {
    for attempt in claimed {
        diesel::insert_into(attempts::table)
            .values((
                attempts::id.eq(V(attempt.attempt_id)),
                attempts::delivery_id.eq(V(attempt.delivery_id)),
                attempts::number.eq(attempt.number),
                attempts::at.eq(V(at)),
                attempts::outcome.eq(V(AttemptOutcome::Begun)),
            ))
            .execute(conn)
            .await?;
    }
    Ok(())
}

/// Each enabled endpoint's deliveries that are due, the first ones first. None has the claim yet.
pub(crate) async fn claim_due(
    conn: &mut Conn,
    slots: &[ClaimSlots],
    _claim: ClaimId,
    times: Times,
) -> Result<Found, StoreError> {
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
                .bind::<sql::Uuid, _>(V(slot.endpoint))
                .bind::<sql::Instant, _>(V(times.due))
                .bind::<sql::Instant, _>(V(times.judged_at))
                .bind::<BigInt, _>(i64::try_from(most).unwrap_or(i64::MAX))
                .load(conn)
                .await?;
            found.candidates.extend(rows);
        }
    }
    Ok(found)
}

/// The endpoint's asked-for repetitions that may be claimed.
pub(crate) async fn resend_candidates(
    conn: &mut Conn,
    slot: ClaimSlots,
    judged_at: Timestamp,
) -> Result<Vec<(DeliveryId, Option<ClaimId>, Timestamp)>, StoreError> {
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
        .load(conn)
        .await?)
}

/// Records what became of scheduled attempts, and moves their deliveries where the claim is still in force. Returns the
/// deliveries that were given up.
pub(crate) async fn finish(
    conn: &mut Conn,
    reports: &[AttemptReport],
    (steady, _): (Timestamp, i64),
) -> Result<HashSet<DeliveryId>, StoreError> {
    let mut exhausted = HashSet::new();
    for report in reports {
        let outcome = if report.success {
            AttemptOutcome::Succeeded
        } else {
            AttemptOutcome::Failed
        };
        diesel::update(attempts::table.find(V(report.attempt_id)))
            .set((
                attempts::at.eq(V(report.at)),
                attempts::outcome.eq(V(outcome)),
                attempts::status_code.eq(report.status_code),
                attempts::duration_ms.eq(report.duration_ms),
                attempts::error.eq(&report.error),
                attempts::response_snippet.eq(&report.response_snippet),
            ))
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
        let recorded = (
            deliveries::attempts_count.eq(report.number),
            deliveries::abandoned_count.eq(0),
            deliveries::claim_id.eq(None::<ClaimId>),
            deliveries::lease_expires_at.eq(None::<Timestamp>),
        );
        let moved = (
            deliveries::state.eq(V(state)),
            deliveries::next_attempt_at.eq(next),
        );
        let open =
            deliveries::state.eq_any([DeliveryState::Pending, DeliveryState::Retrying].map(V));
        // A failure does not bring back what was cancelled or received meanwhile.
        let changed = diesel::update(deliveries::table)
            .filter(mine.and(open.or(report.success.into_sql::<diesel::sql_types::Bool>())))
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

/// The oldest deliveries before `first_kept` that are at their end.
pub(crate) async fn old_deliveries(
    conn: &mut Conn,
    first_kept: DeliveryId,
    most: i64,
) -> Result<Vec<(DeliveryId, EventId)>, StoreError> {
    Ok(deliveries::table
        .filter(deliveries::id.lt(V(first_kept)))
        .filter(diesel::dsl::sql::<diesel::sql_types::Bool>(
            "deliveries.state NOT IN ('pending', 'retrying') \
             AND NOT EXISTS (SELECT 1 FROM resends r WHERE r.delivery_id = deliveries.id)",
        ))
        .order(deliveries::id)
        .limit(most)
        .select((deliveries::id, deliveries::event_id))
        .load(conn)
        .await?)
}

/// One of several scans of deliveries that are merged: SQLite has each in the order of the whole by itself, and no word for
/// it.
pub(crate) fn push_sorted<'b>(
    out: &mut AstPass<'_, 'b, Sqlite>,
    scan: &'b impl QueryFragment<Sqlite>,
    _limit: &'b i64,
) -> QueryResult<()> {
    scan.walk_ast(out.reborrow())
}
