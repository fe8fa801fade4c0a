//! The statements on accounts and their keys that differ, for SQLite.

use crate::prelude::*;

/// The key with this digest, its account, and the time by the clock for keys: the process's own.
pub(crate) async fn find_by_digest(
    conn: &mut Conn,
    digest: [u8; 32],
    (now, _): (Timestamp, i64),
) -> Result<Option<(ApiKey, Account, Timestamp)>> {
    let found: Option<(ApiKey, Account)> = api_keys::table
        .inner_join(accounts::table)
        .filter(api_keys::digest.eq(digest.to_vec()))
        .select((ApiKey::as_select(), Account::as_select()))
        .found(conn)
        .await?;
    Ok(found.map(|(key, account)| (key, account, now)))
}
