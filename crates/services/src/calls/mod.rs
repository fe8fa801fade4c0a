//! Placing and ending calls.

mod hours;
mod place;
mod placed_by;

use offhook_boxed::boxed;
use std::sync::Arc;
use std::time::Duration;

use offhook_domain::{
    AccountId, CallHandle, CallOutcome, CallState, ConversationId, FailureReason, Runtime,
};
use offhook_engine::EndRequest;
use offhook_metrics::metrics;
use offhook_storage::Conversation;

use crate::conversations::retained_since;
use crate::dialer::unanswered;
use crate::signals::Signal;
use crate::{Caller, Refusal, Result, Shared, UseCaseError};

pub(crate) use hours::{Hours, opening};
pub(crate) use place::{NO_CALLS, RESERVED_SECONDS, no_number, replay};
pub use place::{PlaceCall, PlacedReply};
pub(crate) use placed_by::PlacedBy;

/// How calls are placed and kept.
#[derive(Debug, Clone)]
pub struct CallSettings {
    /// Allowed prefixes of dialed numbers; empty allows every number.
    pub allowed_prefixes: Vec<String>,
    /// A call not claimed this long after acceptance is never dialed.
    pub max_queue: Duration,
    /// How long live calls continue after the process is told to stop.
    pub drain: Duration,
    /// Calls that may wait before new ones are refused.
    pub queue_at_most: i64,
    /// The share of an account's live calls that web pages may use, in percent: strangers start these calls.
    pub page_share: u32,
    /// Calls that this process holds at once.
    pub sessions_at_most: usize,
    /// How often the database is polled for changes by other processes.
    pub looks: Looks,
}

/// How often the database is polled for changes by other processes: the backstop for a lost notification.
#[derive(Debug, Clone, Copy)]
pub struct Looks {
    /// For requests to hang up; they take effect within 500 ms.
    pub hangups: Duration,
    /// For events of a call that a stream follows, while notifications arrive from other processes.
    pub streams: Duration,
    /// The same while they do not arrive.
    pub deaf_streams: Duration,
}

impl Default for Looks {
    fn default() -> Self {
        Self {
            hangups: Duration::from_millis(200),
            streams: Duration::from_secs(2),
            deaf_streams: Duration::from_millis(200),
        }
    }
}

impl Default for CallSettings {
    fn default() -> Self {
        Self {
            allowed_prefixes: Vec::new(),
            max_queue: Duration::from_secs(120),
            drain: Duration::from_secs(600),
            queue_at_most: 10_000,
            page_share: 50,
            sessions_at_most: 5_000,
            looks: Looks::default(),
        }
    }
}

#[derive(Clone)]
pub struct Calls(pub(crate) Arc<Shared>);

#[boxed]
impl Calls {
    /// How many of an account's calls are dialing, ringing, talking or closing.
    pub async fn live(&self, account: AccountId) -> Result<i64> {
        self.0.store.live_calls(account).await
    }

    /// Ends a call. A queued call ends in this transaction (`cancelled`). For a dialing or live call, this requests a
    /// hangup from its owner, on any node, which obeys within 500 ms. Returns the call's status as a read by id shows
    /// it.
    pub async fn hang_up(
        &self,
        caller: &Caller,
        handle: CallHandle,
    ) -> Result<&'static str, UseCaseError> {
        let (id, account) = (handle.0, caller.account.id);
        let since = retained_since(&self.0, caller);
        // A dialer may claim the call between the read and the write; the next read then finds it dialing.
        for _ in 0..5 {
            let view = self.0.store.conversation(account, id, since).await?;
            let call = view.filter(|view| view.conversation.is_voice());
            let call = call.ok_or(UseCaseError::NotFound)?.conversation;
            match call.state {
                CallState::Queued => {
                    if end_queued(&self.0, &call, FailureReason::Cancelled).await? {
                        return Ok(CallState::Failed.detail_status());
                    }
                }
                CallState::Dialing | CallState::Live
                    if call.runtime == Runtime::Legacy && !self.0.legacy.hangs_up() =>
                {
                    return Err(UseCaseError::Conflict(Refusal::CallElsewhere));
                }
                CallState::Dialing | CallState::Live => {
                    if self.0.store.request_hangup(account, id).await? {
                        self.0.registry.end(id, EndRequest::ApiHangup);
                        if !self.0.registry.holds(id) {
                            self.0.signals.say(Signal::HangUp(id));
                        }
                        return Ok(call.state.detail_status());
                    }
                }
                CallState::Closing | CallState::Completed | CallState::Failed => {
                    return Err(UseCaseError::Conflict(Refusal::CallEnded));
                }
            }
        }
        Err(UseCaseError::Conflict(Refusal::CallEnded))
    }
}

/// Ends a call that no dialer has claimed; `false` if one has.
pub(crate) async fn end_queued(
    shared: &Shared,
    call: &Conversation,
    reason: FailureReason,
) -> Result<bool> {
    let settlement = unanswered(shared, call, CallOutcome::Failed(reason));
    let key = (call.account_id, call.id);
    let ended = shared
        .store
        .end_queued_call(key, reason, settlement)
        .await?
        .is_some();
    if ended {
        metrics().calls.ended("failed", reason.as_str());
        shared.touch(call.id);
        shared.wakes.dispatcher.notify_one();
    }
    Ok(ended)
}

/// Ends a queued call that no dialer claimed in time.
pub(crate) async fn expire_queued(
    shared: &Shared,
    account: AccountId,
    id: ConversationId,
) -> Result<()> {
    if let Some(view) = shared.store.conversation(account, id, None).await? {
        end_queued(shared, &view.conversation, FailureReason::Expired).await?;
    }
    Ok(())
}
