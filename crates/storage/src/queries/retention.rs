//! What is kept of deliveries, and for how long.
//!
//! Ids begin with their time, so that the oldest rows are found by their primary keys.

use crate::database::RunQueryDsl;
use diesel::prelude::*;
use diesel::sql_types::Binary;
use offhook_domain::{DeliveryId, EventId, Timestamp};

use crate::database::Conn;
use crate::dialect::Lock as _;
use crate::dialect::dialect;
use crate::schema::{attempts, deliveries, events, service_settings as settings};
use crate::sql::V;
use crate::{Result, StoreError};

/// The setting that says up to which event bodies have been taken away.
const BODIES: &str = "event_bodies_kept_after";

/// Deletes up to `most` deliveries that were created before `before` and are at their end, with their attempts, and test
/// events along with their delivery; returns how many.
pub(crate) async fn delete_deliveries(
    conn: &mut Conn,
    before: Timestamp,
    most: i64,
) -> Result<usize> {
    let first_kept = DeliveryId::mint(before, [0; 10]);
    let old: Vec<(DeliveryId, EventId)> = old_deliveries(conn, first_kept, most).await?;
    if old.is_empty() {
        return Ok(0);
    }
    let ids = || old.iter().map(|(delivery, _)| V(*delivery));
    diesel::delete(attempts::table.filter(attempts::delivery_id.eq_any(ids())))
        .execute(conn)
        .await?;
    diesel::delete(deliveries::table.filter(deliveries::id.eq_any(ids())))
        .execute(conn)
        .await?;
    // The events of a conversation are its own.
    diesel::delete(
        events::table
            .filter(events::id.eq_any(old.iter().map(|(_, event)| V(*event))))
            .filter(events::conversation_id.is_null())
            .filter(diesel::dsl::sql::<diesel::sql_types::Bool>(
                "NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.event_id = events.id)",
            )),
    )
    .execute(conn)
    .await?;
    Ok(old.len())
}

/// Takes the bodies of up to `most` events away that occurred before `before`, save those that are still to be sent;
/// returns how many events were looked at. One process at a time does this, each where the last one ended.
pub(crate) async fn clear_bodies(conn: &mut Conn, before: Timestamp, most: i64) -> Result<usize> {
    diesel::insert_into(settings::table)
        .values((
            settings::name.eq(BODIES),
            settings::value.eq(EventId::mint(Timestamp::from_micros(0), [0; 10]).to_string()),
        ))
        .on_conflict_do_nothing()
        .execute(conn)
        .await?;
    let Some(done) = dialect!(conn, lock_setting(BODIES))? else {
        return Ok(0);
    };
    let done: EventId = done
        .parse()
        .map_err(|_| StoreError::corrupt(format!("setting {BODIES}")))?;
    let old: Vec<EventId> = events::table
        .filter(events::id.gt(V(done)))
        .filter(events::id.lt(V(EventId::mint(before, [0; 10]))))
        .order(events::id)
        .limit(most)
        .select(events::id)
        .load(conn)
        .await?;
    let Some(last) = old.last() else { return Ok(0) };
    // SQLite numbers its parameters in the order in which they appear.
    diesel::sql_query(
        "UPDATE events SET body = $1 WHERE id > $2 AND id <= $3 AND NOT EXISTS ( \
           SELECT 1 FROM deliveries d WHERE d.event_id = events.id \
             AND (d.state IN ('pending', 'retrying') \
               OR EXISTS (SELECT 1 FROM resends r WHERE r.delivery_id = d.id)))",
    )
    .bind::<Binary, _>(Vec::<u8>::new())
    .bind::<crate::sql::Uuid, _>(V(done))
    .bind::<crate::sql::Uuid, _>(V(*last))
    .execute(conn)
    .await?;
    diesel::update(settings::table.find(BODIES))
        .set(settings::value.eq(last.to_string()))
        .execute(conn)
        .await?;
    Ok(old.len())
}

/// The oldest deliveries before `first_kept` that are at their end, as far as no other transaction has them.
async fn old_deliveries(
    conn: &mut Conn,
    first_kept: DeliveryId,
    most: i64,
) -> Result<Vec<(DeliveryId, EventId)>> {
    Ok(deliveries::table
        .filter(deliveries::id.lt(V(first_kept)))
        .filter(diesel::dsl::sql::<diesel::sql_types::Bool>(
            "deliveries.state NOT IN ('pending', 'retrying') \
             AND NOT EXISTS (SELECT 1 FROM resends r WHERE r.delivery_id = deliveries.id)",
        ))
        .order(deliveries::id)
        .limit(most)
        .select((deliveries::id, deliveries::event_id))
        .locked("FOR UPDATE SKIP LOCKED")
        .load(conn)
        .await?)
}
