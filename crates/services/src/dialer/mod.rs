//! The dialer: claims queued calls, runs them, renews their leases, and ends orphaned calls.

mod call;
mod came_in;
mod closing;
mod context;
mod covering;
mod hangups;
mod leases;
mod legacy;
mod meter;
mod numbers;
mod orphans;
mod record;
mod registry;
mod renewals;
mod watched;

use futures_util::FutureExt as _;
use std::collections::HashSet;

use offhook_engine::{CallControl, EndRequest, Moment};
use offhook_metrics::metrics;
use parking_lot::Mutex;
use tokio::time::{Instant, sleep};
use tracing::{Instrument as _, field};

use crate::Result;
use crate::calls::end_undialed;
use crate::gate::judge_claims;
use crate::prelude::*;
use crate::workers::{Outage, Turns};

pub(crate) use call::hold;
pub(crate) use came_in::CameIn;
pub(crate) use closing::unanswered;
pub(crate) use hangups::obey_hangups;
pub(crate) use leases::keep_leases;
pub(crate) use legacy::adopt as adopt_legacy;
pub(crate) use meter::Meter;
pub(crate) use numbers::NO_NUMBER;
pub(crate) use orphans::sweep;
pub(crate) use registry::{Places, Registry};

/// Backstop for a lost wake-up.
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// Calls of one account that are claimed together.
const CLAIMED_AT_ONCE: usize = 256;

/// How often overdue calls and lost leases are polled.
const SWEEP_EVERY: Duration = Duration::from_secs(1);

/// The worker that dials. One runs in each process.
pub(crate) struct Dialer {
    runner: Arc<Runner>,
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

impl Dialer {
    pub(crate) fn new(runner: Arc<Runner>) -> Self {
        Self {
            runner,
            doubts: Mutex::default(),
        }
    }

    /// Claims queued calls until `stop`.
    pub(crate) async fn run(self, stop: CancellationToken) {
        let mut turns = Turns::new(LOOK_EVERY, &stop);
        let mut full_look = Instant::now();
        let mut outage = Outage::default();
        while turns.next_or(&self.runner.wakes.dialer).await {
            if outage.note(self.claim().await, "queued calls cannot be claimed") {
                sleep(LOOK_EVERY).await;
            }
            if full_look.elapsed() >= SWEEP_EVERY {
                full_look = Instant::now();
                let waiting = self.runner.store.queue_lengths().await.unwrap_or_default();
                let most = self.runner.calls.queue_at_most;
                self.runner.live.registry.queue.judge(&waiting, most);
            }
        }
    }

    async fn claim(&self) -> Result<()> {
        self.settle_doubts().await?;
        for account in self.runner.store.waiting_accounts().await? {
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
        let runner = &self.runner;
        let most = runner.calls.sessions_at_most;
        let mut places = some_or!(runner.live.registry.keep(CLAIMED_AT_ONCE, most), ());
        let live_calls = runner.plans.terms(account.plan).live_calls;
        // The dial deadline counts from before the claim.
        let claimed_at = Moment::now();
        failpoints::hit(failpoints::DIAL_BEFORE_CLAIM);
        let (now, most) = (runner.clock.now(), places.len());
        let first = mint(now);
        let claimed = runner
            .store
            .claim_calls(
                account.id,
                (live_calls, most),
                runner.calls.max_queue,
                (runner.node, first),
                (now, runner.clock.steady()),
                judge_claims,
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
        places.only(claimed.calls.len());
        for call in claimed.calls {
            self.hold(call, claimed_at, |id, claim, control| {
                places.give(id, claim, control)
            });
        }
        for (id, rule) in claimed.refused {
            let why = (FailureReason::ComplianceBlocked, Some(rule));
            end_undialed(runner, &runner.live, (account.id, id), why).await?;
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
            let (runner, by) = (&self.runner, (self.runner.node, doubt.first));
            let claimed = runner.store.calls_claimed(doubt.account, by, doubt.most);
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
                        runner.live.registry.insert(id, claim, control);
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
        let runner = &self.runner;
        let Some(claim) = call.claim_id else { return };
        let waited = runner.clock.now().since(call.started_at);
        metrics().calls.claimed(waited);
        runner.live.touch(call.id);
        let control = CallControl::new();
        register(call.id, claim, control.clone());
        let span = tracing::info_span!("call", call = %call.id, request_id = field::Empty);
        if let Some(request) = runner.live.placed_by.take(call.id) {
            span.record("request_id", field::display(request));
        }
        let held = call::hold(runner.clone(), call, claim, claimed_at, control, None);
        runner.live.held.spawn(held.instrument(span).boxed());
    }
}

/// Waits for the live calls for the drain time or until `hurry`, and ends the rest. Returns when every call is reported.
pub(crate) async fn drain(runner: &Runner, hurry: &CancellationToken) {
    let held = &runner.live.held;
    held.close();
    tokio::select! {
        () = held.wait() => {}
        () = sleep(runner.calls.drain) => {}
        () = hurry.cancelled() => {}
    }
    runner.live.registry.end_all(EndRequest::Drain);
    held.wait().await;
    runner.live.chats.drain(hurry).await;
}

/// Ends queued calls that were not dialed in time. One that cannot be ended does not block the others.
async fn expire(runner: &Runner) -> Result<()> {
    let patience = runner.calls.max_queue;
    let store = &runner.store;
    let overdue = store.overdue_calls(patience, runner.clock.steady()).await?;
    for (account, id) in overdue {
        let why = (FailureReason::Expired, None);
        match end_undialed(runner, &runner.live, (account, id), why).await {
            Err(error) if !error.may_pass() => {
                tracing::error!(%error, call = %id, "an overdue call cannot be ended");
            }
            ended => ended?,
        }
    }
    Ok(())
}
