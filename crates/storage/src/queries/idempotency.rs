//! Idempotency-Keys: unique per account and operation, for 24 hours to the millisecond.

use crate::prelude::*;
use std::time::Instant;

/// How long to wait in total for a key that another request is writing. On PostgreSQL the session's `lock_timeout` is
/// the same, so that the first wait needs no statement.
const PATIENCE: Duration = Duration::from_secs(2);

/// How long a key is kept.
pub(crate) const KEPT: Duration = Duration::from_secs(24 * 60 * 60);

/// Whose an Idempotency-Key is.
pub enum KeyOwner {
    /// This transaction's.
    Ours,
    /// That of a request with this response.
    Used(StoredAnswer),
    /// That of a request which is still running.
    InFlight,
}

#[boxed]
impl Tx<'_> {
    /// Claims an Idempotency-Key for this transaction.
    pub async fn claim_key(
        &mut self,
        account: AccountId,
        claim: &IdempotencyClaim,
    ) -> Result<KeyOwner> {
        take(self.0, account, claim, self.1).await
    }
}

impl Store {
    /// The response that a live Idempotency-Key replays.
    pub fn stored_answer(
        &self,
        account: AccountId,
        operation: &'static str,
        key: String,
        steady: Timestamp,
    ) -> Answer<'_, Option<StoredAnswer>> {
        let clock = (steady, self.offset());
        read!(self, |conn| {
            let (row, now) = dialect!(conn, find_key(account, operation, &key, clock))?;
            let live = row.filter(|row| row.expires_at.is_some_and(|expires_at| expires_at > now));
            Ok(live.and_then(KeyRow::answer))
        })
    }

    /// Deletes up to 1,000 Idempotency-Keys that expired more than an hour ago. Returns how many.
    pub fn purge_keys(&self, steady: Timestamp) -> Answer<'_, usize> {
        let offset = self.offset();
        keep!(self, |conn| {
            let now = dialect!(conn, key_clock(steady, offset))?;
            let before = now.minus(Duration::from_secs(3600));
            let expired: Vec<(AccountId, String, String)> = keys::table
                .filter(keys::expires_at.lt(V(before)))
                .order(keys::expires_at)
                .limit(1_000)
                .select((keys::account_id, keys::operation, keys::idempotency_key))
                .load(conn)
                .await?;
            let count = expired.len();
            for (account, operation, key) in expired {
                diesel::delete(keys::table.find((V(account), operation, key)))
                    .filter(keys::expires_at.lt(V(before)))
                    .execute(conn)
                    .await?;
            }
            Ok(count)
        })
    }
}

/// A key's row. All columns are NULL if there is none.
#[derive(QueryableByName)]
pub(crate) struct KeyRow {
    #[diesel(sql_type = Nullable<crate::sql::Instant>)]
    expires_at: Option<Timestamp>,
    #[diesel(sql_type = Nullable<Binary>)]
    fingerprint: Option<Vec<u8>>,
    #[diesel(sql_type = Nullable<Integer>)]
    status: Option<i32>,
    #[diesel(sql_type = Nullable<Text>)]
    location: Option<String>,
    #[diesel(sql_type = Nullable<Binary>)]
    body: Option<Vec<u8>>,
}

impl KeyRow {
    fn answer(self) -> Option<StoredAnswer> {
        Some(StoredAnswer {
            fingerprint: self.fingerprint?,
            status: self.status?,
            location: self.location?,
            body: self.body?,
        })
    }
}

/// Takes the key for this transaction, if need be from its expired owner. The INSERT itself waits for a concurrent
/// owner; if that one rolls back, it is retried. `offset` is what tests add to the database's clock.
pub(crate) async fn take(
    conn: &mut Conn,
    account: AccountId,
    claim: &IdempotencyClaim,
    offset: i64,
) -> Result<KeyOwner> {
    let (answer, clock) = (&claim.answer, (claim.steady, offset));
    let began = Instant::now();
    for turn in 0..3 {
        if turn > 0 && !has_patience(conn, began).await? {
            break;
        }
        // Uses the clock inside the statement: that is one round trip, a tenth of placing a call, instead of two.
        let inserted = dialect!(conn, insert_key(account, claim, clock, KEPT));
        match inserted.map_err(StoreError::from) {
            Ok(0) => {}
            Ok(_) if turn == 0 => return Ok(KeyOwner::Ours),
            Ok(_) => return owned(conn).await,
            Err(StoreError::Locked) => return Ok(KeyOwner::InFlight),
            Err(error) => return Err(error),
        }
        if !has_patience(conn, began).await? {
            break;
        }
        let now = dialect!(conn, key_clock(clock.0, clock.1))?;
        let taken_over =
            diesel::update(keys::table.find((V(account), claim.operation, &claim.key)))
                .filter(keys::expires_at.le(V(now)))
                .set(row! {
                    keys of answer: fingerprint, status, location, body, created_at = now,
                    expires_at = now.plus(KEPT)
                })
                .execute(conn)
                .await;
        match taken_over.map_err(StoreError::from) {
            Ok(0) => {}
            Ok(_) => return owned(conn).await,
            // Another request is taking over the expired key.
            Err(StoreError::Locked) => return Ok(KeyOwner::InFlight),
            Err(error) => return Err(error),
        }
        // Whatever the clock shows by now, the key is live as of `now`: it was not taken over.
        let (row, _) = dialect!(
            conn,
            find_key(account, claim.operation, &claim.key, (now, 0))
        )?;
        if let Some(used) = row.and_then(KeyRow::answer) {
            return Ok(KeyOwner::Used(used));
        }
    }
    Ok(KeyOwner::InFlight)
}

/// Limits the next statement's lock wait to the time that is left; `false` if none is left.
async fn has_patience(conn: &mut Conn, began: Instant) -> Result<bool> {
    let left = PATIENCE.saturating_sub(began.elapsed());
    ensure!(!left.is_zero(), false);
    dialect!(conn, limit_lock_wait(Some(left)))?;
    Ok(true)
}

/// This transaction owns the key. All other locks get the session's limit again.
async fn owned(conn: &mut Conn) -> Result<KeyOwner> {
    dialect!(conn, limit_lock_wait(None))?;
    Ok(KeyOwner::Ours)
}
