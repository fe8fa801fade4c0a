//! The outbox: an event and one delivery per enabled endpoint, written with the change that caused them.

use crate::database::Together;
use crate::postgres::dialect::With;
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

/// Writes the event, of a conversation or of none, with its deliveries. Returns the endpoints that now have deliveries.
pub(crate) async fn emit(
    conn: &mut Conn,
    account: AccountId,
    conversation: Option<ConversationId>,
    event: NewEvent,
    at: Timestamp,
) -> Result<Vec<EndpointId>> {
    let (id, kind) = (event.id, event.kind);
    let event = row(account, conversation, event, at);
    let held = insert_and_hold_endpoints(conn, account, event).await?;
    let targets: Vec<_> = receivers(&held, kind).collect();
    ensure!(!targets.is_empty(), Vec::new());
    let earlier = match conversation {
        Some(conversation) if kind != EventType::CallInitiated => {
            unsent(conn, vec![conversation]).await?
        }
        _ => HashMap::new(),
    };
    let of_event = (account, id, kind);
    let rows = targets.iter().map(|&target| {
        let waits_for = conversation.and_then(|call| earlier.get(&(call, target.0)).copied());
        delivery(mint(at), of_event, target, waits_for, at)
    });
    insert_deliveries(conn, rows.collect()).await?;
    let enabled = targets
        .into_iter()
        .filter(|(_, status)| *status == EndpointStatus::Enabled);
    Ok(enabled.map(|(endpoint, _)| endpoint).collect())
}

/// The deliveries of these conversations' first events whose first attempt has not ended.
pub(crate) async fn unsent(
    conn: &mut Conn,
    conversations: Vec<ConversationId>,
) -> Result<HashMap<(ConversationId, EndpointId), DeliveryId>> {
    let found: Vec<(Option<ConversationId>, EndpointId, DeliveryId)> = deliveries::table
        .inner_join(events::table)
        .filter(events::conversation_id.eq_any(conversations.into_iter().map(Some)))
        // Written out, so that both databases see that the partial index applies.
        .filter(sql::<Bool>("events.type = 'call.initiated'"))
        .filter(deliveries::attempts_count.eq(0))
        .filter(deliveries::state.eq(V(DeliveryState::Pending)))
        .select((
            events::conversation_id,
            deliveries::endpoint_id,
            deliveries::id,
        ))
        .load(conn)
        .await?;
    let of_call = |(call, endpoint, id): (Option<_>, _, _)| Some(((call?, endpoint), id));
    Ok(found.into_iter().filter_map(of_call).collect())
}

/// The endpoints that get deliveries: the enabled ones, and those that failed for too long.
macro_rules! receiving {
    () => {
        endpoints::table
            .filter(endpoints::deleted_at.is_null())
            .filter(
                endpoints::status
                    .eq(V(EndpointStatus::Enabled))
                    .or(endpoints::disabled_reason
                        .eq(DISABLED_AS_FAILING)
                        .assume_not_null()),
            )
    };
}

/// An endpoint that gets deliveries, and of which events; `None`: of the default ones.
pub(crate) type Held = (EndpointId, EndpointStatus, Option<EventTypes>);

/// The endpoints that get a delivery of an event of this type.
pub(crate) fn receivers(
    held: &[Held],
    kind: EventType,
) -> impl Iterator<Item = (EndpointId, EndpointStatus)> {
    held.iter().filter_map(move |(endpoint, status, events)| {
        let events = events.unwrap_or_else(EventTypes::by_default);
        events.contains(kind).then_some((*endpoint, *status))
    })
}

/// The endpoints of several accounts that get deliveries, with a lock that their deletion or disabling waits for.
pub(crate) async fn hold_endpoints(
    conn: &mut Conn,
    accounts: HashSet<AccountId>,
) -> Result<HashMap<AccountId, Vec<Held>>> {
    let mut held: HashMap<AccountId, Vec<Held>> = HashMap::new();
    let found: Vec<(AccountId, EndpointId, EndpointStatus, Option<EventTypes>)> = receiving!()
        .filter(endpoints::account_id.eq_any(accounts.into_iter().map(V)))
        .order((endpoints::created_at, endpoints::id))
        .select((
            endpoints::account_id,
            endpoints::id,
            endpoints::status,
            endpoints::events,
        ))
        .locked("FOR SHARE")
        .load(conn)
        .await?;
    for (account, endpoint, status, events) in found {
        let of_account = held.entry(account).or_default();
        of_account.push((endpoint, status, events));
    }
    Ok(held)
}

/// Writes an event. Returns the endpoints that get deliveries, of whatever types. It reads them with a lock that an endpoint's deletion or
/// disabling waits for, so that no delivery is written after it.
///
/// On PostgreSQL this takes one round trip. On SQLite a statement costs none, so each runs alone.
async fn insert_and_hold_endpoints(
    conn: &mut Conn,
    account: AccountId,
    event: impl QueryFragment<Db> + QueryId + Send + 'static,
) -> Result<Vec<Held>> {
    let then = receiving!()
        .filter(endpoints::account_id.eq(V(account)))
        .order((endpoints::created_at, endpoints::id))
        .select((endpoints::id, endpoints::status, endpoints::events));
    if conn.db() == Db::Sqlite {
        event.execute(conn).await?;
        return Ok(then.load(conn).await?);
    }
    let then = then.locked("FOR SHARE");
    Ok(With { write: event, then }.load(conn).await?)
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

/// The statement that inserts the delivery of a new event to an endpoint that receives it.
pub(crate) fn first(of: &Delivery) -> impl QueryFragment<Db> + QueryId + Send + use<> {
    let event = (of.account_id, of.event_id, of.kind);
    let to = (of.endpoint_id, EndpointStatus::Enabled);
    delivery(of.id, event, to, None, of.created_at)
}

/// The statement that inserts an event's delivery to an endpoint: `pending`, or `cancelled` if the endpoint is disabled.
pub(crate) fn delivery(
    id: DeliveryId,
    (account, event, kind): (AccountId, EventId, EventType),
    (endpoint, status): (EndpointId, EndpointStatus),
    waits_for: Option<DeliveryId>,
    at: Timestamp,
) -> impl QueryFragment<Db> + QueryId + Send + 'static {
    let (state, due) = match status {
        EndpointStatus::Enabled => (DeliveryState::Pending, Some(at)),
        EndpointStatus::Disabled => (DeliveryState::Cancelled, None),
    };
    diesel::insert_into(deliveries::table).values(row! {
        deliveries: id, account_id = account, endpoint_id = endpoint,
        event_id = event, event_type = kind, waits_for, state, attempts_count = 0,
        abandoned_count = 0, next_attempt_at = due, created_at = at
    })
}

/// Writes deliveries. One statement where each costs a round trip; one by one on SQLite, where a prepared statement
/// costs less.
pub(crate) async fn insert_deliveries(
    conn: &mut Conn,
    rows: Vec<impl QueryFragment<Db> + QueryId + Send>,
) -> Result<()> {
    if conn.db() == Db::Postgres {
        return Together::default().insert(rows)?.run(conn).await;
    }
    for one in rows {
        one.execute(conn).await?;
    }
    Ok(())
}
