//! The statements on Idempotency-Keys that differ, for SQLite.

use crate::prelude::*;
use crate::queries::idempotency::KeyRow;

/// Writes an Idempotency-Key that lives for `kept`, by the process's clock. Returns 0 if it exists already.
pub(crate) async fn insert_key(
    conn: &mut Conn,
    account: AccountId,
    claim: &IdempotencyClaim,
    (now, _): (Timestamp, i64),
    kept: Duration,
) -> Result<usize, diesel::result::Error> {
    diesel::insert_into(keys::table)
        .values(row! {
            keys: account_id = account, operation = claim.operation, idempotency_key = &claim.key,
            fingerprint = &claim.answer.fingerprint, status = claim.answer.status,
            location = &claim.answer.location, body = &claim.answer.body, created_at = now,
            expires_at = now.plus(kept)
        })
        .on_conflict_do_nothing()
        .execute(conn)
        .await
}

/// The row of an Idempotency-Key and the process's clock.
pub(crate) async fn find_key(
    conn: &mut Conn,
    account: AccountId,
    operation: &str,
    key: &str,
    (now, _): (Timestamp, i64),
) -> Result<(Option<KeyRow>, Timestamp)> {
    let row = diesel::sql_query(
        "SELECT expires_at, fingerprint, status, location, body FROM idempotency_keys \
         WHERE account_id = $1 AND operation = $2 AND idempotency_key = $3",
    )
    .bind::<crate::sql::Uuid, _>(V(account))
    .bind::<diesel::sql_types::Text, _>(operation)
    .bind::<diesel::sql_types::Text, _>(key)
    .get_result(conn)
    .await
    .optional()?;
    Ok((row, now))
}
