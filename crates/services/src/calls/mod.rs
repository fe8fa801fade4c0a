//! Placing and ending calls.

mod hours;
mod place;
mod placed_by;
mod reservation;
mod settings;

use offhook_engine::EndRequest;
use offhook_metrics::metrics;

use crate::Result;
use crate::conversations::retained_since;
use crate::dialer::unanswered;
use crate::prelude::*;
use crate::signals::Signal;

pub(crate) use hours::{Daily, Hours, opening};
pub use place::{CallRequest, PlaceCall};
pub(crate) use place::{allowed, check_takes_calls, metadata};
pub(crate) use place::{no_number, reference};
pub(crate) use placed_by::PlacedBy;
pub(crate) use reservation::RESERVED_SECONDS;
pub use settings::{CallSettings, Looks};

#[derive(Clone)]
pub struct Calls {
    pub(crate) ctx: Arc<Context>,
    pub(crate) live: Arc<Live>,
    pub(crate) providers: Arc<Providers>,
}

#[boxed]
impl Calls {
    /// How many of an account's calls are dialing, ringing, talking or closing.
    pub async fn live(&self, account: AccountId) -> Result<i64> {
        self.ctx.store.live_calls(account).await
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
        let since = retained_since(&self.ctx, caller);
        // A dialer may claim the call between the read and the write; the next read then finds it dialing.
        for _ in 0..5 {
            let view = self.ctx.store.conversation(account, id, since).await?;
            let call = view.filter(|view| view.conversation.is_voice());
            let call = call.ok_or(UseCaseError::NotFound)?.conversation;
            match call.state {
                CallState::Queued => {
                    let ended = end_queued(
                        &self.ctx,
                        &self.live,
                        &call,
                        (FailureReason::Cancelled, None),
                    );
                    if ended.await? {
                        return Ok(CallState::Failed.detail_status());
                    }
                }
                CallState::Dialing | CallState::Live
                    if call.runtime == Runtime::Legacy && !self.providers.legacy.hangs_up() =>
                {
                    return Err(UseCaseError::Conflict(Refusal::CallElsewhere));
                }
                CallState::Dialing | CallState::Live => {
                    if self.ctx.store.request_hangup(account, id).await? {
                        self.live.registry.end(id, EndRequest::ApiHangup);
                        if !self.live.registry.holds(id) {
                            self.live.signals.say(Signal::HangUp(id));
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
    ctx: &Context,
    live: &Live,
    call: &Conversation,
    (reason, rule): (FailureReason, Option<DialRule>),
) -> Result<bool> {
    let settlement = unanswered(ctx, call, CallOutcome::Failed(reason));
    let key = (call.account_id, call.id);
    let ended = ctx
        .store
        .end_queued_call(key, (reason, rule), settlement)
        .await?
        .is_some();
    if ended {
        metrics().calls.ended("failed", reason.as_str());
        live.touch(call.id);
        ctx.wakes.dispatcher.notify_one();
    }
    Ok(ended)
}

/// Ends a queued call that no dialer claimed in time, or that a rule refuses.
pub(crate) async fn end_undialed(
    ctx: &Context,
    live: &Live,
    (account, id): (AccountId, ConversationId),
    why: (FailureReason, Option<DialRule>),
) -> Result<()> {
    if let Some(view) = ctx.store.conversation(account, id, None).await? {
        end_queued(ctx, live, &view.conversation, why).await?;
    }
    Ok(())
}
