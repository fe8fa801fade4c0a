//! Calls that were given up before their provider told of them: what was said is attached, and what was reported stays
//! (decision 8.6).

use std::sync::Arc;

use offhook_domain::{AccountId, CallHandle, CallState, ConversationId};
use offhook_engine::legacy::LegacyReference;
use offhook_engine::{Turn, TurnRole};
use offhook_storage::{Conversation, NewTurn, StoreError};
use tokio::time::{Instant, sleep};

use super::Times;
use crate::Shared;
use crate::recordings::Wanted;

/// The account's call, if it has failed and nothing is known of what was said in it.
pub(super) async fn given_up(
    shared: &Shared,
    account: AccountId,
    id: ConversationId,
) -> Result<Option<Conversation>, StoreError> {
    let view = shared.store.conversation(account, id, None).await?;
    let call = view.map(|view| view.conversation);
    Ok(call.filter(|call| {
        let is_silent = call.answered_at.is_none() && call.messages_count == 0;
        call.state == CallState::Failed && is_silent
    }))
}

/// Asks the provider how a call went that it calls so, and attaches what was said and its recording, if somebody spoke.
/// Where it does not say, or that cannot be written down, it is asked again, for as long as a call that is over may wait
/// for that. Nobody waits for it: who reported the call has an answer before, and may serve nothing until then.
pub(super) async fn attach(shared: Arc<Shared>, call: Conversation, provider_call_id: String) {
    let pace = shared.legacy.pace();
    let until = Instant::now() + pace.told_within;
    let mut wait = pace.soonest;
    loop {
        match is_told(&shared, &call, &provider_call_id).await {
            Ok(true) => return,
            Ok(false) => {}
            Err(error) => tracing::warn!(%error, call = %call.id, "what was said was not attached"),
        }
        if Instant::now() + wait >= until {
            break;
        }
        sleep(wait).await;
        wait = (wait * 2).min(pace.latest);
    }
    tracing::warn!(call = %call.id, "what was said in a call that had been given up is not known");
}

/// Whether there is no more to ask for: what was said is attached, or nothing was.
async fn is_told(
    shared: &Arc<Shared>,
    call: &Conversation,
    provider_call_id: &str,
) -> Result<bool, StoreError> {
    let Some(credential) = shared.legacy_credential(call.account_id).await? else {
        return Ok(true);
    };
    let reference = LegacyReference {
        call: CallHandle(call.id),
        conversation: Some(provider_call_id.to_owned()),
    };
    let mut progress = match shared.legacy.progress(&credential, &reference).await {
        Ok(Some(progress)) => progress,
        Ok(None) => return Ok(false),
        Err(error) => {
            tracing::warn!(%error, call = %call.id, "how a call went that had been given up was not said");
            return Ok(false);
        }
    };
    Times::new(call.started_at, None).fit(&mut progress, shared.clock.now());
    let Some(end) = progress.end else {
        return Ok(false);
    };
    if progress.turns.is_empty() {
        return Ok(true);
    }
    // Written down first, as of every call: whoever attaches it may die right behind that.
    let wanted = match end.recorded {
        true => Wanted::note(shared, call, reference.conversation).await,
        false => None,
    };
    let turns = progress.turns.into_iter().map(new_turn).collect();
    let key = (call.account_id, call.id);
    let attached = shared
        .store
        .attach_transcript(key, turns, end.summary)
        .await;
    // One that another process has attached meanwhile is fetched twice, and is the same.
    if let Some(wanted) = wanted {
        wanted.fetch(shared);
    }
    if attached? {
        shared.touch(call.id);
        tracing::info!(call = %call.id, "what was said was attached to a call that had been given up");
    }
    Ok(true)
}

fn new_turn(turn: Turn) -> NewTurn {
    let role = match turn.role {
        TurnRole::Agent => "agent",
        TurnRole::User => "user",
        TurnRole::Tool => "tool",
    };
    NewTurn {
        role,
        text: turn.text,
        started_at: turn.started_at,
        duration_ms: i32::try_from(turn.duration_ms).unwrap_or(i32::MAX),
        interrupted: turn.interrupted,
        latency: None,
    }
}
