//! A slice that the provider was handed: one look at it tells how far each of its calls is.

use std::collections::HashMap;

use offhook_domain::{AccountId, CallHandle, FailureReason};
use offhook_engine::legacy::{LegacyError, LegacyProgress, LegacyReference};
use offhook_engine::legacy_batches::{LegacyBatches, LegacyRecipient, RecipientStage};
use offhook_storage::Slice;
use tokio::sync::Mutex;
use tokio::time::Instant;

use crate::Shared;

/// How a call of a legacy agent goes.
pub(crate) enum Asked {
    /// So.
    Goes(LegacyProgress),
    /// The provider has it, and has not begun.
    Waits,
    /// The provider knows of none; it may come to know of it.
    Unknown,
    /// Nobody is called, and nobody will be.
    Nobody(FailureReason),
}

/// A slice that may be at the provider. All of its calls that this process holds look at the same one.
pub(crate) struct Watch {
    pub(super) slice: Slice,
    account: AccountId,
    agent: String,
    began: Instant,
    seen: Mutex<Seen>,
}

/// What the provider told last.
#[derive(Default)]
struct Seen {
    id: Option<String>,
    asked_at: Option<Instant>,
    failed: Option<LegacyError>,
    /// Whether the provider knows of no such batch.
    is_missing: bool,
    recipients: HashMap<CallHandle, LegacyRecipient>,
    /// When it was told to call nobody more, and why.
    cancelled: Option<(Instant, FailureReason)>,
}

/// How far a call is.
enum Standing {
    /// It is dialed, or will be.
    Waits,
    /// Its conversation tells more, which has this id if one is known.
    Called(Option<String>),
    /// It has no conversation, and will have none.
    Over(FailureReason),
}

impl Watch {
    pub(super) fn new(slice: Slice, account: AccountId, agent: String) -> Self {
        let seen = Seen {
            id: slice.provider_batch_id.clone(),
            ..Seen::default()
        };
        Self {
            slice,
            account,
            agent,
            began: Instant::now(),
            seen: Mutex::new(seen),
        }
    }

    /// How a call of the slice goes: by what the provider tells of the slice until the call has a conversation there, and
    /// then by that.
    pub(crate) async fn ask(
        &self,
        shared: &Shared,
        credential: &str,
        reference: &LegacyReference,
    ) -> Result<Asked, LegacyError> {
        if reference.conversation.is_some() {
            return alone(shared, credential, reference).await;
        }
        let (named, reason) = match self.standing(shared, credential, reference.call).await {
            Ok(Standing::Waits) => return Ok(Asked::Waits),
            Ok(Standing::Called(named)) => (named, None),
            // It may have been dialed all the same.
            Ok(Standing::Over(reason)) => (None, Some(reason)),
            // What the provider does not tell of the slice, it may tell of the call; one that it does not know may wait.
            Err(error @ (LegacyError::Unknown | LegacyError::Refused(_))) => {
                return match alone(shared, credential, reference).await {
                    Ok(asked @ Asked::Goes(_)) => Ok(asked),
                    Err(later @ LegacyError::Later(_)) => Err(later),
                    _ => Err(error),
                };
            }
            Err(error) => return Err(error),
        };
        let reference = LegacyReference {
            call: reference.call,
            conversation: named,
        };
        Ok(
            match (alone(shared, credential, &reference).await?, reason) {
                (Asked::Unknown, Some(reason)) => Asked::Nobody(reason),
                (asked, _) => asked,
            },
        )
    }

    /// Whether the provider has a conversation of the call, that can be hung up.
    pub(crate) async fn is_called(&self, reference: CallHandle) -> bool {
        let seen = self.seen.lock().await;
        let recipient = seen.recipients.get(&reference);
        recipient.is_some_and(|recipient| recipient.conversation.is_some())
    }

    async fn standing(
        &self,
        shared: &Shared,
        credential: &str,
        reference: CallHandle,
    ) -> Result<Standing, LegacyError> {
        let Some(batches) = shared.legacy.batches() else {
            // They were switched off since: the call is found by its reference alone.
            return Ok(Standing::Called(None));
        };
        let pace = shared.legacy.pace();
        // The lock is held while the provider is asked: the others wait for the same answer.
        let mut seen = self.seen.lock().await;
        let is_old = |at: Instant| at.elapsed() >= pace.soonest;
        if seen.asked_at.is_none_or(is_old) {
            seen.failed = self
                .look(shared, batches, credential, &mut seen)
                .await
                .err();
            seen.asked_at = Some(Instant::now());
        }
        if let Some(error) = &seen.failed {
            return Err(error.clone());
        }
        if seen.is_missing {
            return Ok(Standing::Called(None));
        }
        let Some(recipient) = seen.recipients.get(&reference) else {
            return Ok(Standing::Called(None));
        };
        if let Some(named) = &recipient.conversation {
            return Ok(Standing::Called(Some(named.clone())));
        }
        Ok(match (recipient.stage, seen.cancelled) {
            (RecipientStage::Pending | RecipientStage::UnderWay, _)
                if self.began.elapsed() < pace.over_within =>
            {
                Standing::Waits
            }
            // No call lasts so long that it could still be waited for.
            (RecipientStage::Pending | RecipientStage::UnderWay, _) => {
                Standing::Over(FailureReason::Expired)
            }
            (RecipientStage::Ended, _) => Standing::Called(None),
            (RecipientStage::Failed, _) => Standing::Over(FailureReason::CarrierError),
            // It may have been dialed in the same moment.
            (RecipientStage::Cancelled, Some((at, _))) if at.elapsed() < pace.appears_within => {
                Standing::Waits
            }
            (RecipientStage::Cancelled, Some((_, reason))) => Standing::Over(reason),
            (RecipientStage::Cancelled, None) => Standing::Over(FailureReason::Cancelled),
        })
    }

    async fn look(
        &self,
        shared: &Shared,
        batches: &dyn LegacyBatches,
        credential: &str,
        seen: &mut Seen,
    ) -> Result<(), LegacyError> {
        if seen.id.is_none() {
            let name = self.slice.name();
            seen.id = batches.find_batch(credential, &self.agent, &name).await?;
            if let Some(id) = &seen.id {
                self.found(shared, id).await;
            }
        }
        let Some(id) = seen.id.clone() else {
            seen.is_missing = true;
            return Ok(());
        };
        let recipients = batches.batch_status(credential, &id).await?;
        seen.is_missing = recipients.is_none();
        let recipients = recipients.unwrap_or_default().into_iter();
        seen.recipients = recipients
            .map(|recipient| (recipient.reference, recipient))
            .collect();
        let Some(reason) = self.is_late(shared, seen).await else {
            return Ok(());
        };
        match batches.cancel_batch(credential, &id).await {
            Ok(()) => {
                let reason_told = reason.as_str();
                tracing::info!(slice = %self.slice.id, reason = reason_told, "the provider calls nobody of a slice");
                seen.cancelled = Some((Instant::now(), reason));
            }
            // The next look asks again.
            Err(error) => {
                tracing::warn!(%error, slice = %self.slice.id, "a slice could not be called off");
            }
        }
        Ok(())
    }

    async fn found(&self, shared: &Shared, id: &str) {
        tracing::info!(slice = %self.slice.id, "a slice was found at the provider by its name");
        if let Err(error) = shared.store.slice_submitted(self.slice.id, id).await {
            tracing::warn!(%error, slice = %self.slice.id, "a slice will be looked for again after a restart");
        }
    }

    /// Why nobody more of the slice is to be called, if somebody waits and that is so: the batch is over, or the provider
    /// has let the time pass in which a call must be dialed. What becomes of calls under way when their batch is called
    /// off is not documented, so nothing is called off while there are some.
    async fn is_late(&self, shared: &Shared, seen: &Seen) -> Option<FailureReason> {
        let is = |stage| seen.recipients.values().any(|one| one.stage == stage);
        // What is said to be under way for longer than a call lasts is not.
        let calls =
            is(RecipientStage::UnderWay) && self.began.elapsed() < shared.legacy.pace().over_within;
        if seen.cancelled.is_some() || !is(RecipientStage::Pending) || calls {
            return None;
        }
        if self.began.elapsed() >= shared.calls.max_queue {
            return Some(FailureReason::Expired);
        }
        let batch = shared.store.batch(self.account, self.slice.batch_id).await;
        // An outage passes; the next look asks again.
        let batch = batch.ok().flatten()?;
        batch.status.is_over().then_some(FailureReason::Cancelled)
    }
}

/// How a call goes by its conversation alone.
pub(crate) async fn alone(
    shared: &Shared,
    credential: &str,
    reference: &LegacyReference,
) -> Result<Asked, LegacyError> {
    let progress = shared.legacy.progress(credential, reference).await?;
    Ok(progress.map_or(Asked::Unknown, Asked::Goes))
}
