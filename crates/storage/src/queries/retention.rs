//! How long deliveries and event bodies are kept.
//!
//! Ids begin with their time, so that the primary keys find the oldest rows.

use crate::prelude::*;
use crate::sql::Uuid;

const DAY: Duration = Duration::from_secs(86_400);

/// How long the body of an event can be read and resent.
pub const BODIES_KEPT: Duration = DAY.saturating_mul(14);

/// How long a delivery and its attempts are kept.
pub const DELIVERIES_KEPT: Duration = DAY.saturating_mul(30);

/// The most rows per transaction.
const AT_MOST: i64 = 1_000;

/// The setting with the id up to which event bodies have been cleared.
const BODIES: &str = "event_bodies_kept_after";

impl Store {
    /// Deletes finished deliveries that are older than [`DELIVERIES_KEPT`], with their attempts, and test events along
    /// with their delivery: up to 1,000 per transaction. Returns `true` if there may be more. Several nodes share the
    /// work.
    pub fn delete_old_deliveries(&self, now: Timestamp) -> Answer<'_, bool> {
        let first_kept = DeliveryId::mint(now.minus(DELIVERIES_KEPT), [0; 10]);
        transact!(self, |conn| {
            // Skips those that another transaction has locked.
            let old: Vec<(DeliveryId, EventId)> = deliveries::table
                .filter(deliveries::id.lt(V(first_kept)))
                .filter(sql::<Bool>(
                    "deliveries.state NOT IN ('pending', 'retrying') \
                     AND NOT EXISTS (SELECT 1 FROM resends r WHERE r.delivery_id = deliveries.id)",
                ))
                .order(deliveries::id)
                .limit(AT_MOST)
                .select((deliveries::id, deliveries::event_id))
                .locked("FOR UPDATE SKIP LOCKED")
                .load(conn)
                .await?;
            ensure!(!old.is_empty(), Rollback(false));
            let ids = || old.iter().map(|(delivery, _)| V(*delivery));
            diesel::delete(attempts::table.filter(attempts::delivery_id.eq_any(ids())))
                .execute(conn)
                .await?;
            delete(conn, deliveries::table.filter(deliveries::id.eq_any(ids()))).await?;
            // The events of a conversation are deleted with it.
            diesel::delete(events::table)
                .filter(events::id.eq_any(old.iter().map(|(_, event)| V(*event))))
                .filter(events::conversation_id.is_null())
                .filter(sql::<Bool>(
                    "NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.event_id = events.id)",
                ))
                .execute(conn)
                .await?;
            Ok(Commit(may_be_more(old.len())))
        })
    }

    /// Clears the bodies of events that are older than [`BODIES_KEPT`], except those still to be sent: up to 1,000 per
    /// transaction. Returns `true` if there may be more. One node at a time does the work, and continues where the last
    /// one ended.
    pub fn clear_old_bodies(&self, now: Timestamp) -> Answer<'_, bool> {
        let first_kept = EventId::mint(now.minus(BODIES_KEPT), [0; 10]);
        transact!(self, |conn| {
            let first = EventId::mint(Timestamp::from_micros(0), [0; 10]);
            insert_new! { conn, settings: name = BODIES, value = first.to_string() }?;
            let done: Option<String> = settings::table
                .find(BODIES)
                .select(settings::value)
                .locked("FOR NO KEY UPDATE SKIP LOCKED")
                .found(conn)
                .await?;
            let done: EventId = some_or!(done, Rollback(false))
                .parse()
                .map_err(|_| StoreError::corrupt(format!("setting {BODIES}")))?;
            let old: Vec<EventId> = events::table
                .filter(events::id.gt(V(done)))
                .filter(events::id.lt(V(first_kept)))
                .order(events::id)
                .limit(AT_MOST)
                .select(events::id)
                .load(conn)
                .await?;
            let last = some_or!(old.last(), Rollback(false));
            // SQLite numbers these parameters in the order in which they appear.
            diesel::sql_query(
                "UPDATE events SET body = $1 WHERE id > $2 AND id <= $3 AND NOT EXISTS ( \
                   SELECT 1 FROM deliveries d WHERE d.event_id = events.id \
                     AND (d.state IN ('pending', 'retrying') \
                       OR EXISTS (SELECT 1 FROM resends r WHERE r.delivery_id = d.id)))",
            )
            .bind::<Binary, _>(Vec::<u8>::new())
            .bind::<Uuid, _>(V(done))
            .bind::<Uuid, _>(V(*last))
            .execute(conn)
            .await?;
            diesel::update(settings::table.find(BODIES))
                .set(settings::value.eq(last.to_string()))
                .execute(conn)
                .await?;
            Ok(Commit(may_be_more(old.len())))
        })
    }
}

fn may_be_more(rows: usize) -> bool {
    i64::try_from(rows).unwrap_or(i64::MAX) >= AT_MOST
}
