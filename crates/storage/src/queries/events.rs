//! The outbox: an event and one delivery per enabled endpoint, written with the change that caused them.

use super::calls;
use crate::postgres::dialect::{With, Write};
use crate::prelude::*;
use diesel::query_builder::{QueryFragment, QueryId};

impl Store {
    /// The account's newest events since `since`, `limit` at most. Ids tell their time, so that the primary key finds them.
    pub fn events_since(
        &self,
        account: AccountId,
        since: Timestamp,
        limit: i64,
    ) -> Answer<'_, Vec<AccountEvent>> {
        events::table
            .filter(events::id.ge(V(EventId::mint(since, [0; 10]))))
            .filter(events::account_id.eq(V(account)))
            .order(events::id.desc())
            .limit(limit)
            .select(AccountEvent::as_select())
            .read_all(self)
    }
}

/// Writes the event with its deliveries. Returns the endpoints that now have deliveries.
pub(crate) async fn emit(
    conn: &mut Conn,
    account: AccountId,
    conversation: ConversationId,
    event: NewEvent,
    at: Timestamp,
) -> Result<Vec<EndpointId>> {
    emit_with(conn, None, (account, conversation), event, at).await
}

/// Also writes the conversation of an accepted call.
pub(crate) async fn emit_first(
    conn: &mut Conn,
    call: &NewCall,
    event: NewEvent,
) -> Result<Vec<EndpointId>> {
    emit_with(conn, Some(call), (call.account_id, call.id), event, call.at).await
}

async fn emit_with(
    conn: &mut Conn,
    call: Option<&NewCall>,
    (account, conversation): (AccountId, ConversationId),
    event: NewEvent,
    at: Timestamp,
) -> Result<Vec<EndpointId>> {
    let (id, kind) = (event.id, event.kind);
    let event = row(account, Some(conversation), event, at);
    let targets = insert_and_hold_endpoints(conn, call, account, event).await?;
    ensure!(!targets.is_empty(), Vec::new());
    // The deliveries of the call's first event whose first attempt has not ended.
    let earlier: Vec<(EndpointId, DeliveryId)> = match kind {
        EventType::CallInitiated => Vec::new(),
        EventType::CallCompleted | EventType::CallFailed => {
            deliveries::table
                .inner_join(events::table)
                .filter(events::conversation_id.eq(Some(conversation)))
                // Written out, so that both databases see that the partial index applies.
                .filter(sql::<Bool>("events.type = 'call.initiated'"))
                .filter(deliveries::attempts_count.eq(0))
                .filter(deliveries::state.eq(V(DeliveryState::Pending)))
                .select((deliveries::endpoint_id, deliveries::id))
                .load(conn)
                .await?
        }
    };
    let rows = targets.iter().map(|&(endpoint, status)| {
        let state = match status {
            EndpointStatus::Enabled => DeliveryState::Pending,
            EndpointStatus::Disabled => DeliveryState::Cancelled,
        };
        let waits_for = earlier.iter().find(|(of, _)| *of == endpoint);
        (mint(at), endpoint, state, waits_for.map(|(_, id)| *id))
    });
    insert_deliveries(conn, account, (id, kind), rows.collect(), at).await?;
    let enabled = targets
        .into_iter()
        .filter(|(_, status)| *status == EndpointStatus::Enabled);
    Ok(enabled.map(|(endpoint, _)| endpoint).collect())
}

/// Writes the conversation, if there is one, and its event. Returns the endpoints that get deliveries: the enabled
/// ones, and those that failed for too long. It reads them with a lock that an endpoint's deletion or disabling waits
/// for, so that no delivery is written after it.
///
/// On PostgreSQL this takes one round trip: with a remote database, round trips are what a call costs. On SQLite a
/// statement costs none, so each runs alone.
async fn insert_and_hold_endpoints(
    conn: &mut Conn,
    call: Option<&NewCall>,
    account: AccountId,
    event: impl QueryFragment<Db> + QueryId + Send + 'static,
) -> Result<Vec<(EndpointId, EndpointStatus)>> {
    let then = endpoints::table
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
        .select((endpoints::id, endpoints::status));
    if conn.db() == Db::Sqlite {
        if let Some(call) = call {
            calls::row(Db::Sqlite, call).execute(conn).await?;
        }
        event.execute(conn).await?;
        return Ok(then.load(conn).await?);
    }
    let (event, then) = (Write("event", event), then.locked("FOR SHARE"));
    Ok(match call {
        Some(call) => {
            let writes = (Write("call", calls::row(Db::Postgres, call)), event);
            With { writes, then }.load(conn).await?
        }
        None => {
            let writes = event;
            With { writes, then }.load(conn).await?
        }
    })
}

/// The statement that inserts an event.
pub(crate) fn row(
    account: AccountId,
    conversation: Option<ConversationId>,
    event: NewEvent,
    at: Timestamp,
) -> impl QueryFragment<Db> + QueryId + Send + 'static {
    diesel::insert_into(events::table).values(row! {
        events: id = event.id, account_id = account, conversation_id = conversation,
        kind = event.kind, body = event.body, created_at = at
    })
}

/// Writes deliveries of an event: the id of each, its endpoint, its state (`pending`, or `cancelled` if the endpoint is
/// disabled) and the delivery that it waits for. One statement where each costs a round trip; one by one on SQLite,
/// where a prepared statement costs less.
pub(crate) async fn insert_deliveries(
    conn: &mut Conn,
    account: AccountId,
    (event, kind): (EventId, EventType),
    rows: Vec<(DeliveryId, EndpointId, DeliveryState, Option<DeliveryId>)>,
    at: Timestamp,
) -> Result<()> {
    let values = rows.into_iter().map(|(id, endpoint, state, waits_for)| {
        let is_due = state == DeliveryState::Pending;
        row! {
            deliveries: id, account_id = account, endpoint_id = endpoint, event_id = event,
            event_type = kind, waits_for, state, attempts_count = 0, abandoned_count = 0,
            next_attempt_at = is_due.then_some(at), created_at = at
        }
    });
    let into = diesel::insert_into(deliveries::table);
    if conn.db() == Db::Postgres {
        return into.values(values.collect::<Vec<_>>()).run(conn).await;
    }
    for one in values {
        into.values(one).execute(conn).await?;
    }
    Ok(())
}
