//! Conversations that the legacy agents' provider had without this service: calls received there, web pages, its own
//! lists. They are stored and followed to their ends like those placed here, and cost nothing here.

use futures_util::FutureExt as _;

use super::SyncError;
use crate::dialer::adopt_legacy;
use crate::prelude::*;

/// How far back to search.
const LOOKED_BACK: Duration = Duration::from_secs(24 * 3_600);

/// Imports the conversations of the last day that the account does not have.
pub(super) async fn take_in(
    runner: &Arc<Runner>,
    account: AccountId,
    credential: &str,
) -> Result<(), SyncError> {
    let legacy = &runner.providers.legacy;
    let since = runner.clock.now().minus(LOOKED_BACK);
    let listed = legacy.conversations(credential, since).await?;
    // The list may contain one that was placed here just before it began there.
    let known_since = since.minus(LOOKED_BACK);
    let unknown = runner.store.unknown_legacy(account, known_since, listed);
    for id in unknown.await? {
        take(runner, account, credential, id).await?;
    }
    Ok(())
}

/// Imports a conversation by its id at the provider. One that is over is settled when this returns.
pub(super) async fn take(
    runner: &Arc<Runner>,
    account: AccountId,
    credential: &str,
    id: String,
) -> Result<(), SyncError> {
    let legacy = &runner.providers.legacy;
    let found = some_or!(legacy.conversation(credential, &id).await?, ());
    let at = runner.clock.now();
    let began_at = found.began_at.min(at);
    let taken = runner.store.take_legacy_conversation(FoundConversation {
        id: mint(began_at),
        account_id: account,
        provider_agent_id: found.agent,
        provider_call_id: id,
        channel: found.channel,
        from: found.from,
        to: found.to,
        customer: found.customer,
        began_at,
        at,
        steady: runner.clock.steady(),
        node: runner.node,
    });
    let taken = taken.await?;
    let Some((claim, call)) = taken.and_then(|call| Some((call.claim_id?, call))) else {
        return Ok(());
    };
    tracing::info!(call = %call.id, "a conversation that the legacy provider had by itself is taken in");
    let owner = runner.clone();
    let following = runner.live.held.spawn(
        async move {
            if let Err(error) = adopt_legacy(&owner, &call, claim).await {
                tracing::error!(%error, call = %call.id, "a conversation of the legacy provider could not be followed");
            }
        }
        .boxed(),
    );
    if found.is_final {
        // The task logs its own errors.
        let _ = following.await;
    }
    Ok(())
}
