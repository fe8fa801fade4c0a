//! The statements on accounts and their keys that differ, for PostgreSQL.

use super::clock_timestamp;
use crate::prelude::*;
use futures_util::future::BoxFuture;

/// A key, its account, and the time by the database's clock.
pub(crate) type Keyed = Option<(ApiKey, Account, Timestamp)>;

/// The keys with these digests.
pub(crate) fn find_by_digests(
    conn: &mut Conn,
    digests: Vec<[u8; 32]>,
) -> BoxFuture<'_, Result<HashMap<[u8; 32], Keyed>>> {
    Box::pin(async move {
        let digests: Vec<_> = digests.iter().map(|digest| digest.to_vec()).collect();
        let found: Vec<(Vec<u8>, ApiKey, Account, Timestamp)> = api_keys::table
            .inner_join(accounts::table)
            .filter(api_keys::digest.eq_any(digests))
            .select((
                api_keys::digest,
                ApiKey::as_select(),
                Account::as_select(),
                clock_timestamp(),
            ))
            .load(conn)
            .await?;
        let keyed = |(digest, key, account, now): (Vec<u8>, _, _, _)| {
            Some((digest.try_into().ok()?, Some((key, account, now))))
        };
        Ok(found.into_iter().filter_map(keyed).collect())
    })
}
