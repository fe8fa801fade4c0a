//! The statements on Idempotency-Keys that differ, for PostgreSQL.

use crate::prelude::*;
use crate::queries::idempotency::KeyRow;

/// Writes an Idempotency-Key that lives for `kept`, by the database's clock. Returns 0 if it exists already.
pub(crate) async fn insert_key(
    conn: &mut Conn,
    account: AccountId,
    claim: &IdempotencyClaim,
    (_, offset): (Timestamp, i64),
    kept: Duration,
) -> Result<usize, diesel::result::Error> {
    let kept = i64::try_from(kept.as_micros()).unwrap_or(i64::MAX);
    diesel::sql_query(
        "INSERT INTO idempotency_keys (account_id, operation, idempotency_key, fingerprint, status, location, body, \
         created_at, expires_at) \
         SELECT $1, $2, $3, $4, $5, $6, $7, c.now, c.now + $9 * interval '1 microsecond' \
         FROM (SELECT clock_timestamp() + $8 * interval '1 microsecond' AS now) AS c \
         ON CONFLICT DO NOTHING",
    )
    .bind::<sql::Uuid, _>(V(account))
    .bind::<Text, _>(claim.operation)
    .bind::<Text, _>(&claim.key)
    .bind::<Binary, _>(&claim.answer.fingerprint)
    .bind::<Integer, _>(claim.answer.status)
    .bind::<Text, _>(&claim.answer.location)
    .bind::<Binary, _>(&claim.answer.body)
    .bind::<BigInt, _>(offset)
    .bind::<BigInt, _>(kept)
    .execute(conn)
    .await
}

/// The row of an Idempotency-Key and the database's clock, in one query.
pub(crate) async fn find_key(
    conn: &mut Conn,
    account: AccountId,
    operation: &str,
    key: &str,
    (_, offset): (Timestamp, i64),
) -> Result<(Option<KeyRow>, Timestamp)> {
    #[derive(QueryableByName)]
    struct Clocked {
        #[diesel(sql_type = sql::Instant)]
        now: Timestamp,
        #[diesel(embed)]
        row: KeyRow,
    }
    let Clocked { now, row } = diesel::sql_query(
        "SELECT clock_timestamp() AS now, k.expires_at, k.fingerprint, k.status, k.location, k.body \
         FROM (SELECT 1) AS one LEFT JOIN idempotency_keys k \
         ON k.account_id = $1 AND k.operation = $2 AND k.idempotency_key = $3",
    )
    .bind::<sql::Uuid, _>(V(account))
    .bind::<Text, _>(operation)
    .bind::<Text, _>(key)
    .get_result(conn)
    .await?;
    let now = Timestamp::from_micros(now.micros().saturating_add(offset));
    Ok((Some(row), now))
}
