//! The statements on accounts and their keys that differ, for PostgreSQL.

use super::clock_timestamp;
use crate::prelude::*;

/// The key with this digest, its account, and the time by the clock for keys, in one look-up.
pub(crate) async fn find_by_digest(
    conn: &mut Conn,
    digest: [u8; 32],
    (_, offset): (Timestamp, i64),
) -> Result<Option<(ApiKey, Account, Timestamp)>> {
    let found: Option<(ApiKey, Account, Timestamp)> = api_keys::table
        .inner_join(accounts::table)
        .filter(api_keys::digest.eq(digest.to_vec()))
        .select((ApiKey::as_select(), Account::as_select(), clock_timestamp()))
        .found(conn)
        .await?;
    Ok(found.map(|(key, account, now)| {
        let now = Timestamp::from_micros(now.micros().saturating_add(offset));
        (key, account, now)
    }))
}
