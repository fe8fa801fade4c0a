//! The statements on deliveries and attempts that differ, for PostgreSQL.

use super::column;
use crate::prelude::*;

/// Cancels up to `most` open deliveries of an endpoint, and skips those that another transaction has locked. Returns
/// how many it cancelled.
pub(crate) async fn cancel_open(conn: &mut Conn, endpoint: EndpointId, most: i64) -> Result<usize> {
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

/// Records the results of scheduled attempts, and moves their deliveries where the claim is still in force: two
/// statements, however many results. The next attempt is due by the database's clock, after the part of its wait that
/// is left at `steady`. Returns the deliveries that were given up.
pub(crate) async fn finish(
    conn: &mut Conn,
    reports: &[AttemptReport],
    (steady, offset): (Timestamp, i64),
) -> Result<HashSet<DeliveryId>> {
    #[derive(QueryableByName)]
    struct Moved {
        #[diesel(sql_type = Nullable<sql::Uuid>)]
        exhausted: Option<DeliveryId>,
    }

    diesel::sql_query(
        "UPDATE attempts a SET outcome = r.outcome, status_code = r.status_code, \
           duration_ms = r.duration_ms, error = r.error, response_snippet = r.snippet, at = r.at \
         FROM UNNEST($1, $2, $3, $4, $5, $6, $7) \
           AS r(id, outcome, status_code, duration_ms, error, snippet, at) \
         WHERE a.id = r.id",
    )
    .bind::<Array<sql::Uuid>, _>(column(reports, |r| r.attempt_id))
    .bind::<Array<sql::Word>, _>(column(reports, AttemptReport::outcome))
    .bind::<Array<Nullable<Integer>>, _>(column(reports, |r| r.status_code))
    .bind::<Array<Integer>, _>(column(reports, |r| r.duration_ms))
    .bind::<Array<Nullable<Text>>, _>(column(reports, |r| r.error.clone()))
    .bind::<Array<Nullable<Text>>, _>(column(reports, |r| r.response_snippet.clone()))
    .bind::<Array<sql::Instant>, _>(column(reports, |r| r.at))
    .execute(conn)
    .await?;
    let mut scheduled: Vec<&AttemptReport> = reports.iter().filter(|r| r.number > 0).collect();
    // In id order, so that two processes never deadlock.
    scheduled.sort_by_key(|report| report.delivery_id);
    ensure!(!scheduled.is_empty(), HashSet::new());
    // A failure does not reopen a delivery that was cancelled or received meanwhile.
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
