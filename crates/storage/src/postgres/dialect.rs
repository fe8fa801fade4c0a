//! The few statements that differ, for PostgreSQL.

mod knowledge;

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use diesel::prelude::*;
use diesel::sql_types::{Array, BigInt, Binary, Bool, Integer, Nullable, Text};
use diesel_async::{RunQueryDsl, SimpleAsyncConnection};
use offhook_domain::{
    AccountId, AgentId, AgentStatus, BatchId, ClaimId, ConversationId, DeliveryId, EndpointId,
    EventId, Timestamp,
};

use super::Conn;
use super::queries::dispatch::{Candidate, Times, first_attempts, retries};
use super::queries::events::NewDelivery;
use super::queries::idempotency::KeyRow;
use crate::LogEntry;
use crate::schema::{
    accounts, agents, api_keys, conversations, deliveries, resends, service_settings,
    webhook_endpoint_health as health, webhook_endpoints as endpoints,
};
use crate::sql;
use crate::sql::V;
use crate::{
    Account, ApiKey, AttemptOutcome, AttemptReport, ClaimSlots, ClaimedAttempt,
    DISABLED_AS_FAILING, DeliveryState, EndpointStatus, IdempotencyClaim, NewRecipient, StoreError,
};

pub(crate) use knowledge::*;

diesel::define_sql_function! {
    /// The present by the database's clock, also within a transaction.
    fn clock_timestamp() -> crate::sql::Instant;
}

/// SQLite is told that a condition rarely holds; PostgreSQL needs no such word.
pub(crate) const fn unlikely<T>(condition: T) -> T {
    condition
}

/// The clock that keys, patience and nodes are judged by on every node: the database's, with what tests add (decision 8.7).
pub(crate) async fn key_clock(
    conn: &mut Conn,
    _now: Timestamp,
    offset: i64,
) -> Result<Timestamp, StoreError> {
    let now: Timestamp = diesel::select(clock_timestamp()).get_result(conn).await?;
    Ok(Timestamp::from_micros(now.micros().saturating_add(offset)))
}

/// A call begins to wait when its row is written, by the database's clock: the column's default.
pub(crate) const fn queued_at(_at: Timestamp) -> Option<Timestamp> {
    None
}

/// The clock that the leases of calls and deliveries are judged by: the database's.
pub(crate) async fn lease_clock(conn: &mut Conn, offset: i64) -> Result<Timestamp, StoreError> {
    key_clock(conn, Timestamp::from_micros(0), offset).await
}

/// The clocks of deliveries: what says that one is due, and what leases are judged by. Both are the database's, whatever a
/// node's own clock is turned to (decision 8.7).
pub(crate) async fn delivery_clocks(
    conn: &mut Conn,
    steady: Timestamp,
    offset: i64,
) -> Result<(Timestamp, Timestamp), StoreError> {
    let now = key_clock(conn, steady, offset).await?;
    Ok((now, now))
}

/// The key with this digest, its account, and the present by the clock that keys are judged by: one look-up.
pub(crate) async fn find_by_digest(
    conn: &mut Conn,
    digest: [u8; 32],
    (_, offset): (Timestamp, i64),
) -> Result<Option<(ApiKey, Account, Timestamp)>, StoreError> {
    let found: Option<(ApiKey, Account, Timestamp)> = api_keys::table
        .inner_join(accounts::table)
        .filter(api_keys::digest.eq(digest.to_vec()))
        .select((ApiKey::as_select(), Account::as_select(), clock_timestamp()))
        .first(conn)
        .await
        .optional()?;
    Ok(found.map(|(key, account, now)| {
        let now = Timestamp::from_micros(now.micros().saturating_add(offset));
        (key, account, now)
    }))
}

/// Takes the account's row for the duration of the transaction, so that one node at a time counts its live calls;
/// `false` if another has it. Not the wallet's row: where calls are placed without a pause, it is never free.
pub(crate) async fn try_lock_account(
    conn: &mut Conn,
    account: AccountId,
) -> Result<bool, StoreError> {
    let locked: Option<AccountId> = accounts::table
        .find(V(account))
        .select(accounts::id)
        .for_no_key_update()
        .skip_locked()
        .first(conn)
        .await
        .optional()?;
    Ok(locked.is_some())
}

/// Keeps two transactions of one account apart. Rows that refer to the account can be written meanwhile.
pub(crate) async fn lock_account(conn: &mut Conn, account: AccountId) -> Result<(), StoreError> {
    let _: Option<AccountId> = accounts::table
        .find(V(account))
        .select(accounts::id)
        .for_no_key_update()
        .first(conn)
        .await
        .optional()?;
    Ok(())
}

/// The status of an agent of the account; its archiving waits for the transaction's end, and one under way is waited for.
pub(crate) async fn hold_agent(
    conn: &mut Conn,
    account: AccountId,
    id: AgentId,
) -> Result<Option<AgentStatus>, StoreError> {
    Ok(agents::table
        .filter(agents::id.eq(V(id)).and(agents::account_id.eq(V(account))))
        .select(agents::status)
        .for_share()
        .first(conn)
        .await
        .optional()?)
}

/// Makes the endpoint's deletion or disabling wait for the transaction's end, and waits for one under way.
pub(crate) async fn hold_endpoint(conn: &mut Conn, id: EndpointId) -> Result<(), StoreError> {
    let _: Option<EndpointId> = endpoints::table
        .find(V(id))
        .select(endpoints::id)
        .for_share()
        .first(conn)
        .await
        .optional()?;
    Ok(())
}

/// The endpoints that deliveries are written for: those that receive events, and those that failed too long to.
/// Read with a lock that an endpoint's deletion or disabling waits for, so that no delivery is written behind it.
pub(crate) async fn endpoints_to_store_for(
    conn: &mut Conn,
    account: AccountId,
) -> Result<Vec<(EndpointId, EndpointStatus)>, StoreError> {
    Ok(endpoints::table
        .filter(endpoints::account_id.eq(V(account)))
        .filter(endpoints::deleted_at.is_null())
        .filter(
            endpoints::status
                .eq(V(EndpointStatus::Enabled))
                .or(endpoints::disabled_reason
                    .eq(DISABLED_AS_FAILING)
                    .assume_not_null()),
        )
        .order((endpoints::created_at, endpoints::id))
        .select((endpoints::id, endpoints::status))
        .for_share()
        .load(conn)
        .await?)
}

/// Bounds the waits for locks of this transaction's next statements; `None` is the session's own bound.
pub(crate) async fn limit_lock_wait(
    conn: &mut Conn,
    most: Option<Duration>,
) -> Result<(), StoreError> {
    let bound = match most {
        // 0 would be no bound at all.
        Some(most) => most.as_millis().max(1).to_string(),
        None => "DEFAULT".to_owned(),
    };
    conn.batch_execute(&format!("SET LOCAL lock_timeout TO {bound}"))
        .await?;
    Ok(())
}

/// Takes these deliveries' rows for the duration of the transaction. In id order, as everybody who waits for them does:
/// so no two wait for each other.
pub(crate) async fn lock_deliveries(
    conn: &mut Conn,
    ids: Vec<DeliveryId>,
) -> Result<(), StoreError> {
    let _: Vec<DeliveryId> = deliveries::table
        .filter(deliveries::id.eq_any(ids.into_iter().map(V)))
        .order(deliveries::id)
        .select(deliveries::id)
        .for_no_key_update()
        .load(conn)
        .await?;
    Ok(())
}

/// Takes an endpoint's open deliveries as [`lock_deliveries`] does.
pub(crate) async fn lock_open_deliveries(
    conn: &mut Conn,
    endpoint: EndpointId,
) -> Result<(), StoreError> {
    diesel::sql_query(
        "SELECT count(*) FROM (SELECT id FROM deliveries \
           WHERE endpoint_id = $1 AND state IN ('pending', 'retrying') \
           ORDER BY id FOR NO KEY UPDATE) AS open",
    )
    .bind::<sql::Uuid, _>(V(endpoint))
    .execute(conn)
    .await?;
    Ok(())
}

pub(crate) async fn insert_deliveries(
    conn: &mut Conn,
    rows: Vec<NewDelivery>,
) -> Result<(), StoreError> {
    let values: Vec<_> = rows
        .into_iter()
        .map(|row| {
            (
                deliveries::id.eq(V(row.id)),
                deliveries::account_id.eq(V(row.account)),
                deliveries::endpoint_id.eq(V(row.endpoint)),
                deliveries::event_id.eq(V(row.event)),
                deliveries::event_type.eq(V(row.kind)),
                deliveries::waits_for.eq(row.waits_for),
                deliveries::state.eq(V(row.state)),
                deliveries::attempts_count.eq(0),
                deliveries::abandoned_count.eq(0),
                deliveries::next_attempt_at.eq(row.due()),
                deliveries::created_at.eq(V(row.at)),
            )
        })
        .collect();
    diesel::insert_into(deliveries::table)
        .values(values)
        .execute(conn)
        .await?;
    Ok(())
}

pub(crate) async fn insert_attempts(
    conn: &mut Conn,
    claimed: &[ClaimedAttempt],
    at: Timestamp,
) -> Result<(), StoreError> {
    diesel::sql_query(
        "INSERT INTO attempts (id, delivery_id, number, at, outcome) \
         SELECT a.id, a.delivery_id, a.number, $4, 'begun' \
         FROM UNNEST($1, $2, $3) AS a(id, delivery_id, number)",
    )
    .bind::<Array<sql::Uuid>, _>(column(claimed, |a| a.attempt_id))
    .bind::<Array<sql::Uuid>, _>(column(claimed, |a| a.delivery_id))
    .bind::<Array<Integer>, _>(column(claimed, |a| a.number))
    .bind::<sql::Instant, _>(V(at))
    .execute(conn)
    .await?;
    Ok(())
}

/// Recipients of a batch, in their order: a statement for every 1,000.
pub(crate) async fn insert_recipients(
    conn: &mut Conn,
    batch: BatchId,
    recipients: Vec<NewRecipient>,
) -> Result<(), StoreError> {
    let mut first = 0_i32;
    for some in recipients.chunks(1_000) {
        diesel::sql_query(
            "INSERT INTO batch_recipients (id, batch_id, place, to_number, metadata, status, attempt) \
             SELECT r.id, $1, $2 + r.place - 1, r.to_number, r.metadata, 'pending', 1 \
             FROM UNNEST($3, $4, $5) WITH ORDINALITY AS r(id, to_number, metadata, place)",
        )
        .bind::<sql::Uuid, _>(V(batch))
        .bind::<Integer, _>(first)
        .bind::<Array<sql::Uuid>, _>(column(some, |r| r.id))
        .bind::<Array<sql::Word>, _>(column(some, |r| r.to.clone()))
        .bind::<Array<sql::Json>, _>(column(some, |r| r.metadata.clone()))
        .execute(conn)
        .await?;
        first += i32::try_from(some.len()).unwrap_or(0);
    }
    Ok(())
}

/// Of these conversations, those that no other transaction has, for the duration of this one.
pub(crate) async fn skip_locked_calls(
    conn: &mut Conn,
    ids: Vec<ConversationId>,
) -> Result<Vec<ConversationId>, StoreError> {
    Ok(conversations::table
        .filter(conversations::id.eq_any(ids.into_iter().map(V)))
        .order(conversations::id)
        .select(conversations::id)
        .for_update()
        .skip_locked()
        .load(conn)
        .await?)
}

/// Each endpoint's deliveries that are due, the first ones first, as far as no other transaction has them; they are
/// this one's until its end.
pub(crate) async fn candidates(
    conn: &mut Conn,
    slots: &[ClaimSlots],
    times: Times,
) -> Result<Vec<Candidate>, StoreError> {
    #[derive(QueryableByName)]
    struct Due {
        #[diesel(sql_type = sql::Uuid)]
        id: DeliveryId,
    }
    if slots.iter().all(|slot| slot.firsts + slot.retries == 0) {
        return Ok(Vec::new());
    }
    let count = |n: usize| i64::try_from(n).unwrap_or(i64::MAX);
    let due: Vec<Due> = diesel::sql_query(concat!(
        "SELECT due.id FROM UNNEST($1, $2, $3) AS s(endpoint_id, firsts, retries) \
         CROSS JOIN LATERAL ( \
           SELECT r.id FROM ( \
             SELECT d.id FROM deliveries d WHERE ",
        retries!(),
        "    AND d.endpoint_id = s.endpoint_id AND d.next_attempt_at <= $4 \
             AND (d.claim_id IS NULL OR d.lease_expires_at < $5) \
             ORDER BY d.next_attempt_at LIMIT s.retries) r \
           UNION ALL \
           SELECT f.id FROM ( \
             SELECT d.id FROM deliveries d WHERE ",
        first_attempts!(),
        "    AND d.endpoint_id = s.endpoint_id \
             AND (d.claim_id IS NULL OR d.lease_expires_at < $5) \
             ORDER BY d.next_attempt_at LIMIT s.firsts) f) due"
    ))
    .bind::<Array<sql::Uuid>, _>(column(slots, |s| s.endpoint))
    .bind::<Array<BigInt>, _>(column(slots, |s| count(s.firsts)))
    .bind::<Array<BigInt>, _>(column(slots, |s| count(s.retries)))
    .bind::<sql::Instant, _>(V(times.due))
    .bind::<sql::Instant, _>(V(times.judged_at))
    .load(conn)
    .await?;
    if due.is_empty() {
        return Ok(Vec::new());
    }
    // Another process may have had them since: once locked, the conditions are looked at again.
    let locked: Vec<(DeliveryId, Option<ClaimId>, i32, i32)> = deliveries::table
        .filter(deliveries::id.eq_any(due.iter().map(|row| V(row.id))))
        .filter(deliveries::state.eq_any([DeliveryState::Pending, DeliveryState::Retrying].map(V)))
        .filter(
            deliveries::state
                .eq(V(DeliveryState::Pending))
                .or(deliveries::next_attempt_at.le(V(times.due))),
        )
        .filter(
            deliveries::claim_id
                .is_null()
                .or(deliveries::lease_expires_at.lt(V(times.judged_at))),
        )
        .select((
            deliveries::id,
            deliveries::claim_id,
            deliveries::attempts_count,
            deliveries::abandoned_count,
        ))
        .for_no_key_update()
        .skip_locked()
        .load(conn)
        .await?;
    let mut locked: HashMap<DeliveryId, Candidate> = locked
        .into_iter()
        .map(|(id, claim_id, attempts_count, abandoned_count)| {
            let candidate = Candidate {
                id,
                claim_id,
                attempts_count,
                abandoned_count,
            };
            (id, candidate)
        })
        .collect();
    Ok(due
        .iter()
        .filter_map(|row| locked.remove(&row.id))
        .collect())
}

/// The endpoint's asked-for repetitions that may be claimed, as far as no other transaction has them.
pub(crate) async fn resend_candidates(
    conn: &mut Conn,
    slot: ClaimSlots,
    judged_at: Timestamp,
) -> Result<Vec<(DeliveryId, Option<ClaimId>, Timestamp)>, StoreError> {
    Ok(resends::table
        .filter(resends::endpoint_id.eq(V(slot.endpoint)))
        .filter(
            resends::claim_id
                .is_null()
                .or(resends::lease_expires_at.lt(V(judged_at))),
        )
        .order((resends::bulk, resends::requested_at))
        .limit(i64::try_from(slot.resends).unwrap_or(i64::MAX))
        .select((
            resends::delivery_id,
            resends::claim_id,
            resends::requested_at,
        ))
        .for_no_key_update()
        .skip_locked()
        .load(conn)
        .await?)
}

/// How durable a commit is: the session's `synchronous_commit`.
pub(crate) async fn durability(conn: &mut Conn) -> Result<String, StoreError> {
    #[derive(QueryableByName)]
    struct Level {
        #[diesel(sql_type = diesel::sql_types::Text)]
        synchronous_commit: String,
    }
    let level: Level = diesel::sql_query("SHOW synchronous_commit")
        .get_result(conn)
        .await?;
    Ok(level.synchronous_commit)
}

/// Records what became of scheduled attempts, and moves their deliveries where the claim is still in force: two
/// statements, however many there are. The next attempt is due by the database's clock, so long after `steady` as is left
/// of its wait. Returns the deliveries that were given up.
pub(crate) async fn finish(
    conn: &mut Conn,
    reports: &[AttemptReport],
    (steady, offset): (Timestamp, i64),
) -> Result<HashSet<DeliveryId>, StoreError> {
    #[derive(QueryableByName)]
    struct Moved {
        #[diesel(sql_type = Nullable<sql::Uuid>)]
        exhausted: Option<DeliveryId>,
    }

    let outcome = |report: &AttemptReport| {
        if report.success {
            AttemptOutcome::Succeeded
        } else {
            AttemptOutcome::Failed
        }
        .to_string()
    };
    diesel::sql_query(
        "UPDATE attempts a SET outcome = r.outcome, status_code = r.status_code, \
           duration_ms = r.duration_ms, error = r.error, response_snippet = r.snippet, at = r.at \
         FROM UNNEST($1, $2, $3, $4, $5, $6, $7) \
           AS r(id, outcome, status_code, duration_ms, error, snippet, at) \
         WHERE a.id = r.id",
    )
    .bind::<Array<sql::Uuid>, _>(column(reports, |r| r.attempt_id))
    .bind::<Array<Text>, _>(column(reports, outcome))
    .bind::<Array<Nullable<Integer>>, _>(column(reports, |r| r.status_code))
    .bind::<Array<Integer>, _>(column(reports, |r| r.duration_ms))
    .bind::<Array<Nullable<Text>>, _>(column(reports, |r| r.error.clone()))
    .bind::<Array<Nullable<Text>>, _>(column(reports, |r| r.response_snippet.clone()))
    .bind::<Array<sql::Instant>, _>(column(reports, |r| r.at))
    .execute(conn)
    .await?;
    let mut scheduled: Vec<&AttemptReport> = reports.iter().filter(|r| r.number > 0).collect();
    // In id order, so that two processes never wait for each other.
    scheduled.sort_by_key(|report| report.delivery_id);
    if scheduled.is_empty() {
        return Ok(HashSet::new());
    }
    // A failure does not bring back what was cancelled or received meanwhile.
    let moved: Vec<Moved> = diesel::sql_query(
        "UPDATE deliveries d SET \
           state = CASE WHEN r.success THEN 'delivered' \
             WHEN d.state NOT IN ('pending', 'retrying') THEN d.state \
             WHEN r.wait IS NULL THEN 'exhausted' ELSE 'retrying' END, \
           next_attempt_at = CASE WHEN d.state IN ('pending', 'retrying') \
             THEN clock_timestamp() + ($6 + r.wait) * INTERVAL '1 microsecond' END, \
           attempts_count = r.number, abandoned_count = 0, claim_id = NULL, lease_expires_at = NULL \
         FROM UNNEST($1, $2, $3, $4, $5) AS r(id, claim, success, number, wait) \
         WHERE d.id = r.id AND d.claim_id = r.claim \
         RETURNING CASE WHEN d.state = 'exhausted' THEN d.id END AS exhausted",
    )
    .bind::<Array<sql::Uuid>, _>(column(&scheduled, |r| r.delivery_id))
    .bind::<Array<sql::Uuid>, _>(column(&scheduled, |r| r.claim_id))
    .bind::<Array<Bool>, _>(column(&scheduled, |r| r.success))
    .bind::<Array<Integer>, _>(column(&scheduled, |r| r.number))
    .bind::<Array<Nullable<BigInt>>, _>(column(&scheduled, |r| r.wait_left(steady)))
    .bind::<BigInt, _>(offset)
    .get_results(conn)
    .await?;
    Ok(moved.into_iter().filter_map(|row| row.exhausted).collect())
}

fn column<R, T>(reports: &[R], value: impl Fn(&R) -> T) -> Vec<T> {
    reports.iter().map(value).collect()
}

/// The health of these endpoints, as far as it may change: of all that fail, and of those received from that failed
/// before. In id order and for the duration of the transaction.
pub(crate) async fn lock_health(
    conn: &mut Conn,
    received: Vec<V<EndpointId>>,
    failed: Vec<V<EndpointId>>,
) -> Result<Vec<(EndpointId, Option<Timestamp>, i32)>, StoreError> {
    Ok(health::table
        .filter(
            health::endpoint_id.eq_any(failed).or(health::endpoint_id
                .eq_any(received)
                .and(health::first_failure_at.is_not_null())),
        )
        .order(health::endpoint_id)
        .select((
            health::endpoint_id,
            health::first_failure_at,
            health::exhausted_count,
        ))
        .for_no_key_update()
        .load(conn)
        .await?)
}

/// Writes an Idempotency-Key that lives for `kept` from now on by the database's clock; 0 if there is one already.
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

/// The row of an Idempotency-Key with the database's clock, in one look.
pub(crate) async fn find_key(
    conn: &mut Conn,
    account: AccountId,
    operation: &str,
    key: &str,
    (_, offset): (Timestamp, i64),
) -> Result<(Option<KeyRow>, Timestamp), StoreError> {
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

/// The oldest deliveries before `first_kept` that are at their end, as far as no other transaction has them.
pub(crate) async fn old_deliveries(
    conn: &mut Conn,
    first_kept: DeliveryId,
    most: i64,
) -> Result<Vec<(DeliveryId, EventId)>, StoreError> {
    Ok(deliveries::table
        .filter(deliveries::id.lt(V(first_kept)))
        .filter(diesel::dsl::sql::<diesel::sql_types::Bool>(
            "deliveries.state NOT IN ('pending', 'retrying') \
             AND NOT EXISTS (SELECT 1 FROM resends r WHERE r.delivery_id = deliveries.id)",
        ))
        .order(deliveries::id)
        .limit(most)
        .select((deliveries::id, deliveries::event_id))
        .for_update()
        .skip_locked()
        .load(conn)
        .await?)
}

/// A setting of the whole service, for the duration of the transaction; `None` if there is none, or another
/// transaction has it.
pub(crate) async fn lock_setting(
    conn: &mut Conn,
    name: &str,
) -> Result<Option<String>, StoreError> {
    Ok(service_settings::table
        .find(name)
        .select(service_settings::value)
        .for_no_key_update()
        .skip_locked()
        .first(conn)
        .await
        .optional()?)
}

/// Writes log entries that are not there yet.
pub(crate) async fn insert_log_entries(
    conn: &mut Conn,
    entries: &[LogEntry],
) -> Result<(), StoreError> {
    diesel::sql_query(
        "INSERT INTO request_logs (id, account_id, request_id, key_id, key_prefix, method, path, status, \
           status_class, error, ip, duration_ms, created_at) \
         SELECT r.id, r.account_id, r.request_id, r.key_id, r.key_prefix, r.method, r.path, r.status, \
           r.status / 100, r.error, r.ip, r.duration_ms, r.created_at \
         FROM UNNEST($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) \
           AS r(id, account_id, request_id, key_id, key_prefix, method, path, status, error, ip, duration_ms, \
           created_at) \
         ON CONFLICT DO NOTHING",
    )
    .bind::<Array<sql::Uuid>, _>(column(entries, |e| e.id))
    .bind::<Array<sql::Uuid>, _>(column(entries, |e| e.account_id))
    .bind::<Array<sql::Uuid>, _>(column(entries, |e| e.request_id))
    .bind::<Array<sql::Uuid>, _>(column(entries, |e| e.key_id))
    .bind::<Array<Text>, _>(column(entries, |e| e.key_prefix.clone()))
    .bind::<Array<Text>, _>(column(entries, |e| e.method.clone()))
    .bind::<Array<Text>, _>(column(entries, |e| e.path.clone()))
    .bind::<Array<Integer>, _>(column(entries, |e| e.status))
    .bind::<Array<Nullable<Text>>, _>(column(entries, |e| e.error.clone()))
    .bind::<Array<Text>, _>(column(entries, |e| e.ip.clone()))
    .bind::<Array<Integer>, _>(column(entries, |e| e.duration_ms))
    .bind::<Array<sql::Instant>, _>(column(entries, |e| e.created_at))
    .execute(conn)
    .await?;
    Ok(())
}
