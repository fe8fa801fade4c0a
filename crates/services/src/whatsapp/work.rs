//! Runs the WhatsApp threads: one process at a time answers and sends in a thread, under a claim with a lease.

use futures_util::FutureExt as _;
use std::sync::atomic::Ordering;

use offhook_domain::ports::whatsapp::WhatsAppApi;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

use super::REMEMBERED;
use crate::leases;
use crate::prelude::*;
use crate::workers::{Outage, Turns, counted};
use crate::{Result, WhatsApp};

/// Backstop for a lost wake-up, and how long a delayed message waits at most beyond its time.
const POLL_EVERY: Duration = Duration::from_millis(500);

/// Threads per process at once.
const AT_ONCE: usize = 64;

/// Steps of a thread before others have their turn.
const STEPS: usize = 32;

/// How often old messages are deleted, and how many per transaction.
const FORGET_EVERY: Duration = Duration::from_secs(60);
const FORGOTTEN: i64 = 500;

/// Why work on a thread ended early.
#[derive(Debug)]
pub(super) enum Halt {
    /// Another process has the claim, or may have it.
    Lost,
    /// The rest is for later.
    Later,
    /// The message gets no answer, for this reason.
    Unanswered(String),
    Store(StoreError),
}

impl From<StoreError> for Halt {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<UseCaseError> for Halt {
    fn from(error: UseCaseError) -> Self {
        match error {
            UseCaseError::Store(error) => Self::Store(error),
            refusal => Self::Unanswered(refusal.to_string()),
        }
    }
}

impl TxError for Halt {
    fn into_store(self) -> Result<StoreError, Self> {
        match self {
            Self::Store(error) => Ok(error),
            other => Err(other),
        }
    }
}

/// `Lost` ends the work.
pub(super) fn kept(fenced: Fenced) -> Result<(), Halt> {
    match fenced {
        Fenced::Done => Ok(()),
        Fenced::Lost => Err(Halt::Lost),
    }
}

/// Answers and sends until `stop`; does nothing without WhatsApp.
pub(crate) async fn keep_answering(
    (shared, whatsapp): (Arc<Runner>, WhatsApp),
    stop: CancellationToken,
) {
    let Some(api) = whatsapp.1.get().cloned() else {
        return stop.cancelled().await;
    };
    let mut turns = Turns::new(POLL_EVERY, &stop);
    let slots = Arc::new(Semaphore::new(AT_ONCE));
    let (mut outage, mut forgot_at) = (Outage::default(), None);
    while turns.next_or(&shared.wakes.whatsapp).await {
        let polled = poll(&shared, &api, &slots).await;
        outage.note(polled, "messages on WhatsApp cannot be answered");
        if forgot_at.is_none_or(|at: Instant| at.elapsed() >= FORGET_EVERY) {
            forgot_at = Some(Instant::now());
            let before = shared.clock.now().minus(REMEMBERED);
            let forgotten = shared.store.delete_old_whatsapp(before, FORGOTTEN).await;
            if let Err(error) = counted("whatsapp_messages", forgotten) {
                tracing::warn!(%error, "old messages on WhatsApp could not be forgotten");
            }
        }
    }
}

async fn poll(
    shared: &Arc<Runner>,
    api: &Arc<dyn WhatsAppApi>,
    slots: &Arc<Semaphore>,
) -> Result<()> {
    let free = i64::try_from(slots.available_permits()).unwrap_or(0);
    if free == 0 {
        return Ok(());
    }
    let store = &shared.store;
    let may_judge = shared.live.registry.renewals.may_judge(Instant::now());
    let steady = shared.clock.steady();
    let due = store.due_whatsapp(shared.node, steady, may_judge, free);
    for thread in due.await? {
        let Ok(slot) = slots.clone().try_acquire_owned() else {
            return Ok(());
        };
        let now = shared.clock.now();
        let claimed = store.claim_whatsapp(thread, shared.node, now, may_judge);
        if let Some(claim) = claimed.await? {
            let job = Job {
                shared: shared.clone(),
                api: api.clone(),
                claim: WhatsAppClaim { thread, claim },
                slot,
            };
            shared.live.chats.spawn(job.run().boxed());
        }
    }
    Ok(())
}

/// A claimed thread.
pub(super) struct Job {
    pub(super) shared: Arc<Runner>,
    pub(super) api: Arc<dyn WhatsAppApi>,
    pub(super) claim: WhatsAppClaim,
    slot: OwnedSemaphorePermit,
}

impl Job {
    async fn run(self) {
        let done = tokio::select! {
            done = self.steps() => done,
            () = leases::keep(|| self.shared.store.renew_whatsapp(self.claim)) => Err(Halt::Lost),
        };
        let is_lost = matches!(done, Err(Halt::Lost));
        let has_more = done.is_ok();
        if let Err(Halt::Store(error)) = done {
            tracing::warn!(%error, "a message on WhatsApp waits for the database");
        }
        if !is_lost && let Err(error) = self.shared.store.release_whatsapp(self.claim).await {
            tracing::warn!(%error, "a claim could not be given back; its lease will run out");
        }
        drop(self.slot);
        if has_more {
            // There may be more than this turn handled.
            self.shared.wakes.whatsapp.notify_one();
        }
    }

    async fn steps(&self) -> Result<(), Halt> {
        for _ in 0..STEPS {
            if self.shared.stopping.load(Ordering::SeqCst) {
                return Ok(());
            }
            match self.next().await? {
                WhatsAppStep::Send(thread, outgoing) => self.send(&thread, outgoing).await?,
                WhatsAppStep::Answer(thread, message) => self.answer(&thread, message).await?,
                WhatsAppStep::Rest => return Ok(()),
                WhatsAppStep::Lost => return Err(Halt::Lost),
            }
        }
        Ok(())
    }

    async fn next(&self) -> Result<WhatsAppStep> {
        let store = &self.shared.store;
        store.next_whatsapp(self.claim, self.times()).await
    }

    pub(super) fn times(&self) -> WhatsAppTimes {
        WhatsAppTimes {
            now: self.shared.clock.now(),
            steady: self.shared.clock.steady(),
        }
    }

    /// Whether the agent may write to the customer.
    pub(super) fn is_window_open(&self, thread: &WhatsAppThread) -> bool {
        self.shared.clock.now() < thread.heard_at.plus(super::WINDOW)
    }
}
