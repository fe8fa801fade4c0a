//! One call of a legacy agent: handed to the provider once, followed to its end by our reference, and settled like any
//! other call.

mod end;
mod follow;
mod times;

use offhook_engine::legacy::{LegacyCall, LegacyError, LegacyReference};
use offhook_engine::{CallControl, Deadline, EndRequest};
use tokio::time::sleep;

use super::closing::{refuse, retry_hang_up};
use super::numbers::numbers;
use crate::Result;
use crate::prelude::*;
use crate::retry::retried;
use crate::turns::recalled;
use follow::{Following, follow};

/// The pauses before a connection is retried: twice at most.
const PLACE_RETRIES: [Duration; 2] = [Duration::from_millis(250), Duration::from_secs(1)];

/// The minimum pause after a provider asks for a later retry, whatever time it names.
const PATIENCE: Duration = Duration::from_secs(1);

/// Hands a claimed call to the provider and follows it to its end. The request leaves before `place_by` or not at all.
pub(super) async fn hold(
    runner: &Arc<Runner>,
    call: &Conversation,
    claim: ClaimId,
    place_by: Deadline,
    control: &CallControl,
) -> Result<()> {
    let (credential, request) = match prepare(runner, call).await? {
        Ok(prepared) => prepared,
        Err(reason) => return refuse(runner, call, claim, reason).await,
    };
    failpoints::hit(failpoints::DIAL_AFTER_CLAIM);
    let legacy = &runner.providers.legacy;
    let mut retries = PLACE_RETRIES.into_iter();
    let conversation = loop {
        match control.requested() {
            None => {}
            Some(EndRequest::ClaimLost) => return Ok(()),
            Some(EndRequest::Drain) => {
                return refuse(runner, call, claim, FailureReason::Interrupted).await;
            }
            Some(EndRequest::ApiHangup | EndRequest::OutOfCredits) => {
                return refuse(runner, call, claim, FailureReason::Cancelled).await;
            }
        }
        if place_by.is_over() {
            return refuse(runner, call, claim, FailureReason::CarrierError).await;
        }
        let placed = legacy.place(&credential, request.clone(), place_by);
        let error = match placed.await {
            Ok(conversation) => break conversation,
            Err(error) => error,
        };
        tracing::warn!(%error, call = %call.id, "the legacy provider did not say that it places a call");
        let wait = match error {
            // The look-up by our reference shows whether an unanswered request had an effect.
            LegacyError::Unknown => break None,
            LegacyError::Refused(_) => {
                return refuse(runner, call, claim, FailureReason::AgentError).await;
            }
            LegacyError::NotConnected => retries.next(),
            LegacyError::Later(after) => Some(after.unwrap_or_default().max(PATIENCE)),
        };
        match wait.filter(|wait| *wait < place_by.left()) {
            Some(wait) => sleep(wait).await,
            None => return refuse(runner, call, claim, FailureReason::CarrierError).await,
        }
    };
    failpoints::hit(failpoints::DIAL_AFTER_CARRIER);
    if let Some(name) = &conversation {
        let named = retried(|| runner.store.name_legacy_call(call.id, claim, name)).await?;
        if named == Fenced::Lost {
            return Ok(());
        }
    }
    let reference = LegacyReference {
        call: CallHandle(call.id),
        conversation,
    };
    let following = Following {
        credential,
        reference,
        written: Vec::new(),
        // A call that the provider does not know has no customer on the line.
        if_unknown: FailureReason::CarrierError,
    };
    follow(runner, call, claim, control, following).await
}

/// Takes over an orphaned call whose media continues at the provider. Returns `false` if there is nothing to take over:
/// the account has no credential, or the call gave no sign of life at the provider and was hung up there. The caller
/// then reports it as interrupted.
pub(crate) async fn adopt(
    runner: &Arc<Runner>,
    call: &Conversation,
    claim: ClaimId,
) -> Result<bool> {
    let credential = some_or!(runner.legacy_credential(call.account_id).await?, false);
    let reference = LegacyReference {
        call: CallHandle(call.id),
        conversation: call.line.dialog.clone(),
    };
    let legacy = &runner.providers.legacy;
    // A provider that cannot hang up is followed in any case: it may list the call only in a moment.
    if legacy.hangs_up() {
        let known = match legacy.progress(&credential, &reference).await {
            Ok(progress) => progress.is_some_and(|progress| progress.reported),
            // The lease expires again, and the provider is queried again.
            Err(LegacyError::NotConnected | LegacyError::Unknown | LegacyError::Later(_)) => {
                return Ok(true);
            }
            Err(LegacyError::Refused(_)) => false,
        };
        if !known {
            let end = || legacy.hang_up(&credential, &reference);
            retry_hang_up(call, "provider", end).await;
            return Ok(false);
        }
        tracing::info!(call = %call.id, "an orphaned call goes on at its provider");
    }
    let turns = runner.store.turns(call.id, 0, i64::from(i32::MAX)).await?;
    let control = CallControl::new();
    runner.live.registry.insert(call.id, claim, control.clone());
    runner.live.registry.mark_alive(call.id);
    let following = Following {
        credential,
        reference,
        written: recalled(turns).collect(),
        if_unknown: FailureReason::Interrupted,
    };
    let followed = follow(runner, call, claim, &control, following).await;
    runner.live.registry.remove(call.id, claim);
    followed.map(|()| true)
}

/// Checks the agent once more, and reads the credential for its provider.
async fn prepare(
    runner: &Runner,
    call: &Conversation,
) -> Result<Result<(String, LegacyCall), FailureReason>> {
    let agent = retried(|| runner.store.agent(call.account_id, call.agent_id)).await?;
    let credential = retried(|| runner.legacy_credential(call.account_id)).await?;
    let agent = agent.filter(|agent| agent.status == AgentStatus::Active);
    let agent = agent.and_then(|agent| agent.provider_agent_id);
    let (Some(agent), Some(credential)) = (agent, credential) else {
        return Ok(Err(FailureReason::AgentError));
    };
    let Some((from, to)) = numbers(call) else {
        return Ok(Err(FailureReason::InvalidNumber));
    };
    let Ok(Json::Object(variables)) = Json::parse(call.metadata.as_bytes()) else {
        return Ok(Err(FailureReason::AgentError));
    };
    let request = LegacyCall {
        reference: CallHandle(call.id),
        agent,
        from,
        to,
        variables,
    };
    Ok(Ok((credential, request)))
}
