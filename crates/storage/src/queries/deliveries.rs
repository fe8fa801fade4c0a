//! Deliveries as customers read them, resends, and test events.

use super::events as outbox;
use crate::database::Together;
use crate::dialect::{UnlessThere, push_sorted};
use crate::postgres::sharing::{self, Share, Shared};
use crate::prelude::*;
use crate::sql::Instant;
use diesel::query_builder::{AstPass, Query, QueryFragment, QueryId};
use futures_util::future::BoxFuture;

const RECOVERED_AT_MOST: i64 = 10_000;

/// The result of a resend request.
#[derive(Debug, Clone)]
pub enum Resent {
    /// The delivery will be resent.
    Asked(Delivery),
    /// There is no such delivery.
    Absent,
    /// Its endpoint is disabled or deleted.
    EndpointDisabled,
    /// Its payload has been removed.
    BodyGone,
}

/// The result of a request to resend what an endpoint has missed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recovered {
    /// This many deliveries will be attempted once more.
    Asked(i64),
    /// There is no such endpoint.
    Absent,
    /// The endpoint is disabled.
    EndpointDisabled,
}

/// The deliveries that match the filter after the key `after`, unordered.
fn shown(
    account: AccountId,
    filter: &DeliveryFilter,
    kind: Option<EventType>,
    after: Option<PageKey<DeliveryId>>,
) -> deliveries::BoxedQuery<'static, Db> {
    let mut query = deliveries::table
        .filter(deliveries::account_id.eq(V(account)))
        .into_boxed::<Db>()
        .when_is(deliveries::state, filter.state)
        .when_is(deliveries::event_type, kind)
        .when_is(deliveries::endpoint_id, filter.endpoint)
        .when(filter.since, |since| deliveries::created_at.ge(V(since)))
        .when(earlier(filter.until, after), |until| {
            deliveries::created_at.le(V(until))
        });
    if let Some((at, id)) = after {
        let behind = deliveries::created_at.lt(V(at));
        query = query.filter(behind.or(deliveries::id.lt(V(id))));
    }
    query
}

/// Index scans that are each in the page's order, merged up to the page's end. Each scan reads at most one row more
/// than it shows.
struct Merged<Q> {
    scans: Vec<Q>,
    limit: i64,
}

impl<Q: QueryFragment<Db>> QueryFragment<Db> for Merged<Q> {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Db>) -> QueryResult<()> {
        for (place, scan) in self.scans.iter().enumerate() {
            if place > 0 {
                out.push_sql(" UNION ALL ");
            }
            push_sorted(&mut out, scan, &self.limit)?;
        }
        out.push_sql(" ORDER BY created_at DESC, id DESC LIMIT ");
        out.push_bind_param::<BigInt, _>(&self.limit)
    }
}

impl<Q> QueryId for Merged<Q> {
    type QueryId = ();
    const HAS_STATIC_QUERY_ID: bool = false;
}

impl<Q: Query> Query for Merged<Q> {
    type SqlType = Q::SqlType;
}

async fn story(
    conn: &mut Conn,
    account: AccountId,
    id: DeliveryId,
) -> Result<Option<DeliveryStory>> {
    // One statement, so that the attempts match the delivery's state.
    let rows: Vec<(Delivery, Vec<u8>, Option<Attempt>)> = deliveries::table
        .inner_join(events::table)
        .left_join(attempts::table)
        .filter(deliveries::id.eq(V(id)))
        .filter(deliveries::account_id.eq(V(account)))
        .order((attempts::at, attempts::id))
        .select((
            Delivery::as_select(),
            events::body,
            Option::<Attempt>::as_select(),
        ))
        .load(conn)
        .await?;
    let mut story = None;
    let mut attempts = Vec::with_capacity(rows.len());
    for (delivery, payload, attempt) in rows {
        attempts.extend(attempt);
        story.get_or_insert((delivery, payload));
    }
    Ok(story.map(|(delivery, payload)| DeliveryStory {
        delivery,
        payload: (!payload.is_empty()).then_some(payload),
        attempts,
    }))
}

/// A test event for one endpoint.
#[derive(Debug, Clone)]
pub(crate) struct TestEvent {
    account: AccountId,
    endpoint: EndpointId,
    event: NewEvent,
    at: Timestamp,
}

impl TestEvent {
    /// Its only delivery.
    fn delivery(&self) -> Delivery {
        Delivery {
            id: mint(self.at),
            account_id: self.account,
            endpoint_id: self.endpoint,
            event_id: self.event.id,
            kind: self.event.kind,
            state: DeliveryState::Pending,
            attempts_count: 0,
            next_attempt_at: Some(self.at),
            created_at: self.at,
        }
    }
}

impl Share for TestEvent {
    type Answer = Resent;

    fn account(&self) -> AccountId {
        self.account
    }

    fn together(
        conn: &mut Conn,
        tests: Vec<Self>,
        _: i64,
        _: bool,
    ) -> sharing::Together<'_, Resent> {
        Box::pin(send_tests(conn, tests))
    }

    fn alone(self, conn: &mut Conn, _: i64) -> BoxFuture<'_, Result<Verdict<Resent>>> {
        Box::pin(send_test(conn, self))
    }
}

/// Writes the events whose endpoints receive them, and are not being changed by another transaction.
async fn send_tests(
    conn: &mut Conn,
    tests: Vec<TestEvent>,
) -> Result<Verdict<Vec<Shared<Resent>>>> {
    let ids: HashSet<EndpointId> = tests.iter().map(|test| test.endpoint).collect();
    let enabled: Vec<(AccountId, EndpointId)> = endpoints::table
        .filter(endpoints::id.eq_any(ids.into_iter().map(V)))
        .filter(endpoints::deleted_at.is_null())
        .filter(endpoints::status.eq(V(EndpointStatus::Enabled)))
        .select((endpoints::account_id, endpoints::id))
        .locked("FOR SHARE SKIP LOCKED")
        .load(conn)
        .await?;
    let enabled: HashSet<(AccountId, EndpointId)> = enabled.into_iter().collect();
    let (mut events, mut deliveries) = (Vec::new(), Vec::new());
    let mut done = Vec::with_capacity(tests.len());
    for test in tests {
        if !enabled.contains(&(test.account, test.endpoint)) {
            done.push(Shared::Alone);
            continue;
        }
        let delivery = test.delivery();
        deliveries.push(outbox::first(&delivery));
        events.push(outbox::row(test.account, None, test.event, test.at));
        done.push(Shared::Done(Resent::Asked(delivery)));
    }
    let written = Together::default().insert(events)?.insert(deliveries)?;
    written.run(conn).await?;
    Ok(Commit(done))
}

async fn send_test(conn: &mut Conn, test: TestEvent) -> Result<Verdict<Resent>> {
    match endpoint_status(conn, test.account, test.endpoint).await? {
        None => return Ok(Rollback(Resent::Absent)),
        Some(EndpointStatus::Disabled) => return Ok(Rollback(Resent::EndpointDisabled)),
        Some(EndpointStatus::Enabled) => {}
    }
    let delivery = test.delivery();
    outbox::row(test.account, None, test.event, test.at)
        .run(conn)
        .await?;
    outbox::first(&delivery).run(conn).await?;
    Ok(Commit(Resent::Asked(delivery)))
}

/// Whether the endpoint receives events, locked until the transaction ends. `None` if it is deleted.
async fn endpoint_status(
    conn: &mut Conn,
    account: AccountId,
    id: EndpointId,
) -> Result<Option<EndpointStatus>> {
    locks::hold_endpoint(conn, id).await?;
    Ok(own!(endpoints, account, id)
        .filter(endpoints::deleted_at.is_null())
        .select(endpoints::status)
        .found(conn)
        .await?)
}

impl Store {
    /// A delivery of the account with its payload and attempts.
    pub fn delivery(
        &self,
        account: AccountId,
        id: DeliveryId,
    ) -> Answer<'_, Option<DeliveryStory>> {
        read!(self, |conn| story(conn, account, id).await)
    }

    /// The first `limit` deliveries of a conversation's events, oldest first.
    pub fn deliveries_of(
        &self,
        account: AccountId,
        conversation: ConversationId,
        limit: i64,
    ) -> Answer<'_, Vec<Delivery>> {
        deliveries::table
            .inner_join(events::table)
            .filter(events::conversation_id.eq(V(conversation)))
            .filter(deliveries::account_id.eq(V(account)))
            .order((deliveries::created_at, deliveries::id))
            .limit(limit)
            .select(Delivery::as_select())
            .read_all(self)
    }

    /// A page of the account's deliveries, newest first, with one more than `limit` if there is a next page.
    pub fn deliveries(
        &self,
        account: AccountId,
        filter: DeliveryFilter,
        after: Option<PageKey<DeliveryId>>,
        limit: i64,
    ) -> Answer<'_, Vec<Delivery>> {
        read!(self, |conn| {
            if filter.state.is_none() || filter.kind.is_some() {
                return Ok(shown(account, &filter, filter.kind, after)
                    .order((deliveries::created_at.desc(), deliveries::id.desc()))
                    .limit(limit + 1)
                    .select(Delivery::as_select())
                    .load(conn)
                    .await?);
            }
            // One index serves both a state with a type and a state alone, with one scan for each of the few types:
            // every further index would be written with every attempt.
            let scans = EventType::ALL.iter().map(|kind| {
                let scan = shown(account, &filter, Some(*kind), after);
                scan.select(Delivery::as_select())
            });
            let merged = Merged {
                scans: scans.collect(),
                limit: limit + 1,
            };
            Ok(merged.load(conn).await?)
        })
    }

    /// How many deliveries are open.
    pub fn delivery_backlog(&self) -> Answer<'_, i64> {
        deliveries::table
            // Written out, so that both databases see that the partial index applies.
            .filter(sql::<Bool>("deliveries.state IN ('pending', 'retrying')"))
            .count()
            .read_one(self)
    }

    /// Writes a test event for one endpoint.
    pub fn send_test_event(
        &self,
        account: AccountId,
        endpoint: EndpointId,
        event: NewEvent,
        at: Timestamp,
    ) -> Answer<'_, Resent> {
        let test = TestEvent {
            account,
            endpoint,
            event,
            at,
        };
        match &self.queues {
            Some(queues) => Box::pin(queues.test_events.make(test, 0)),
            None => transact!(self, |conn| send_test(conn, test).await),
        }
    }

    /// Requests one more attempt of a delivery. A repeated request while it waits changes nothing.
    pub fn resend_delivery(
        &self,
        account: AccountId,
        id: DeliveryId,
        at: Timestamp,
    ) -> Answer<'_, Resent> {
        transact!(self, |conn| {
            let story = some_or!(story(conn, account, id).await?, Rollback(Resent::Absent));
            let endpoint = story.delivery.endpoint_id;
            let status = endpoint_status(conn, account, endpoint).await?;
            if status != Some(EndpointStatus::Enabled) {
                return Ok(Rollback(Resent::EndpointDisabled));
            }
            ensure!(story.payload.is_some(), Rollback(Resent::BodyGone));
            insert_new! {
                conn, resends: delivery_id = id, endpoint_id = endpoint, bulk = false,
                requested_at = at
            }?;
            Ok(Commit(Resent::Asked(story.delivery)))
        })
    }

    /// Requests one more attempt of all that an endpoint has missed since `since`.
    pub fn recover_endpoint(
        &self,
        account: AccountId,
        endpoint: EndpointId,
        since: Timestamp,
        at: Timestamp,
    ) -> Answer<'_, Recovered> {
        transact!(self, |conn| {
            match endpoint_status(conn, account, endpoint).await? {
                None => return Ok(Rollback(Recovered::Absent)),
                Some(EndpointStatus::Disabled) => {
                    return Ok(Rollback(Recovered::EndpointDisabled));
                }
                Some(EndpointStatus::Enabled) => {}
            }
            let missed = deliveries::table
                .filter(deliveries::endpoint_id.eq(V(endpoint)))
                .filter(deliveries::created_at.ge(V(since)))
                .filter(
                    deliveries::state
                        .eq_any([DeliveryState::Exhausted, DeliveryState::Cancelled].map(V)),
                )
                .filter(sql::<Bool>(
                    "EXISTS (SELECT 1 FROM events e WHERE e.id = deliveries.event_id AND length(e.body) > 0)",
                ))
                .order(deliveries::id)
                .limit(RECOVERED_AT_MOST)
                .select((
                    deliveries::id,
                    deliveries::endpoint_id,
                    true.into_sql::<Bool>(),
                    V(at).into_sql::<Instant>(),
                ));
            let asked = diesel::insert_into(resends::table)
                .values(missed)
                .into_columns((
                    resends::delivery_id,
                    resends::endpoint_id,
                    resends::bulk,
                    resends::requested_at,
                ));
            let asked = UnlessThere(asked).execute(conn).await?;
            let asked = i64::try_from(asked).unwrap_or(i64::MAX);
            Ok(Commit(Recovered::Asked(asked)))
        })
    }
}
