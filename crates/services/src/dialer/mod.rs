//! The dialer: claims queued calls, runs them, renews their leases, and ends orphaned calls.

mod call;
mod came_in;
mod closing;
mod covering;
mod legacy;
mod meter;
mod orphans;
mod record;
mod registry;
mod renewals;
mod watched;

use futures_util::FutureExt as _;
use offhook_boxed::boxed;
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use offhook_domain::{AccountId, ClaimId, ConversationId};
use offhook_engine::{CallControl, EndRequest, Moment};
use offhook_failpoints as failpoints;
use offhook_metrics::metrics;
use offhook_storage::{Account, Conversation, StoreError, mint};
use parking_lot::Mutex;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;
use tracing::{Instrument as _, field};

use crate::calls::expire_queued;
use crate::leases::{renew_every, renewed_within};
use crate::redis_membership::renamed;
use crate::workers::{Outage, Turns, Workers, every};
use crate::{
    Agents, Keys, RecordingKeeper, Result, Retention, Shared, UploadCollector, analyses, batches,
    chats, clock, maintenance, signals, whatsapp,
};

pub(crate) use call::{hold, persona, persona_in, with_knowledge};
pub(crate) use came_in::CameIn;
pub(crate) use closing::unanswered;
pub(crate) use legacy::adopt as adopt_legacy;
pub(crate) use meter::Meter;
pub(crate) use record::{retry_while_unavailable, stored};
pub(crate) use registry::{Places, Registry};

/// Backstop for a lost wake-up.
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// Calls of one account that are claimed together.
const CLAIMED_AT_ONCE: usize = 256;

/// Leases renewed by one statement.
const RENEWED_TOGETHER: usize = 64;

/// How long paced renewals may take; after that, they go on without pauses.
const RENEWED_CALMLY: Duration = Duration::from_secs(3);

/// How often overdue calls and lost leases are polled.
const SWEEP_EVERY: Duration = Duration::from_secs(1);

/// The worker that dials. One runs in each process.
pub struct Dialer {
    shared: Arc<Shared>,
    keys: Keys,
    agents: Agents,
    /// Claims whose responses were lost.
    doubts: Mutex<Vec<Doubt>>,
}

/// A claim that may have been written. The calls it claimed are found by it, and no other process dials them.
struct Doubt {
    account: AccountId,
    first: ClaimId,
    most: usize,
    claimed_at: Moment,
    /// The calls found so far.
    given: HashSet<ConversationId>,
}

#[boxed]
impl Dialer {
    pub(crate) fn new(shared: Arc<Shared>, keys: Keys, agents: Agents) -> Self {
        Self {
            shared,
            keys,
            agents,
            doubts: Mutex::default(),
        }
    }

    /// Works until `stop`, then claims no more calls. Live calls continue for the drain time or until `hurry`; the rest
    /// then say goodbye (`interrupted`). Returns when every call has been reported, or before `stop` if one of its
    /// workers dies.
    pub async fn run(self, stop: CancellationToken, hurry: CancellationToken) {
        let shared = || self.shared.clone();
        let sweeping = CancellationToken::new();
        // These workers start nothing new once the process stops.
        let mut until_stop = Workers::default();
        until_stop.spawn("orphans", orphans::sweep(shared(), stop.clone()));
        until_stop.spawn("agents", self.agents.clone().keep_judging(stop.clone()));
        until_stop.spawn("analyses", analyses::keep_analysing(shared(), stop.clone()));
        until_stop.spawn(
            "silent_chats",
            chats::end_the_silent(shared(), stop.clone()),
        );
        until_stop.spawn("whatsapp", whatsapp::keep_answering(shared(), stop.clone()));
        until_stop.spawn("batches", batches::keep_calling(shared(), stop.clone()));
        // These run until the last call is reported.
        let mut until_end = Workers::default();
        let sweep = || sweeping.clone();
        until_end.spawn("clock", clock::keep(shared(), sweep()));
        until_end.spawn("leases", keep_leases(shared(), sweep()));
        until_end.spawn("hangups", obey_hangups(shared(), sweep()));
        until_end.spawn(
            "maintenance",
            maintenance::keep(shared(), self.keys.clone(), sweep()),
        );
        until_end.spawn("signals", signals::exchange(shared(), sweep()));
        until_end.spawn("legacy", crate::legacy::keep_in_step(shared(), sweep()));
        until_end.spawn("retention", Retention(shared()).run(sweep()));
        until_end.spawn("uploads", UploadCollector(shared()).run(sweep()));
        until_end.spawn("recordings", RecordingKeeper(shared()).run(sweep()));
        let lost = tokio::select! {
            biased;
            () = self.claim_until(&stop) => None,
            Some(name) = until_stop.first_lost() => Some(name),
            Some(name) = until_end.first_lost() => Some(name),
        };
        if let Some(worker) = lost {
            tracing::error!(worker, "a worker ended unexpectedly");
            return;
        }
        until_stop.all_ended().await;
        let held = &self.shared.held;
        held.close();
        tokio::select! {
            () = held.wait() => {}
            () = tokio::time::sleep(self.shared.calls.drain) => {}
            () = hurry.cancelled() => {}
        }
        self.shared.registry.end_all(EndRequest::Drain);
        held.wait().await;
        self.shared.chats.drain(&hurry).await;
        sweeping.cancel();
        until_end.all_ended().await;
        if self
            .shared
            .store
            .leave_node(self.shared.node)
            .await
            .is_err()
        {
            tracing::warn!("this node could not be signed off; its lease will run out");
        }
    }

    async fn claim_until(&self, stop: &CancellationToken) {
        let mut turns = Turns::new(LOOK_EVERY, stop);
        let mut full_look = Instant::now();
        let mut outage = Outage::default();
        while turns.next_or(&self.shared.wakes.dialer).await {
            if outage.note(self.claim().await, "queued calls cannot be claimed") {
                sleep(LOOK_EVERY).await;
            }
            if full_look.elapsed() >= SWEEP_EVERY {
                full_look = Instant::now();
                let waiting = self.shared.store.queue_lengths().await.unwrap_or_default();
                let most = self.shared.calls.queue_at_most;
                self.shared.registry.queue.judge(&waiting, most);
            }
        }
    }

    async fn claim(&self) -> Result<()> {
        self.settle_doubts().await?;
        for account in self.shared.store.waiting_accounts().await? {
            match self.claim_for(&account).await {
                // A fault in one account's calls must not block other accounts.
                Err(error) if !error.may_pass() => {
                    tracing::error!(%error, account = %account.id, "queued calls cannot be claimed");
                }
                claimed => claimed?,
            }
        }
        Ok(())
    }

    async fn claim_for(&self, account: &Account) -> Result<()> {
        let shared = &self.shared;
        let most = shared.calls.sessions_at_most;
        let Some(mut places) = shared.registry.keep(CLAIMED_AT_ONCE, most) else {
            return Ok(());
        };
        let live_calls = shared.plans.terms(account.plan).live_calls;
        // The dial deadline counts from before the claim.
        let claimed_at = Moment::now();
        failpoints::hit(failpoints::DIAL_BEFORE_CLAIM);
        let (now, most) = (shared.clock.now(), places.len());
        let first = mint(now);
        let claimed = shared
            .store
            .claim_calls(
                account.id,
                (live_calls, most),
                shared.calls.max_queue,
                (shared.node, first),
                (now, shared.clock.steady()),
            )
            .await;
        if let Err(StoreError::UnknownCommit(_)) = &claimed {
            self.doubts.lock().push(Doubt {
                account: account.id,
                first,
                most,
                claimed_at,
                given: HashSet::new(),
            });
        }
        let claimed = claimed?;
        places.only(claimed.len());
        for call in claimed {
            self.hold(call, claimed_at, |id, claim, control| {
                places.give(id, claim, control)
            });
        }
        Ok(())
    }

    /// Runs the calls claimed by statements whose responses were lost. Such a statement may execute late, so it is
    /// checked for as long as its calls may be dialed.
    async fn settle_doubts(&self) -> Result<()> {
        let mut doubts = std::mem::take(&mut *self.doubts.lock());
        doubts.retain(|doubt| doubt.claimed_at.elapsed() < call::DIAL_WITHIN);
        let mut looked = Ok(());
        for doubt in &mut doubts {
            let (shared, by) = (&self.shared, (self.shared.node, doubt.first));
            let claimed = shared.store.calls_claimed(doubt.account, by, doubt.most);
            let claimed = match claimed.await {
                Ok(claimed) => claimed,
                Err(error) => {
                    looked = Err(error);
                    break;
                }
            };
            for call in claimed {
                // A call is dialed at most once, whatever happens to it.
                if doubt.given.insert(call.id) {
                    self.hold(call, doubt.claimed_at, |id, claim, control| {
                        shared.registry.insert(id, claim, control);
                    });
                }
            }
        }
        self.doubts.lock().extend(doubts);
        looked
    }

    fn hold(
        &self,
        call: Conversation,
        claimed_at: Moment,
        register: impl FnOnce(ConversationId, ClaimId, CallControl),
    ) {
        let shared = &self.shared;
        let Some(claim) = call.claim_id else { return };
        let waited = shared.clock.now().since(call.started_at);
        metrics().calls.claimed(waited);
        shared.touch(call.id);
        let control = CallControl::new();
        register(call.id, claim, control.clone());
        let span = tracing::info_span!("call", call = %call.id, request_id = field::Empty);
        if let Some(request) = shared.placed_by.take(call.id) {
            span.record("request_id", field::display(request));
        }
        let held = call::hold(shared.clone(), call, claim, claimed_at, control, None);
        shared.held.spawn(held.instrument(span).boxed());
    }
}

/// Renews the leases of this node and of its calls, and ends the calls if that is not possible in time.
async fn keep_leases(shared: Arc<Shared>, stop: CancellationToken) {
    let mut tick = every(renew_every());
    let mut renewed_at = Moment::now();
    let mut redis = shared.redis_membership.redis();
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            _ = tick.tick() => {}
            // Reported at once, so that the others need not wait for it.
            () = renamed(&mut redis) => {}
        }
        match renew(&shared).await {
            Ok(()) => {
                renewed_at = Moment::now();
                shared.registry.renewals.succeeded(Instant::now());
            }
            Err(error) => {
                shared.registry.renewals.failed();
                metrics().calls.renewal_failed();
                tracing::warn!(%error, "leases could not be renewed");
                tick.reset_after(Duration::from_secs(1));
                if renewed_at.elapsed() >= renewed_within() {
                    // Another node may soon consider the leases lost. By then, no call may be live here.
                    shared.registry.end_all(EndRequest::Drain);
                }
            }
        }
    }
}

async fn renew(shared: &Shared) -> Result<()> {
    let now = shared.clock.now();
    let (shares, redis) = (shared.shares_everything(), shared.redis_membership.name());
    let is_named = redis.is_some();
    let registering = shared.store.register_node(shared.node, shares, redis, now);
    let is_apart = registering.await?;
    if is_named {
        shared.redis_membership.note(is_apart, Instant::now());
    }
    let held = shared.registry.renewable();
    if held.is_empty() {
        return Ok(());
    }
    let began = Instant::now();
    for some in held.chunks(RENEWED_TOGETHER) {
        let renewing = Instant::now();
        let kept = shared.store.renew_claims(some).await?;
        for (id, claim) in some {
            // A call that was just settled no longer has a claim in the table, and will shortly leave the registry.
            if !kept.contains(claim) && shared.registry.end(*id, EndRequest::ClaimLost) {
                metrics().calls.lease_lost();
            }
        }
        // Renewing thousands of leases in one go would delay requests and turns.
        if began.elapsed() < RENEWED_CALMLY {
            sleep(renewing.elapsed() * 3).await;
        }
    }
    Ok(())
}

/// Ends calls whose hangup was requested on any node.
async fn obey_hangups(shared: Arc<Shared>, stop: CancellationToken) {
    let mut turns = Turns::new(shared.calls.looks.hangups, &stop);
    while turns.next().await {
        if shared.registry.len() == 0 {
            continue;
        }
        // An outage passes; the request stays in the row.
        for id in shared.store.hangups(shared.node).await.unwrap_or_default() {
            shared.registry.end(id, EndRequest::ApiHangup);
        }
    }
}

/// Ends queued calls that were not dialed in time. One that cannot be ended does not block the others.
async fn expire(shared: &Shared) -> Result<()> {
    let patience = shared.calls.max_queue;
    let store = &shared.store;
    let overdue = store.overdue_calls(patience, shared.clock.steady()).await?;
    for (account, id) in overdue {
        match expire_queued(shared, account, id).await {
            Err(error) if !error.may_pass() => {
                tracing::error!(%error, call = %id, "an overdue call cannot be ended");
            }
            ended => ended?,
        }
    }
    Ok(())
}
