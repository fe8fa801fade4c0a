//! The end of a text conversation: closed, summarized, settled. If a process dies in between, another one finishes.

use futures_util::FutureExt as _;

use offhook_engine::{Dialogue, summarize};
use tokio::time::Instant;

use crate::personas::persona_in;
use crate::prelude::*;
use crate::retry::retried;
use crate::turns::recalled;
use crate::workers::{Outage, Turns};

/// How long a conversation may be idle before it ends.
const IDLE_AFTER: Duration = Duration::from_secs(30 * 60);

/// The same on WhatsApp, where customers answer when they see a message: as long as the window in which the agent may
/// write to them.
const IDLE_ON_WHATSAPP_AFTER: Duration = Duration::from_secs(24 * 3_600);

/// How often idle conversations are polled.
const POLL_EVERY: Duration = Duration::from_secs(5);

/// Conversations ended per poll.
const AT_ONCE: i64 = 64;

/// Turns that a summary covers.
const SUMMARISED_TURNS: i64 = 1_000;

/// Ends idle conversations, and finishes the endings that other processes left, until `stop`.
pub(crate) async fn end_the_silent(shared: Arc<Runner>, stop: CancellationToken) {
    let mut turns = Turns::new(POLL_EVERY, &stop);
    let mut outage = Outage::default();
    while turns.next().await {
        outage.note(poll(&shared).await, "silent chats cannot be ended");
    }
}

async fn poll(shared: &Arc<Runner>) -> Result<(), StoreError> {
    let now = shared.clock.now();
    for (on_whatsapp, after) in [(false, IDLE_AFTER), (true, IDLE_ON_WHATSAPP_AFTER)] {
        let idle_before = now.minus(after);
        let idle = shared.store.idle_chats(on_whatsapp, idle_before, AT_ONCE);
        for id in idle.await? {
            let ending = ChatEnding {
                reason: TerminationReason::SilenceTimeout,
                node: shared.node,
                at: now,
                idle_before: Some(idle_before),
            };
            close(shared, id, ending).await?;
        }
    }
    let may_judge = shared.live.registry.renewals.may_judge(Instant::now());
    if !shared.store.is_embedded() && !may_judge {
        return Ok(());
    }
    let store = &shared.store;
    let left = store.claim_closing_chats(shared.node, now, AT_ONCE).await?;
    for chat in left {
        settle_soon(shared, chat);
    }
    Ok(())
}

/// Ends an open conversation now; `false` if it is no longer open.
pub(crate) async fn end(
    shared: &Arc<Runner>,
    id: ConversationId,
    reason: TerminationReason,
) -> Result<bool, StoreError> {
    let ending = ChatEnding {
        reason,
        node: shared.node,
        at: shared.clock.now(),
        idle_before: None,
    };
    close(shared, id, ending).await
}

async fn close(
    shared: &Arc<Runner>,
    id: ConversationId,
    ending: ChatEnding,
) -> Result<bool, StoreError> {
    let chat = some_or!(shared.store.close_chat(id, ending).await?, false);
    shared.live.touch(id);
    settle_soon(shared, chat);
    Ok(true)
}

fn settle_soon(shared: &Arc<Runner>, chat: ClosingChat) {
    let on = shared.clone();
    shared.live.chats.spawn(async move {
        let id = chat.conversation.id;
        if let Err(error) = settle(&on, chat).await {
            tracing::error!(%error, conversation = %id, "a chat could not be settled; its lease will end it");
        }
    }.boxed());
}

async fn settle(shared: &Arc<Runner>, chat: ClosingChat) -> Result<(), StoreError> {
    let id = chat.conversation.id;
    let summary = summary(shared, &chat).await?.unwrap_or_default();
    let settled = retried(|| {
        let at = shared.clock.now();
        shared
            .store
            .settle_chat(id, chat.claim, summary.clone(), at)
    });
    if settled.await? {
        let reason = chat.conversation.termination_reason;
        let reason = reason.map_or("-", TerminationReason::as_str);
        tracing::info!(conversation = %id, reason, "chat ended");
        shared.wakes.analyst.notify_one();
    }
    shared.live.touch(id);
    Ok(())
}

/// The conversation's summary, if the customer said anything and a model responds in time.
async fn summary(shared: &Arc<Runner>, chat: &ClosingChat) -> Result<Option<String>, StoreError> {
    let call = &chat.conversation;
    let history = retried(|| shared.store.chat_history(call.id, SUMMARISED_TURNS)).await?;
    if !history
        .iter()
        .any(|turn| turn.role.as_deref() == Some("user"))
    {
        return Ok(None);
    }
    let persona = some_or!(persona_in(shared, call).await?, None);
    let persona = Arc::new(persona);
    let providers = retried(|| shared.providers.of(shared, call.account_id)).await?;
    let dialogue = Dialogue::new(
        persona.clone(),
        providers.models.clone(),
        providers.latencies.clone(),
    );
    let transcript = dialogue.behind(recalled(history)).into_transcript();
    Ok(summarize(
        &providers.models,
        &providers.latencies,
        &persona.llm,
        &transcript,
        &persona.language,
    )
    .await)
}
