//! The few statements that differ, for SQLite.

mod knowledge;

use std::collections::HashSet;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use diesel::prelude::*;
use diesel::sql_types::BigInt;
use diesel_async::RunQueryDsl;
use offhook_domain::{
    AccountId, AgentId, AgentStatus, BatchId, ClaimId, ConversationId, DeliveryId, EndpointId,
    EventId, RecipientStatus, Timestamp,
};

use super::Conn;
use super::queries::dispatch::{Candidate, Times, first_attempts, retries};
use super::queries::events::NewDelivery;
use super::queries::idempotency::KeyRow;
use crate::LogEntry;
use crate::schema::request_logs as logs;
use crate::schema::{
    accounts, agents, api_keys, attempts, batch_recipients as recipients, deliveries,
    idempotency_keys as keys, resends, service_settings, webhook_endpoint_health as health,
    webhook_endpoints as endpoints,
};
use crate::sql;
use crate::sql::V;
use crate::{
    Account, ApiKey, AttemptOutcome, AttemptReport, ClaimSlots, ClaimedAttempt,
    DISABLED_AS_FAILING, DeliveryState, EndpointStatus, IdempotencyClaim, NewRecipient, StoreError,
};

pub(crate) use knowledge::*;

diesel::define_sql_function! {
    /// Says that a condition rarely holds. Without statistics, SQLite takes a period for a better guide than a number or
    /// a status, and would walk a whole period of the account for the few rows that match.
    fn unlikely<ST: diesel::sql_types::SqlType + diesel::sql_types::SingleValue>(condition: ST) -> ST;
}

/// The clock that leases and keys are judged by: here the process's own, as one process owns the file.
pub(crate) async fn key_clock(
    _conn: &mut Conn,
    now: Timestamp,
    _offset: i64,
) -> Result<Timestamp, StoreError> {
    Ok(now)
}

/// When a call that is accepted at `at` began to wait, by the clock that its patience is judged by.
pub(crate) const fn queued_at(at: Timestamp) -> Option<Timestamp> {
    Some(at)
}

/// The clock that the leases of calls and deliveries are judged by: the time since this process began, which nobody can turn.
/// Leases of an earlier process mean nothing here: at its start a process takes over whatever others have claimed.
pub(crate) async fn lease_clock(_conn: &mut Conn, offset: i64) -> Result<Timestamp, StoreError> {
    static BEGAN: LazyLock<Instant> = LazyLock::new(Instant::now);
    let micros = i64::try_from(BEGAN.elapsed().as_micros()).unwrap_or(i64::MAX);
    Ok(Timestamp::from_micros(micros.saturating_add(offset)))
}

/// The clocks of deliveries: what says that one is due, and what leases are judged by. Neither is turned with the
/// machine's.
pub(crate) async fn delivery_clocks(
    conn: &mut Conn,
    steady: Timestamp,
    offset: i64,
) -> Result<(Timestamp, Timestamp), StoreError> {
    Ok((steady, lease_clock(conn, offset).await?))
}

/// The key with this digest, its account, and the present by the clock that keys are judged by: the process's own.
pub(crate) async fn find_by_digest(
    conn: &mut Conn,
    digest: [u8; 32],
    (now, _): (Timestamp, i64),
) -> Result<Option<(ApiKey, Account, Timestamp)>, StoreError> {
    let found: Option<(ApiKey, Account)> = api_keys::table
        .inner_join(accounts::table)
        .filter(api_keys::digest.eq(digest.to_vec()))
        .select((ApiKey::as_select(), Account::as_select()))
        .first(conn)
        .await
        .optional()?;
    Ok(found.map(|(key, account)| (key, account, now)))
}

/// Takes the account's row for the duration of the transaction; the one writer has it anyway.
pub(crate) async fn try_lock_account(
    _conn: &mut Conn,
    _account: AccountId,
) -> Result<bool, StoreError> {
    Ok(true)
}

/// Keeps two transactions of one account apart; the one writer does.
pub(crate) async fn lock_account(_conn: &mut Conn, _account: AccountId) -> Result<(), StoreError> {
    Ok(())
}

/// The status of an agent of the account, for the duration of the transaction.
pub(crate) async fn hold_agent(
    conn: &mut Conn,
    account: AccountId,
    id: AgentId,
) -> Result<Option<AgentStatus>, StoreError> {
    Ok(agents::table
        .filter(agents::id.eq(V(id)).and(agents::account_id.eq(V(account))))
        .select(agents::status)
        .first(conn)
        .await
        .optional()?)
}

/// Makes the endpoint's deletion or disabling wait for the transaction's end; the one writer does.
pub(crate) async fn hold_endpoint(_conn: &mut Conn, _id: EndpointId) -> Result<(), StoreError> {
    Ok(())
}

/// The endpoints that deliveries are written for: those that receive events, and those that failed too long to.
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
        .load(conn)
        .await?)
}

/// Bounds the waits for locks; the one writer waits for none.
pub(crate) async fn limit_lock_wait(
    _conn: &mut Conn,
    _most: Option<Duration>,
) -> Result<(), StoreError> {
    Ok(())
}

/// Takes these deliveries' rows for the duration of the transaction; the one writer has them anyway.
pub(crate) async fn lock_deliveries(
    _conn: &mut Conn,
    _ids: Vec<DeliveryId>,
) -> Result<(), StoreError> {
    Ok(())
}

/// Takes an endpoint's open deliveries; the one writer has them anyway.
pub(crate) async fn lock_open_deliveries(
    _conn: &mut Conn,
    _endpoint: EndpointId,
) -> Result<(), StoreError> {
    Ok(())
}

pub(crate) async fn insert_deliveries(
    conn: &mut Conn,
    rows: Vec<NewDelivery>,
) -> Result<(), StoreError> {
    for row in rows {
        diesel::insert_into(deliveries::table)
            .values((
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
            ))
            .execute(conn)
            .await?;
    }
    Ok(())
}

pub(crate) async fn insert_attempts(
    conn: &mut Conn,
    claimed: &[ClaimedAttempt],
    at: Timestamp,
) -> Result<(), StoreError> {
    for attempt in claimed {
        diesel::insert_into(attempts::table)
            .values((
                attempts::id.eq(V(attempt.attempt_id)),
                attempts::delivery_id.eq(V(attempt.delivery_id)),
                attempts::number.eq(attempt.number),
                attempts::at.eq(V(at)),
                attempts::outcome.eq(V(AttemptOutcome::Begun)),
            ))
            .execute(conn)
            .await?;
    }
    Ok(())
}

/// Recipients of a batch, in their order.
pub(crate) async fn insert_recipients(
    conn: &mut Conn,
    batch: BatchId,
    new: Vec<NewRecipient>,
) -> Result<(), StoreError> {
    for (place, recipient) in (0_i32..).zip(new) {
        diesel::insert_into(recipients::table)
            .values((
                recipients::id.eq(V(recipient.id)),
                recipients::batch_id.eq(V(batch)),
                recipients::place.eq(place),
                recipients::to_number.eq(V(recipient.to)),
                recipients::metadata.eq(V(recipient.metadata)),
                recipients::status.eq(V(RecipientStatus::Pending)),
                recipients::attempt.eq(1),
            ))
            .execute(conn)
            .await?;
    }
    Ok(())
}

/// The conversations that these ids name, for the duration of the transaction.
pub(crate) async fn skip_locked_calls(
    _conn: &mut Conn,
    ids: Vec<ConversationId>,
) -> Result<Vec<ConversationId>, StoreError> {
    Ok(ids)
}

/// Each endpoint's deliveries that are due, the first ones first.
pub(crate) async fn candidates(
    conn: &mut Conn,
    slots: &[ClaimSlots],
    times: Times,
) -> Result<Vec<Candidate>, StoreError> {
    macro_rules! due_of_endpoint {
        ($conditions:expr, $due:literal) => {
            concat!(
                "SELECT d.id, d.claim_id, d.attempts_count, d.abandoned_count FROM deliveries d \
                 WHERE ",
                $conditions,
                " AND d.endpoint_id = ?1 AND ",
                $due,
                " AND (d.claim_id IS NULL OR d.lease_expires_at < ?3) \
                 ORDER BY d.next_attempt_at LIMIT ?4"
            )
        };
    }
    let mut found = Vec::new();
    for slot in slots {
        for (query, most) in [
            (
                due_of_endpoint!(retries!(), "d.next_attempt_at <= ?2"),
                slot.retries,
            ),
            (
                due_of_endpoint!(first_attempts!(), "?2 IS NOT NULL"),
                slot.firsts,
            ),
        ] {
            if most == 0 {
                continue;
            }
            let rows: Vec<Candidate> = diesel::sql_query(query)
                .bind::<sql::Uuid, _>(V(slot.endpoint))
                .bind::<sql::Instant, _>(V(times.due))
                .bind::<sql::Instant, _>(V(times.judged_at))
                .bind::<BigInt, _>(i64::try_from(most).unwrap_or(i64::MAX))
                .load(conn)
                .await?;
            found.extend(rows);
        }
    }
    Ok(found)
}

/// The endpoint's asked-for repetitions that may be claimed.
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
        .load(conn)
        .await?)
}

/// How durable a commit is: the writer's `synchronous` and, as there is one file, nothing else.
pub(crate) async fn durability(conn: &mut Conn) -> Result<String, StoreError> {
    #[derive(QueryableByName)]
    struct Level {
        #[diesel(sql_type = diesel::sql_types::Integer)]
        synchronous: i32,
    }
    let level: Level = diesel::sql_query("PRAGMA synchronous")
        .get_result(conn)
        .await?;
    Ok(match level.synchronous {
        2 => "FULL".to_owned(),
        other => other.to_string(),
    })
}

/// Records what became of scheduled attempts, and moves their deliveries where the claim is still in force. Returns the
/// deliveries that were given up.
pub(crate) async fn finish(
    conn: &mut Conn,
    reports: &[AttemptReport],
    (steady, _): (Timestamp, i64),
) -> Result<HashSet<DeliveryId>, StoreError> {
    let mut exhausted = HashSet::new();
    for report in reports {
        let outcome = if report.success {
            AttemptOutcome::Succeeded
        } else {
            AttemptOutcome::Failed
        };
        diesel::update(attempts::table.find(V(report.attempt_id)))
            .set((
                attempts::at.eq(V(report.at)),
                attempts::outcome.eq(V(outcome)),
                attempts::status_code.eq(report.status_code),
                attempts::duration_ms.eq(report.duration_ms),
                attempts::error.eq(&report.error),
                attempts::response_snippet.eq(&report.response_snippet),
            ))
            .execute(conn)
            .await?;
        if report.number == 0 {
            continue;
        }
        let next = report
            .wait_left(steady)
            .map(|left| Timestamp::from_micros(steady.micros().saturating_add(left)));
        let state = match (report.success, next) {
            (true, _) => DeliveryState::Delivered,
            (false, Some(_)) => DeliveryState::Retrying,
            (false, None) => DeliveryState::Exhausted,
        };
        let mine = deliveries::id
            .eq(V(report.delivery_id))
            .and(deliveries::claim_id.eq(V(report.claim_id)));
        let recorded = (
            deliveries::attempts_count.eq(report.number),
            deliveries::abandoned_count.eq(0),
            deliveries::claim_id.eq(None::<ClaimId>),
            deliveries::lease_expires_at.eq(None::<Timestamp>),
        );
        let moved = (
            deliveries::state.eq(V(state)),
            deliveries::next_attempt_at.eq(next),
        );
        let open =
            deliveries::state.eq_any([DeliveryState::Pending, DeliveryState::Retrying].map(V));
        // A failure does not bring back what was cancelled or received meanwhile.
        let changed = diesel::update(deliveries::table)
            .filter(mine.and(open.or(report.success.into_sql::<diesel::sql_types::Bool>())))
            .set(moved)
            .execute(conn)
            .await?;
        if changed > 0 && state == DeliveryState::Exhausted {
            exhausted.insert(report.delivery_id);
        }
        diesel::update(deliveries::table)
            .filter(mine)
            .set(recorded)
            .execute(conn)
            .await?;
    }
    Ok(exhausted)
}

/// The health of these endpoints, as far as it may change: of all that fail, and of those received from that failed
/// before.
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
        .load(conn)
        .await?)
}

/// Writes an Idempotency-Key that lives for `kept` from now on by the process's clock; 0 if there is one already.
pub(crate) async fn insert_key(
    conn: &mut Conn,
    account: AccountId,
    claim: &IdempotencyClaim,
    (now, _): (Timestamp, i64),
    kept: Duration,
) -> Result<usize, diesel::result::Error> {
    diesel::insert_into(keys::table)
        .values((
            keys::account_id.eq(V(account)),
            keys::operation.eq(claim.operation),
            keys::idempotency_key.eq(&claim.key),
            keys::fingerprint.eq(&claim.answer.fingerprint),
            keys::status.eq(claim.answer.status),
            keys::location.eq(&claim.answer.location),
            keys::body.eq(&claim.answer.body),
            keys::created_at.eq(V(now)),
            keys::expires_at.eq(V(now.plus(kept))),
        ))
        .on_conflict_do_nothing()
        .execute(conn)
        .await
}

/// The row of an Idempotency-Key with the process's clock.
pub(crate) async fn find_key(
    conn: &mut Conn,
    account: AccountId,
    operation: &str,
    key: &str,
    (now, _): (Timestamp, i64),
) -> Result<(Option<KeyRow>, Timestamp), StoreError> {
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

/// The oldest deliveries before `first_kept` that are at their end.
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
        .load(conn)
        .await?)
}

/// A setting of the whole service, for the duration of the transaction; `None` if there is none.
pub(crate) async fn lock_setting(
    conn: &mut Conn,
    name: &str,
) -> Result<Option<String>, StoreError> {
    Ok(service_settings::table
        .find(name)
        .select(service_settings::value)
        .first(conn)
        .await
        .optional()?)
}

/// Writes log entries that are not there yet.
pub(crate) async fn insert_log_entries(
    conn: &mut Conn,
    entries: &[LogEntry],
) -> Result<(), StoreError> {
    for entry in entries {
        diesel::insert_into(logs::table)
            .values((
                logs::id.eq(V(entry.id)),
                logs::account_id.eq(V(entry.account_id)),
                logs::request_id.eq(V(entry.request_id)),
                logs::key_id.eq(V(entry.key_id)),
                logs::key_prefix.eq(&entry.key_prefix),
                logs::method.eq(&entry.method),
                logs::path.eq(&entry.path),
                logs::status.eq(entry.status),
                logs::status_class.eq(entry.status / 100),
                logs::error.eq(&entry.error),
                logs::ip.eq(&entry.ip),
                logs::duration_ms.eq(entry.duration_ms),
                logs::created_at.eq(V(entry.created_at)),
            ))
            .on_conflict_do_nothing()
            .execute(conn)
            .await?;
    }
    Ok(())
}
