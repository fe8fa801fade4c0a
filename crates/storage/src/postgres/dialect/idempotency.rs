//! The statements on Idempotency-Keys that differ, for PostgreSQL.

use super::column;
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
    let inserted = insert_keys(conn, &[(account, claim)], offset, kept).await?;
    Ok(inserted.len())
}

/// Writes those of these Idempotency-Keys that do not exist, and returns them.
pub(crate) async fn insert_keys(
    conn: &mut Conn,
    claims: &[(AccountId, &IdempotencyClaim)],
    offset: i64,
    kept: Duration,
) -> Result<HashSet<(AccountId, String)>, diesel::result::Error> {
    #[derive(QueryableByName)]
    struct Inserted {
        #[diesel(sql_type = sql::Uuid)]
        account_id: AccountId,
        #[diesel(sql_type = Text)]
        idempotency_key: String,
    }
    let kept = i64::try_from(kept.as_micros()).unwrap_or(i64::MAX);
    let inserted: Vec<Inserted> = diesel::sql_query(
        "INSERT INTO idempotency_keys (account_id, operation, idempotency_key, fingerprint, status, location, body, \
         created_at, expires_at) \
         SELECT k.*, c.now, c.now + $9 * interval '1 microsecond' \
         FROM UNNEST($1, $2, $3, $4, $5, $6, $7) AS k, \
         (SELECT clock_timestamp() + $8 * interval '1 microsecond' AS now) AS c \
         ON CONFLICT DO NOTHING RETURNING account_id, idempotency_key",
    )
    .bind::<Array<sql::Uuid>, _>(column(claims, |(account, _)| V(*account)))
    .bind::<Array<Text>, _>(column(claims, |(_, claim)| claim.operation))
    .bind::<Array<Text>, _>(column(claims, |(_, claim)| claim.key.clone()))
    .bind::<Array<Binary>, _>(column(claims, |(_, claim)| claim.answer.fingerprint.clone()))
    .bind::<Array<Integer>, _>(column(claims, |(_, claim)| claim.answer.status))
    .bind::<Array<Text>, _>(column(claims, |(_, claim)| claim.answer.location.clone()))
    .bind::<Array<Binary>, _>(column(claims, |(_, claim)| claim.answer.body.clone()))
    .bind::<BigInt, _>(offset)
    .bind::<BigInt, _>(kept)
    .load(conn)
    .await?;
    let key = |one: Inserted| (one.account_id, one.idempotency_key);
    Ok(inserted.into_iter().map(key).collect())
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
