//! The dialer: claims queued calls, holds them, keeps their leases, and ends what others have left.

mod call;
mod came_in;
mod closing;
mod legacy;
mod orphans;
mod record;
mod registry;
mod renewals;
mod watched;

use futures_util::FutureExt as _;
use offhook_boxed::boxed;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use offhook_domain::FailureReason;
use offhook_engine::{CallControl, EndRequest};
use offhook_failpoints as failpoints;
use offhook_metrics::metrics;
use offhook_storage::Account;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::{Instrument as _, field};

use crate::calls::end_queued;
use crate::counting::renamed;
use crate::leases::{renew_every, renewed_within};
use crate::workers::{Outage, Turns, every};
use crate::{
    Agents, Keys, RecordingKeeper, Result, Retention, Shared, UploadCollector, analyses, batches,
    chats, housekeeping, signals, whatsapp,
};

pub(crate) use call::{hold, persona, persona_in, with_knowledge};
pub(crate) use came_in::CameIn;
pub(crate) use closing::unanswered;
pub(crate) use record::{insist, stored};
pub(crate) use registry::{Places, Registry};

/// Backstop for a lost wake.
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// Calls of one account that are claimed together.
const CLAIMED_AT_ONCE: usize = 256;

/// Leases that are renewed by one statement.
const RENEWED_TOGETHER: usize = 64;

/// How long renewing may take its time.
const RENEWED_CALMLY: Duration = Duration::from_secs(3);

/// How often overdue calls and lost leases are looked for.
const SWEEP_EVERY: Duration = Duration::from_secs(1);

/// The worker that dials. One runs in each process.
pub struct Dialer {
    shared: Arc<Shared>,
    keys: Keys,
    agents: Agents,
}

#[boxed]
impl Dialer {
    pub(crate) fn new(shared: Arc<Shared>, keys: Keys, agents: Agents) -> Self {
        Self {
            shared,
            keys,
            agents,
        }
    }

    /// Works until `stop`; then claims nothing more, lets live calls go on for the drain time or until `hurry`, has
    /// the rest say goodbye (`interrupted`), and returns when every call has been reported.
    pub async fn run(self, stop: CancellationToken, hurry: CancellationToken) {
        let shared = || self.shared.clone();
        let sweeping = CancellationToken::new();
        // What begins nothing more once the process stops.
        let until_stop = TaskTracker::new();
        until_stop.spawn(orphans::sweep(shared(), stop.clone()).boxed());
        until_stop.spawn(self.agents.clone().keep_judging(stop.clone()).boxed());
        until_stop.spawn(analyses::keep_analysing(shared(), stop.clone()).boxed());
        until_stop.spawn(chats::end_the_silent(shared(), stop.clone()).boxed());
        until_stop.spawn(whatsapp::keep_answering(shared(), stop.clone()).boxed());
        // What goes on until the last call is reported.
        let until_end = TaskTracker::new();
        until_end.spawn(keep_leases(shared(), sweeping.clone()).boxed());
        until_end.spawn(obey_hangups(shared(), sweeping.clone()).boxed());
        until_end.spawn(housekeeping::keep(shared(), self.keys.clone(), sweeping.clone()).boxed());
        until_end.spawn(signals::exchange(shared(), sweeping.clone()).boxed());
        until_end.spawn(crate::legacy::keep_in_step(shared(), sweeping.clone()).boxed());
        until_end.spawn(batches::keep_calling(shared(), stop.clone()).boxed());
        until_end.spawn(Retention(shared()).run(sweeping.clone()).boxed());
        until_end.spawn(UploadCollector(shared()).run(sweeping.clone()).boxed());
        until_end.spawn(RecordingKeeper(shared()).run(sweeping.clone()).boxed());
        self.claim_until(&stop).await;
        until_stop.close();
        until_stop.wait().await;
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
        until_end.close();
        until_end.wait().await;
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
                let waiting = self.shared.store.queue_length().await.unwrap_or(0);
                let is_full = waiting >= self.shared.calls.queue_at_most;
                let queue_is_full = &self.shared.registry.queue_is_full;
                queue_is_full.store(is_full, Ordering::Relaxed);
            }
        }
    }

    async fn claim(&self) -> Result<()> {
        for account in self.shared.store.waiting_accounts().await? {
            self.claim_for(&account).await?;
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
        // The deadline of the dial counts from before the claim.
        let claimed_at = Instant::now();
        failpoints::hit(failpoints::DIAL_BEFORE_CLAIM);
        let claimed = shared
            .store
            .claim_calls(
                account.id,
                (live_calls, places.len()),
                shared.calls.max_queue,
                shared.node,
                (shared.clock.now(), shared.clock.steady()),
            )
            .await?;
        places.only(claimed.len());
        for call in claimed {
            let Some(claim) = call.claim_id else { continue };
            let waited = shared.clock.now().since(call.started_at);
            metrics().calls.claimed(waited);
            shared.touch(call.id);
            let control = CallControl::new();
            places.give(call.id, claim, control.clone());
            let span = tracing::info_span!("call", call = %call.id, request_id = field::Empty);
            if let Some(request) = shared.placed_by.take(call.id) {
                span.record("request_id", field::display(request));
            }
            let network = shared.network.clone();
            let held = call::hold(shared.clone(), call, claim, claimed_at, control, network);
            shared.held.spawn(held.instrument(span).boxed());
        }
        Ok(())
    }
}

/// Renews the leases of this node and of its calls, and ends the calls when that cannot be done in time.
async fn keep_leases(shared: Arc<Shared>, stop: CancellationToken) {
    let mut tick = every(renew_every());
    let mut renewed_at = Instant::now();
    let mut redis = shared.counting.redis();
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            _ = tick.tick() => {}
            // Told at once, so that the others need not wait for it.
            () = renamed(&mut redis) => {}
        }
        match renew(&shared).await {
            Ok(()) => {
                renewed_at = Instant::now();
                shared.registry.renewals.succeeded(renewed_at);
            }
            Err(error) => {
                shared.registry.renewals.failed();
                metrics().calls.renewal_failed();
                tracing::warn!(%error, "leases could not be renewed");
                tick.reset_after(Duration::from_secs(1));
                if renewed_at.elapsed() >= renewed_within() {
                    // Another node may soon take them for lost: nobody must be on the line by then.
                    shared.registry.end_all(EndRequest::Drain);
                }
            }
        }
    }
}

async fn renew(shared: &Shared) -> Result<()> {
    let now = shared.clock.now();
    let (shares, redis) = (shared.shares_everything(), shared.counting.name());
    let is_named = redis.is_some();
    let registering = shared.store.register_node(shared.node, shares, redis, now);
    let is_apart = registering.await?;
    if is_named {
        shared.counting.note(is_apart, Instant::now());
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
            // A call that has just been settled is not in the table's claims any more, nor in a moment here.
            if !kept.contains(claim) && shared.registry.end(*id, EndRequest::ClaimLost) {
                metrics().calls.lease_lost();
            }
        }
        // Thousands of leases in one go would keep requests and turns waiting.
        if began.elapsed() < RENEWED_CALMLY {
            sleep(renewing.elapsed() * 3).await;
        }
    }
    Ok(())
}

/// Ends calls whose hang-up was asked for on whatever node.
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

/// Ends queued calls that nobody dialed in time.
async fn expire(shared: &Shared) -> Result<()> {
    let patience = shared.calls.max_queue;
    let store = &shared.store;
    let overdue = store.overdue_calls(patience, shared.clock.steady()).await?;
    for call in overdue {
        end_queued(shared, &call, FailureReason::Expired).await?;
    }
    Ok(())
}
