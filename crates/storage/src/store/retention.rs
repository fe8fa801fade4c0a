//! What is deleted when its time is over.

use std::time::Duration;

use offhook_domain::Timestamp;

use super::{Answer, write};
use crate::queries;
use crate::{Store, Verdict};

const DAY: Duration = Duration::from_secs(86_400);

/// How long the body of an event can be read and sent again.
pub const BODIES_KEPT: Duration = DAY.saturating_mul(14);

/// How long a delivery and its attempts are kept.
pub const DELIVERIES_KEPT: Duration = DAY.saturating_mul(30);

/// The most rows of one transaction.
const AT_MOST: i64 = 1_000;

impl Store {
    /// Deletes deliveries that are older than [`DELIVERIES_KEPT`] and at their end, with their attempts: up to 1,000 in one
    /// transaction. `true` if there may be more. Several nodes share the work.
    pub fn delete_old_deliveries(&self, now: Timestamp) -> Answer<'_, bool> {
        let before = now.minus(DELIVERIES_KEPT);
        write!(self, |conn| {
            let deleted = queries::retention::delete_deliveries(conn, before, AT_MOST).await?;
            Ok(kept(deleted))
        })
    }

    /// Takes the bodies of events away that are older than [`BODIES_KEPT`] and not to be sent any more: up to 1,000 in one
    /// transaction. `true` if there may be more. One node at a time does the work.
    pub fn clear_old_bodies(&self, now: Timestamp) -> Answer<'_, bool> {
        let before = now.minus(BODIES_KEPT);
        write!(self, |conn| {
            let cleared = queries::retention::clear_bodies(conn, before, AT_MOST).await?;
            Ok(kept(cleared))
        })
    }
}

/// Nothing is committed where nothing was done.
fn kept(rows: usize) -> Verdict<bool> {
    match rows {
        0 => Verdict::Rollback(false),
        rows => Verdict::Commit(i64::try_from(rows).unwrap_or(i64::MAX) >= AT_MOST),
    }
}
