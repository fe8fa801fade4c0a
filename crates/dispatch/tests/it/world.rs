//! An account with endpoints and events, and dispatchers to start and stop.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use futures_util::{StreamExt, stream};
use offhook_dispatch::{DispatchConfig, Dispatcher};
use offhook_domain::{
    AccountId, AgentId, AgentStatus, CallState, Clock, ConversationId, DeliveryId, EndpointId,
    EventType, FailureReason, KeyId, Plan, Price, Runtime, Scopes, Timestamp,
};
use offhook_signing::SigningSecret;
use offhook_storage::{
    Account, Agent, ApiKey, DeliveryFilter, DeliveryState, DeliveryStory, Endpoint, EndpointChange,
    EndpointStatus, NewAgent, NewApiKey, NewCall, NewEvent, Placed, Resent, Settlement, Store,
    mint,
};
use offhook_testkit::{Given, ManualClock, TestDatabase};
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// Longer than a lease.
const LEASE_AND_MORE: i64 = 46_000_000;

/// Attempts end when the test says so, not at their deadline.
const NO_DEADLINE: Duration = Duration::from_secs(600);

pub(crate) struct World {
    pub(crate) store: Store,
    pub(crate) clock: ManualClock,
    pub(crate) account: AccountId,
    wake: Arc<Notify>,
    changes: Arc<AtomicU64>,
    agent: AgentId,
    key: KeyId,
    lease_clock: AtomicI64,
}

impl Given for World {
    async fn given(database: &TestDatabase) -> Self {
        let world = Self {
            store: database.open().await,
            clock: ManualClock::default(),
            account: mint(ManualClock::START),
            wake: Arc::default(),
            changes: Arc::default(),
            agent: mint(ManualClock::START),
            key: mint(ManualClock::START),
            lease_clock: AtomicI64::new(0),
        };
        world.create().await;
        world
    }
}

impl World {
    async fn create(&self) {
        let at = self.clock.now();
        let account = Account {
            id: self.account,
            name: "Shop".to_owned(),
            plan: Plan::Pro,
            engine_module: None,
            created_at: at,
            dialing: offhook_storage::Dialing::default(),
            has_own_keys: false,
        };
        self.store
            .create_account(account, None, None)
            .await
            .unwrap();
        let key = ApiKey {
            id: self.key,
            account_id: self.account,
            name: "server".to_owned(),
            prefix: "service_live_01234567".to_owned(),
            scopes: Scopes::all(),
            read_only: false,
            monthly_credit_budget: None,
            created_at: at,
            expires_at: None,
            last_used_at: None,
            revoked_at: None,
        };
        let key = NewApiKey {
            key,
            digest: [1; 32],
        };
        self.store.create_key(key).await.unwrap();
        let agent = Agent {
            id: self.agent,
            account_id: self.account,
            runtime: Runtime::Engine,
            name: "Ana".to_owned(),
            language: "es-MX".to_owned(),
            status: AgentStatus::Active,
            provider_agent_id: None,
            legacy_config: None,
            head_version: 1,
            published_version: 1,
            created_at: at,
            updated_at: at,
        };
        let agent = NewAgent {
            agent,
            name_folded: "ana".to_owned(),
            config: Some("{}".to_owned()),
        };
        self.store.create_agent(agent).await.unwrap();
    }

    pub(crate) async fn endpoint(&self, url: &str) -> EndpointId {
        self.endpoint_with_secret(url).await.0
    }

    pub(crate) async fn endpoint_with_secret(&self, url: &str) -> (EndpointId, SigningSecret) {
        let at = self.clock.now();
        let endpoint = Endpoint {
            id: mint(at),
            account_id: self.account,
            url: url.to_owned(),
            description: None,
            status: EndpointStatus::Enabled,
            disabled_reason: None,
            created_at: at,
            updated_at: at,
            events: None,
        };
        let (id, secret) = (endpoint.id, secret(1));
        let made = self
            .store
            .create_endpoint(endpoint, secret.expose(), secret.prefix(), 20);
        assert!(made.await.unwrap());
        (id, secret)
    }

    /// An event for a single endpoint.
    pub(crate) async fn event(&self, endpoint: EndpointId) -> DeliveryId {
        let at = self.clock.now();
        let event = event(EventType::CallInitiated, at);
        let sent = self
            .store
            .send_test_event(self.account, endpoint, event, at)
            .await;
        self.wake.notify_one();
        match sent.unwrap() {
            Resent::Asked(delivery) => delivery.id,
            other => panic!("{other:?}"),
        }
    }

    pub(crate) async fn events(&self, endpoint: EndpointId, count: usize) -> Vec<DeliveryId> {
        // Only a few at once: they share the store's connections with the dispatcher.
        let events = stream::iter(0..count).map(|_| self.event(endpoint));
        events.buffered(8).collect().await
    }

    /// `call.initiated`.
    pub(crate) async fn place_call(&self) -> ConversationId {
        let at = self.clock.now();
        let call = NewCall {
            id: mint(at),
            account_id: self.account,
            agent_id: self.agent,
            agent_ref: self.agent.to_string(),
            agent_version: 1,
            runtime: Runtime::Engine,
            key_id: Some(self.key),
            key_budget: None,
            from: "+15005550100".parse().unwrap(),
            to: "+5215512345678".parse().unwrap(),
            metadata: "{}".to_owned(),
            price: Price::from_millicredits_per_minute(0),
            reserve: 0,
            at,
            steady: at,
            event: Some(event(EventType::CallInitiated, at)),
            simulated: false,
            consent: None,
            campaign: None,
            idempotency: None,
        };
        let id = call.id;
        let placed = self.store.place_call(call).await.unwrap();
        assert!(matches!(placed, Placed::Accepted(_)), "{placed:?}");
        self.wake.notify_one();
        id
    }

    /// `call.failed`.
    pub(crate) async fn end_call(&self, id: ConversationId) {
        let at = self.clock.now();
        let settlement = Settlement {
            state: CallState::Failed,
            summary: String::new(),
            credits: 0,
            description: "Call".to_owned(),
            at,
            event: event(EventType::CallFailed, at),
        };
        let ended = self
            .store
            .end_queued_call(
                (self.account, id),
                (FailureReason::Cancelled, None),
                settlement,
            )
            .await;
        assert!(ended.unwrap().is_some());
        self.wake.notify_one();
    }

    /// The account's only delivery of this type.
    pub(crate) async fn delivery_of(&self, kind: EventType) -> DeliveryId {
        let filter = DeliveryFilter {
            kind: Some(kind),
            ..DeliveryFilter::default()
        };
        let page = self.store.deliveries(self.account, filter, None, 2);
        let page = page.await.unwrap();
        assert_eq!(page.len(), 1);
        page[0].id
    }

    /// Changes an endpoint as the service does, and counts the change.
    pub(crate) async fn set_status(&self, endpoint: EndpointId, status: EndpointStatus) {
        let change = EndpointChange {
            status: Some(status),
            ..EndpointChange::default()
        };
        let now = self.clock.now();
        let changed = self
            .store
            .change_endpoint(self.account, endpoint, change, now);
        assert!(changed.await.unwrap().is_some());
        self.count_change();
    }

    pub(crate) fn count_change(&self) {
        self.changes.fetch_add(1, Ordering::SeqCst);
    }

    /// Waits until the endpoint is disabled; returns the reason.
    pub(crate) async fn until_disabled(&self, endpoint: EndpointId) -> Option<String> {
        let mut look = tokio::time::interval(Duration::from_millis(5));
        loop {
            look.tick().await;
            let view = self.store.endpoint(self.account, endpoint).await;
            let endpoint = view.unwrap().unwrap().endpoint;
            if endpoint.status == EndpointStatus::Disabled {
                return endpoint.disabled_reason;
            }
        }
    }

    pub(crate) fn wake(&self) {
        self.wake.notify_one();
    }

    /// Advances the clock by which deliveries fall due, and wakes the dispatcher.
    pub(crate) fn pass(&self, time: Duration) {
        self.clock.advance(time);
        if self.store.is_embedded() {
            self.wake();
        } else {
            self.turn(i64::try_from(time.as_micros()).unwrap());
        }
    }

    /// Expires every lease.
    pub(crate) fn end_leases(&self) {
        self.turn(LEASE_AND_MORE);
    }

    /// Advances the clock of leases: on PostgreSQL, the database's.
    fn turn(&self, micros: i64) {
        let turned = self.lease_clock.fetch_add(micros, Ordering::SeqCst) + micros;
        self.store.turn_lease_clock(turned);
        self.wake();
    }

    /// Steps the machine's clock, and wakes the dispatcher.
    pub(crate) fn step_clock(&self, micros: i64) {
        self.clock.step(micros);
        self.wake();
    }

    /// Checks when the delivery's next attempt is due: exactly, if the clock is the test's own.
    pub(crate) fn assert_due(&self, story: &DeliveryStory, due: Timestamp) {
        let next = story.delivery.next_attempt_at.unwrap();
        if self.store.is_embedded() {
            assert_eq!(next, due);
        }
    }

    pub(crate) fn config(&self) -> DispatchConfig {
        DispatchConfig {
            jitter: false,
            changes: self.changes.clone(),
            ..DispatchConfig::new(
                self.store.clone(),
                Arc::new(self.clock.clone()),
                crate::it::sender::sender(NO_DEADLINE),
                self.wake.clone(),
            )
        }
    }

    pub(crate) fn dispatch(&self) -> Dispatching {
        Dispatching::start(self.config())
    }

    pub(crate) async fn story(&self, id: DeliveryId) -> DeliveryStory {
        let story = self.store.delivery(self.account, id).await;
        story.unwrap().unwrap()
    }

    /// Waits until the delivery satisfies `wish`.
    pub(crate) async fn until(
        &self,
        id: DeliveryId,
        wish: impl Fn(&DeliveryStory) -> bool,
    ) -> DeliveryStory {
        // The database cannot notify of a changed row.
        let mut look = tokio::time::interval(Duration::from_millis(5));
        let mut story = self.story(id).await;
        for _ in 0..6_000 {
            if wish(&story) {
                return story;
            }
            look.tick().await;
            story = self.story(id).await;
        }
        panic!("{:?} {:?}", story.delivery, story.attempts);
    }

    pub(crate) async fn until_state(&self, id: DeliveryId, state: DeliveryState) -> DeliveryStory {
        self.until(id, |story| story.delivery.state == state).await
    }

    pub(crate) async fn all_until_state(&self, ids: &[DeliveryId], state: DeliveryState) {
        for id in ids {
            self.until_state(*id, state).await;
        }
    }
}

/// A running dispatcher.
pub(crate) struct Dispatching {
    stop: CancellationToken,
    task: JoinHandle<()>,
}

impl Dispatching {
    pub(crate) fn start(config: DispatchConfig) -> Self {
        let stop = CancellationToken::new();
        let task = tokio::spawn(Dispatcher::new(config).run(stop.clone()));
        Self { stop, task }
    }

    /// Ends it like a killed process.
    pub(crate) async fn crash(self) {
        self.task.abort();
        assert!(self.task.await.unwrap_err().is_cancelled());
    }

    pub(crate) fn ask_to_stop(&self) {
        self.stop.cancel();
    }

    pub(crate) async fn stop(self) {
        self.stop.cancel();
        self.task.await.unwrap();
    }
}

pub(crate) fn secret(byte: u8) -> SigningSecret {
    // 32 bytes in base64url.
    let encoded = format!(
        "{}A",
        "BCDE".repeat(10) + ["AA", "AB", "AC"][usize::from(byte % 3)]
    );
    format!("whsec_{encoded}").parse().unwrap()
}

fn event(kind: EventType, at: Timestamp) -> NewEvent {
    NewEvent {
        id: mint(at),
        kind,
        body: format!(r#"{{"type":"{kind}"}}"#).into_bytes(),
    }
}
