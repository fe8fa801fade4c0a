//! The health of endpoints: since when they fail, and how many deliveries were given up.

use crate::prelude::*;
use std::collections::BTreeMap;

/// An endpoint's first failure since its last success, and the deliveries given up since.
type Known = (Option<Timestamp>, i32);

/// A batch's results for one endpoint.
#[derive(Default)]
struct Tally {
    /// Whether a delivery was received.
    received: bool,
    /// The first failure after the last success.
    failed_at: Option<Timestamp>,
    /// Deliveries given up after the last success.
    exhausted: i32,
}

/// Applies a batch of results, and returns the endpoints that fail. Writes only rows that change, in id order.
pub(crate) async fn note(
    conn: &mut Conn,
    reports: &[AttemptReport],
    exhausted: &HashSet<DeliveryId>,
) -> Result<Vec<FailingEndpoint>> {
    let mut tallies: BTreeMap<EndpointId, Tally> = BTreeMap::new();
    for report in reports {
        let tally = tallies.entry(report.endpoint_id).or_default();
        if report.success {
            *tally = Tally {
                received: true,
                ..Tally::default()
            };
        } else {
            tally.failed_at.get_or_insert(report.at);
            let given_up = report.number > 0 && exhausted.contains(&report.delivery_id);
            tally.exhausted += i32::from(given_up);
        }
    }
    take_in(conn, tallies).await
}

async fn take_in(
    conn: &mut Conn,
    tallies: BTreeMap<EndpointId, Tally>,
) -> Result<Vec<FailingEndpoint>> {
    let ids = |fails: bool| {
        let some = tallies
            .iter()
            .filter(move |(_, t)| t.failed_at.is_some() == fails);
        some.map(|(id, _)| V(*id)).collect::<Vec<_>>()
    };
    // The rows that may change: of all endpoints that fail, and of those that received and failed before. In id order.
    let is_failing = health::endpoint_id.eq_any(ids(true));
    let is_mended = health::endpoint_id
        .eq_any(ids(false))
        .and(health::first_failure_at.is_not_null());
    let rows: Vec<(EndpointId, Known)> = health::table
        .filter(is_failing.or(is_mended))
        .order(health::endpoint_id)
        .select((
            health::endpoint_id,
            (health::first_failure_at, health::exhausted_count),
        ))
        .locked("FOR NO KEY UPDATE")
        .load(conn)
        .await?;
    let known: HashMap<EndpointId, Known> = rows.into_iter().collect();
    let mut failing = Vec::new();
    for (id, tally) in tallies {
        let row = known.get(&id).copied();
        let (first, count) = match (tally.received, row) {
            (false, Some(known)) => known,
            _ => (None, 0),
        };
        let (first, count) = (first.or(tally.failed_at), count + tally.exhausted);
        let values = row! { health: first_failure_at = first, exhausted_count = count };
        match row {
            Some(known) if known == (first, count) => {}
            Some(_) => {
                diesel::update(health::table.find(V(id)))
                    .set(values)
                    .execute(conn)
                    .await?;
            }
            None if (first, count) == (None, 0) => {}
            None => {
                diesel::insert_into(health::table)
                    .values((health::endpoint_id.eq(V(id)), values))
                    // Another process has recorded the first failure in the meantime.
                    .on_conflict(health::endpoint_id)
                    .do_update()
                    .set(health::exhausted_count.eq(health::exhausted_count + count))
                    .execute(conn)
                    .await?;
            }
        }
        if let (Some(first_failure_at), Some(_)) = (first, tally.failed_at) {
            failing.push(FailingEndpoint {
                id,
                first_failure_at,
                exhausted_count: count,
            });
        }
    }
    Ok(failing)
}

/// Deletes an endpoint's recorded failures.
pub(crate) async fn reset(conn: &mut Conn, id: EndpointId) -> Result<()> {
    diesel::update(health::table.find(V(id)))
        .set(row! { health: first_failure_at = NULL, exhausted_count = 0 })
        .run(conn)
        .await
}

/// Whether the endpoint has failed since `since` or longer, with at least `exhausted` deliveries given up.
pub(crate) async fn has_failed(
    conn: &mut Conn,
    id: EndpointId,
    since: Timestamp,
    exhausted: i32,
) -> Result<bool> {
    let found: i64 = health::table
        .filter(health::endpoint_id.eq(V(id)))
        .filter(health::first_failure_at.le(V(since)))
        .filter(health::exhausted_count.ge(exhausted))
        .counted(conn)
        .await?;
    Ok(found > 0)
}
