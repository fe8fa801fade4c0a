//! An account that is ready to call.

use std::time::Duration;

use futures_util::future::{BoxFuture, join_all};
use offhook_domain::{
    AccountId, AgentId, AgentStatus, CallOutcome, CallState, Channel, ClaimId, ConversationId,
    Credits, DialRule, E164, EndpointId, EventType, FailureReason, KeyId, NodeId, Plan, Price,
    Runtime, Scopes, TerminationReason, Timestamp,
};
use offhook_storage::{
    Account, Agent, ApiKey, CallEnd, Candidate, Conversation, ConversationFilter, ConversationView,
    DialFacts, Dialing, Endpoint, EndpointStatus, Fenced, IdempotencyClaim, NewAgent, NewApiKey,
    NewCall, NewChatSession, NewConversation, NewEvent, NewLedgerEntry, NewTurn, PageKey,
    PhoneNumber, Placed, Settlement, Store, StoreError, StoredAnswer, Tx, Wallet, mint,
};
use offhook_testkit::ManualClock;

pub(crate) const T0: Timestamp = ManualClock::START;
pub(crate) const MINUTE: Duration = Duration::from_secs(60);
pub(crate) const CUSTOMER: &str = "+5215512345678";
pub(crate) const OURS: &str = "+15005550100";
pub(crate) const OPERATION: &str = "calls.place";

/// The start plus `seconds`.
pub(crate) fn after(seconds: u64) -> Timestamp {
    T0.plus(Duration::from_secs(seconds))
}

pub(crate) fn phone(number: &str) -> E164 {
    number.parse().unwrap()
}

pub(crate) fn node() -> NodeId {
    mint(T0)
}

/// Advances the clock of leases and keys by `seconds`; returns the process's own time.
pub(crate) fn pass(store: &Store, seconds: u64) -> Timestamp {
    store.turn_lease_clock(i64::try_from(seconds).unwrap() * 1_000_000);
    after(seconds)
}

/// Runs queries in one transaction.
pub(crate) async fn within<T, F>(store: &Store, work: F) -> T
where
    T: Send + 'static,
    F: for<'c> FnOnce(Tx<'c>) -> BoxFuture<'c, Result<T, StoreError>> + Send + 'static,
{
    store.transaction(work).await.unwrap()
}

/// Gives a proved number to its account.
pub(crate) async fn add_number(store: &Store, number: PhoneNumber) -> PhoneNumber {
    let add = within(store, move |mut tx| {
        Box::pin(async move {
            if let Some(proven) = tx.prove_number(&number).await? {
                return Ok(proven);
            }
            assert!(tx.insert_number(number.clone()).await?);
            Ok(number)
        })
    });
    add.await
}

/// Reserves more credits for a call; `false` if wallet or budget cannot cover them.
pub(crate) async fn top_up(store: &Store, id: ConversationId, credits: Credits) -> bool {
    let reserved = store.transaction(move |mut tx| {
        Box::pin(async move {
            match tx.reserve_more(id, credits, T0).await? {
                true => Ok(()),
                false => Err(refused()),
            }
        })
    });
    reserved.await.is_ok()
}

/// The results of `many` concurrent attempts.
pub(crate) async fn race<T, F>(many: usize, begin: impl Fn(usize) -> F) -> Vec<T>
where
    T: Send + 'static,
    F: Future<Output = T> + Send + 'static,
{
    let racing: Vec<_> = (0..many).map(|at| tokio::spawn(begin(at))).collect();
    let done = join_all(racing).await;
    done.into_iter().map(Result::unwrap).collect()
}

/// Every row of a list, page by page of `limit`; `read` returns one more row if there is a next page.
pub(crate) async fn paged<T, K>(
    limit: usize,
    key: impl Fn(&T) -> K,
    mut read: impl AsyncFnMut(Option<K>) -> Result<Vec<T>, StoreError>,
) -> Vec<T> {
    let (mut seen, mut place) = (Vec::new(), None);
    loop {
        let mut page = read(place).await.unwrap();
        assert!(page.len() <= limit + 1);
        let more = page.len() > limit;
        page.truncate(limit);
        place = page.last().map(&key);
        seen.extend(page);
        if !more {
            return seen;
        }
    }
}

#[derive(Clone)]
pub(crate) struct Shop {
    pub(crate) store: Store,
    pub(crate) account: AccountId,
    pub(crate) agent: AgentId,
    pub(crate) key: KeyId,
}

impl Shop {
    pub(crate) async fn new(store: &Store) -> Self {
        Self::with_credits(store, 1_000).await
    }

    pub(crate) async fn with_credits(store: &Store, credits: Credits) -> Self {
        let account: AccountId = mint(T0);
        let row = Account {
            id: account,
            name: "Shop".to_owned(),
            plan: Plan::Pro,
            engine_module: None,
            created_at: T0,
            dialing: Dialing::default(),
            has_own_keys: false,
        };
        let first = (credits > 0).then(|| entry("manual_credit", credits));
        store.create_account(row, first, None).await.unwrap();
        let key = mint(T0);
        store.create_key(new_key(account, key)).await.unwrap();
        let agent = new_agent(account, "Ana");
        let id = agent.agent.id;
        store.create_agent(agent).await.unwrap();
        Self {
            store: store.clone(),
            account,
            agent: id,
            key,
        }
    }

    /// The same account on another node.
    pub(crate) fn on(&self, store: &Store) -> Self {
        Self {
            store: store.clone(),
            ..self.clone()
        }
    }

    /// A call that reserves ten credits.
    pub(crate) fn call(&self, at: Timestamp) -> NewCall {
        NewCall {
            id: mint(at),
            account_id: self.account,
            agent_id: self.agent,
            agent_ref: self.agent.to_string(),
            agent_version: 1,
            runtime: Runtime::Engine,
            key_id: Some(self.key),
            key_budget: None,
            from: phone(OURS),
            to: phone(CUSTOMER),
            metadata: r#"{"z": 1.50, "a": 1E3}"#.to_owned(),
            price: Price::from_millicredits_per_minute(1_000),
            reserve: 10,
            at,
            steady: at,
            event: Some(event(EventType::CallInitiated, at)),
            simulated: false,
            consent: None,
            campaign: None,
            idempotency: None,
        }
    }

    pub(crate) fn keyed_call(&self, key: &str, fingerprint: u8, at: Timestamp) -> NewCall {
        let mut call = self.call(at);
        call.idempotency = Some(IdempotencyClaim {
            operation: OPERATION,
            key: key.to_owned(),
            answer: answer(&call, fingerprint),
            steady: at,
        });
        call
    }

    pub(crate) async fn place(&self, at: Timestamp) -> ConversationId {
        let call = self.call(at);
        let id = call.id;
        let placed = self.store.place_call(call).await.unwrap();
        assert!(matches!(placed, Placed::Accepted(_)), "{placed:?}");
        id
    }

    pub(crate) async fn claim_at(
        &self,
        live: u32,
        node: NodeId,
        now: Timestamp,
    ) -> Vec<Conversation> {
        let limits = (live, 100);
        self.store
            .claim_calls(
                self.account,
                limits,
                2 * MINUTE,
                (node, offhook_storage::mint(now)),
                (now, now),
                nobody_refuses,
            )
            .await
            .unwrap()
            .calls
    }

    /// Places a call and claims it.
    pub(crate) async fn dialing(&self, node: NodeId) -> (ConversationId, ClaimId) {
        let id = self.place(T0).await;
        let claimed = self.claim_at(1_000, node, T0).await;
        let call = claimed.into_iter().find(|call| call.id == id).unwrap();
        (id, call.claim_id.unwrap())
    }

    pub(crate) async fn live(&self, node: NodeId) -> (ConversationId, ClaimId) {
        let (id, claim) = self.dialing(node).await;
        let answered = self
            .store
            .call_answered(id, claim, after(3), None)
            .await
            .unwrap();
        assert_eq!(answered, Fenced::Done);
        (id, claim)
    }

    pub(crate) async fn closing(&self, node: NodeId) -> (ConversationId, ClaimId) {
        let (id, claim) = self.live(node).await;
        let closed = self.store.close_call(id, claim, end()).await.unwrap();
        assert_eq!(closed, Fenced::Done);
        (id, claim)
    }

    /// A conversation to begin, for ten credits at a credit per minute.
    pub(crate) fn beginning(&self, channel: Channel, at: Timestamp) -> NewConversation {
        NewConversation {
            id: mint(at),
            account_id: self.account,
            agent_id: self.agent,
            agent_version: 1,
            channel,
            from: None,
            to: None,
            metadata: r#"{"page": 1.50}"#.to_owned(),
            price: Price::from_millicredits_per_minute(1_000),
            reserve: 10,
            dialog: None,
            at,
            steady: at,
        }
    }

    /// Begins a spoken conversation, as one of `live_calls` at most.
    pub(crate) async fn begin_spoken(
        &self,
        new: NewConversation,
        (live_calls, node): (i64, NodeId),
    ) -> Option<Conversation> {
        let begun = self.store.transaction(move |mut tx| {
            Box::pin(async move {
                let now = tx.lease_clock().await?;
                let live = tx.lock_live_calls(new.account_id).await?;
                if live >= live_calls || !tx.begin(&new).await? {
                    return Err(refused());
                }
                let claim = (new.id, offhook_storage::mint(new.at));
                tx.claim_begun(claim, (new.at, now), node).await
            })
        });
        begun.await.ok()
    }

    /// Begins a text conversation with a session of this origin, whose token's digest is the conversation's id.
    pub(crate) async fn begin_text(&self, new: NewConversation, origin: &str) -> bool {
        let session = NewChatSession {
            origin: origin.to_owned(),
            token_digest: new.id.uuid().as_bytes().to_vec(),
            token_expires_at: after(14_400),
            held_day: new.at.utc_day(),
            first_message: Some("Hi.".to_owned()),
        };
        let begun = self.store.transaction(move |mut tx| {
            Box::pin(async move {
                match tx.begin(&new).await? {
                    true => tx.open_session(&new, session).await,
                    false => Err(refused()),
                }
            })
        });
        begun.await.is_ok()
    }

    pub(crate) async fn conversation(&self, id: ConversationId) -> Conversation {
        let view = self.store.conversation(self.account, id, None).await;
        view.unwrap().unwrap().conversation
    }

    /// The balance and the reserved credits.
    pub(crate) async fn wallet(&self) -> (Credits, Credits) {
        let wallet = self.store.wallet(self.account).await.unwrap().unwrap();
        let Wallet {
            balance, reserved, ..
        } = wallet;
        (balance, reserved)
    }

    pub(crate) async fn endpoint(&self) -> EndpointId {
        let endpoint = new_endpoint(self.account, T0);
        let id = endpoint.id;
        let made = self
            .store
            .create_endpoint(endpoint, "whsec_one", "whsec_o", 20);
        assert!(made.await.unwrap());
        id
    }

    /// Every id that matches the filter, page by page of `limit`.
    pub(crate) async fn every(
        &self,
        filter: &ConversationFilter,
        limit: i64,
    ) -> Vec<ConversationId> {
        let key = |view: &ConversationView| (view.conversation.started_at, view.conversation.id);
        let read = async |place| {
            self.store
                .conversations(self.account, filter.clone(), place, limit)
                .await
        };
        let all = paged(usize::try_from(limit).unwrap(), key, read).await;
        all.iter().map(|view| view.conversation.id).collect()
    }

    /// One page's ids, and the start of the next.
    pub(crate) async fn page(
        &self,
        filter: &ConversationFilter,
        place: Option<PageKey<ConversationId>>,
        limit: i64,
    ) -> (Vec<ConversationId>, Option<PageKey<ConversationId>>) {
        let page = self
            .store
            .conversations(self.account, filter.clone(), place, limit)
            .await
            .unwrap();
        let limit = usize::try_from(limit).unwrap();
        assert!(page.len() <= limit + 1);
        let more = page.len() > limit;
        let rows: Vec<_> = page
            .into_iter()
            .take(limit)
            .map(|v| v.conversation)
            .collect();
        let last = rows.last().map(|row| (row.started_at, row.id));
        let ids = rows.into_iter().map(|row| row.id).collect();
        (ids, last.filter(|_| more))
    }
}

/// An error that rolls a transaction back.
fn refused() -> StoreError {
    StoreError::Internal("refused".to_owned())
}

pub(crate) fn new_key(account: AccountId, id: KeyId) -> NewApiKey {
    let mut digest = [0; 32];
    digest[..16].copy_from_slice(id.uuid().as_bytes());
    NewApiKey {
        key: ApiKey {
            id,
            account_id: account,
            name: "server".to_owned(),
            prefix: "service_live_01234567".to_owned(),
            scopes: Scopes::all(),
            read_only: false,
            monthly_credit_budget: None,
            created_at: T0,
            expires_at: None,
            last_used_at: None,
            revoked_at: None,
        },
        digest,
    }
}

pub(crate) fn new_agent(account: AccountId, name: &str) -> NewAgent {
    NewAgent {
        agent: Agent {
            id: mint(T0),
            account_id: account,
            runtime: Runtime::Engine,
            name: name.to_owned(),
            language: "es-MX".to_owned(),
            status: AgentStatus::Active,
            provider_agent_id: None,
            legacy_config: None,
            head_version: 1,
            published_version: 1,
            created_at: T0,
            updated_at: T0,
        },
        name_folded: name.to_lowercase(),
        config: Some(r#"{"version": 1}"#.to_owned()),
    }
}

pub(crate) fn new_endpoint(account: AccountId, at: Timestamp) -> Endpoint {
    Endpoint {
        id: mint(at),
        account_id: account,
        url: "https://hooks.example.com/in".to_owned(),
        description: None,
        status: EndpointStatus::Enabled,
        disabled_reason: None,
        events: None,
        created_at: at,
        updated_at: at,
    }
}

pub(crate) fn entry(kind: &str, amount: Credits) -> NewLedgerEntry {
    NewLedgerEntry {
        kind: kind.parse().unwrap(),
        amount,
        description: "for the test".to_owned(),
        at: T0,
    }
}

pub(crate) fn event(kind: EventType, at: Timestamp) -> NewEvent {
    NewEvent {
        id: mint(at),
        kind,
        body: format!(r#"{{"type":"{kind}"}}"#).into_bytes(),
    }
}

pub(crate) fn answer(call: &NewCall, fingerprint: u8) -> StoredAnswer {
    StoredAnswer {
        fingerprint: vec![fingerprint; 32],
        status: 201,
        location: format!("/v1/calls/call_{}", call.id),
        body: format!(r#"{{"id":"call_{}"}}"#, call.id).into_bytes(),
    }
}

/// Answered, and hung up by the agent after 42 seconds.
pub(crate) fn end() -> CallEnd {
    CallEnd {
        outcome: CallOutcome::Completed(TerminationReason::AgentHangup),
        ended_at: after(45),
        duration_seconds: 42,
        latency: Some((2, 300, 450)),
        signaled: Default::default(),
    }
}

pub(crate) fn settlement(state: CallState, credits: Credits) -> Settlement {
    let kind = match state {
        CallState::Completed => EventType::CallCompleted,
        _ => EventType::CallFailed,
    };
    Settlement {
        state,
        summary: "They agreed.".to_owned(),
        credits,
        description: "Call".to_owned(),
        at: after(46),
        event: event(kind, after(46)),
    }
}

pub(crate) fn turn(role: &'static str, text: &str) -> NewTurn {
    NewTurn {
        role,
        text: text.to_owned(),
        started_at: after(5),
        duration_ms: 1_200,
        interrupted: false,
        latency: None,
        source: None,
        seq: None,
    }
}

pub(crate) const CANCELLED: (FailureReason, Option<DialRule>) = (FailureReason::Cancelled, None);

/// Judges calls of an account without rules.
pub(crate) fn nobody_refuses(
    _: &Dialing,
    _: DialFacts,
    calls: &[Candidate],
    _: Timestamp,
) -> offhook_storage::Result<Vec<Option<DialRule>>> {
    Ok(vec![None; calls.len()])
}
