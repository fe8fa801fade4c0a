//! The statements on deliveries and attempts that differ, for PostgreSQL.

use std::collections::HashSet;

use diesel::pg::Pg;
use diesel::prelude::*;
use diesel::query_builder::{AstPass, QueryFragment};
use diesel::sql_types::{Array, BigInt, Bool, Integer, Nullable, Text};
use diesel_async::RunQueryDsl;
use offhook_domain::{ClaimId, DeliveryId, EndpointId, EventId, Timestamp};

use super::super::Conn;
use super::super::queries::events::NewDelivery;
use super::column;
use crate::schema::{deliveries, resends};
use crate::sql::V;
use crate::{AttemptOutcome, AttemptReport, ClaimSlots, ClaimedAttempt, StoreError, sql};

/// Takes these deliveries' rows for the duration of the transaction. In id order, as everybody who waits for them does:
/// so no two wait for each other.
pub(crate) async fn lock_deliveries(
    conn: &mut Conn,
    ids: Vec<DeliveryId>,
) -> Result<(), StoreError> {
    let _: Vec<DeliveryId> = deliveries::table
        .filter(deliveries::id.eq_any(ids.into_iter().map(V)))
        .order(deliveries::id)
        .select(deliveries::id)
        .for_no_key_update()
        .load(conn)
        .await?;
    Ok(())
}

/// Takes an endpoint's open deliveries as [`lock_deliveries`] does.
pub(crate) async fn lock_open_deliveries(
    conn: &mut Conn,
    endpoint: EndpointId,
) -> Result<(), StoreError> {
    diesel::sql_query(
        "SELECT count(*) FROM (SELECT id FROM deliveries \
           WHERE endpoint_id = $1 AND state IN ('pending', 'retrying') \
           ORDER BY id FOR NO KEY UPDATE) AS open",
    )
    .bind::<sql::Uuid, _>(V(endpoint))
    .execute(conn)
    .await?;
    Ok(())
}

/// Cancels up to `most` open deliveries of an endpoint, without waiting for those that somebody else has; returns how many
/// that were.
pub(crate) async fn cancel_open(
    conn: &mut Conn,
    endpoint: EndpointId,
    most: i64,
) -> Result<usize, StoreError> {
    Ok(diesel::sql_query(
        "WITH free AS (SELECT id FROM deliveries \
           WHERE endpoint_id = $1 AND state IN ('pending', 'retrying') \
           LIMIT $2 FOR NO KEY UPDATE SKIP LOCKED) \
         UPDATE deliveries SET state = 'cancelled', next_attempt_at = NULL \
           FROM free WHERE deliveries.id = free.id",
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
    let values: Vec<_> = rows
        .into_iter()
        .map(|row| {
            (
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
            )
        })
        .collect();
    diesel::insert_into(deliveries::table)
        .values(values)
        .execute(conn)
        .await?;
    Ok(())
}

pub(crate) async fn insert_attempts(
    conn: &mut Conn,
    claimed: &[ClaimedAttempt],
    at: Timestamp,
) -> Result<(), StoreError> {
    diesel::sql_query(
        "INSERT INTO attempts (id, delivery_id, number, at, outcome) \
         SELECT a.id, a.delivery_id, a.number, $4, 'begun' \
         FROM UNNEST($1, $2, $3) AS a(id, delivery_id, number)",
    )
    .bind::<Array<sql::Uuid>, _>(column(claimed, |a| a.attempt_id))
    .bind::<Array<sql::Uuid>, _>(column(claimed, |a| a.delivery_id))
    .bind::<Array<Integer>, _>(column(claimed, |a| a.number))
    .bind::<sql::Instant, _>(V(at))
    .execute(conn)
    .await?;
    Ok(())
}

/// The endpoint's asked-for repetitions that may be claimed, as far as no other transaction has them.
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
        .for_no_key_update()
        .skip_locked()
        .load(conn)
        .await?)
}

/// Records what became of scheduled attempts, and moves their deliveries where the claim is still in force: two
/// statements, however many there are. The next attempt is due by the database's clock, so long after `steady` as is left
/// of its wait. Returns the deliveries that were given up.
pub(crate) async fn finish(
    conn: &mut Conn,
    reports: &[AttemptReport],
    (steady, offset): (Timestamp, i64),
) -> Result<HashSet<DeliveryId>, StoreError> {
    #[derive(QueryableByName)]
    struct Moved {
        #[diesel(sql_type = Nullable<sql::Uuid>)]
        exhausted: Option<DeliveryId>,
    }

    let outcome = |report: &AttemptReport| {
        if report.success {
            AttemptOutcome::Succeeded
        } else {
            AttemptOutcome::Failed
        }
        .to_string()
    };
    diesel::sql_query(
        "UPDATE attempts a SET outcome = r.outcome, status_code = r.status_code, \
           duration_ms = r.duration_ms, error = r.error, response_snippet = r.snippet, at = r.at \
         FROM UNNEST($1, $2, $3, $4, $5, $6, $7) \
           AS r(id, outcome, status_code, duration_ms, error, snippet, at) \
         WHERE a.id = r.id",
    )
    .bind::<Array<sql::Uuid>, _>(column(reports, |r| r.attempt_id))
    .bind::<Array<Text>, _>(column(reports, outcome))
    .bind::<Array<Nullable<Integer>>, _>(column(reports, |r| r.status_code))
    .bind::<Array<Integer>, _>(column(reports, |r| r.duration_ms))
    .bind::<Array<Nullable<Text>>, _>(column(reports, |r| r.error.clone()))
    .bind::<Array<Nullable<Text>>, _>(column(reports, |r| r.response_snippet.clone()))
    .bind::<Array<sql::Instant>, _>(column(reports, |r| r.at))
    .execute(conn)
    .await?;
    let mut scheduled: Vec<&AttemptReport> = reports.iter().filter(|r| r.number > 0).collect();
    // In id order, so that two processes never wait for each other.
    scheduled.sort_by_key(|report| report.delivery_id);
    if scheduled.is_empty() {
        return Ok(HashSet::new());
    }
    // A failure does not bring back what was cancelled or received meanwhile.
    let moved: Vec<Moved> = diesel::sql_query(
        "UPDATE deliveries d SET \
           state = CASE WHEN r.success THEN 'delivered' \
             WHEN d.state NOT IN ('pending', 'retrying') THEN d.state \
             WHEN r.wait IS NULL THEN 'exhausted' ELSE 'retrying' END, \
           next_attempt_at = CASE WHEN d.state IN ('pending', 'retrying') \
             THEN clock_timestamp() + ($6 + r.wait) * INTERVAL '1 microsecond' END, \
           attempts_count = r.number, abandoned_count = 0, claim_id = NULL, lease_expires_at = NULL \
         FROM UNNEST($1, $2, $3, $4, $5) AS r(id, claim, success, number, wait) \
         WHERE d.id = r.id AND d.claim_id = r.claim \
         RETURNING CASE WHEN d.state = 'exhausted' THEN d.id END AS exhausted",
    )
    .bind::<Array<sql::Uuid>, _>(column(&scheduled, |r| r.delivery_id))
    .bind::<Array<sql::Uuid>, _>(column(&scheduled, |r| r.claim_id))
    .bind::<Array<Bool>, _>(column(&scheduled, |r| r.success))
    .bind::<Array<Integer>, _>(column(&scheduled, |r| r.number))
    .bind::<Array<Nullable<BigInt>>, _>(column(&scheduled, |r| r.wait_left(steady)))
    .bind::<BigInt, _>(offset)
    .get_results(conn)
    .await?;
    Ok(moved.into_iter().filter_map(|row| row.exhausted).collect())
}

/// The oldest deliveries before `first_kept` that are at their end, as far as no other transaction has them.
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
        .for_update()
        .skip_locked()
        .load(conn)
        .await?)
}

/// One of several scans of deliveries that are merged: PostgreSQL merges what is sorted already, and sorts what only could
/// be.
pub(crate) fn push_sorted<'b>(
    out: &mut AstPass<'_, 'b, Pg>,
    scan: &'b impl QueryFragment<Pg>,
    limit: &'b i64,
) -> QueryResult<()> {
    out.push_sql("(");
    scan.walk_ast(out.reborrow())?;
    out.push_sql(" ORDER BY created_at DESC, id DESC LIMIT ");
    out.push_bind_param::<BigInt, _>(limit)?;
    out.push_sql(")");
    Ok(())
}
