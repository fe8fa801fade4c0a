//! The analysis worker. Any node claims ended conversations with a lease, after their end is settled and reported: an
//! analysis delays nothing.

use futures_util::FutureExt as _;
use std::fmt;

use offhook_engine::ports::{Message, Role};
use offhook_engine::{NoData, extract};
use tokio::task::{Id, JoinSet};
use tokio::time::timeout;

use super::judge::Judge;
use crate::Result;
use crate::leases;
use crate::personas::persona_in;
use crate::prelude::*;
use crate::retry::retried;
use crate::workers::Outage;

/// Backstop for a lost wake-up, and how soon another node's lost lease is noticed.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Analyses at once, per process and per account: a slow model holds up no other account.
const AT_ONCE: usize = 64;
const AT_ONCE_OF_ACCOUNT: usize = 16;

/// How often an analysis is tried, and the pauses after the first and the second try.
const TRIES: i32 = 3;
const RESTS: [Duration; 2] = [Duration::from_secs(30), Duration::from_secs(120)];

/// The newest turns that a model sees.
const TURNS: i64 = 1_000;

/// Runs analyses until `stop`, then releases those under way.
pub(crate) async fn keep_analysing(
    (ctx, providers): (Arc<Context>, Arc<Providers>),
    stop: CancellationToken,
) {
    if ctx.store.is_embedded() {
        // The process that had claimed these is gone.
        tokio::select! {
            () = stop.cancelled() => return,
            released = retried(|| ctx.store.release_analyses()) => if let Err(error) = released {
                tracing::error!(%error, "analyses of an earlier process could not be taken over");
            },
        }
    }
    let mut tasks = JoinSet::new();
    let mut accounts: HashMap<Id, AccountId> = HashMap::new();
    let mut outage = Outage::default();
    while !stop.is_cancelled() {
        let (claimed, looked) = match claim(&ctx, &accounts).await {
            Ok(claimed) => (claimed, Ok(())),
            Err(error) => (None, Err(error)),
        };
        outage.note(looked, "conversations cannot be analysed");
        if let Some(job) = claimed {
            let account = job.account;
            let task =
                tasks.spawn(carry_out((ctx.clone(), providers.clone()), job, stop.clone()).boxed());
            accounts.insert(task.id(), account);
            continue;
        }
        tokio::select! {
            () = stop.cancelled() => {}
            Some(ended) = tasks.join_next_with_id() => {
                let id = ended.map_or_else(|error| error.id(), |(id, ())| id);
                accounts.remove(&id);
            }
            _ = timeout(LOOK_EVERY, ctx.wakes.analyst.notified()) => {}
        }
    }
    while tasks.join_next().await.is_some() {}
}

/// Claims the next analysis, if there is room.
async fn claim(ctx: &Context, accounts: &HashMap<Id, AccountId>) -> Result<Option<AnalysisJob>> {
    if accounts.len() >= AT_ONCE {
        return Ok(None);
    }
    let mut counts: HashMap<AccountId, usize> = HashMap::new();
    for account in accounts.values() {
        *counts.entry(*account).or_default() += 1;
    }
    let busy = counts
        .into_iter()
        .filter(|(_, count)| *count >= AT_ONCE_OF_ACCOUNT)
        .map(|(account, _)| account)
        .collect();
    let now = ctx.clock.now();
    ctx.store.claim_analysis(busy, now).await
}

/// The result of a try.
enum Made {
    Ended(AnalysisEnd),
    /// No model answered.
    NoReply,
}

async fn carry_out(
    (ctx, providers): (Arc<Context>, Arc<Providers>),
    job: AnalysisJob,
    stop: CancellationToken,
) {
    let made = tokio::select! {
        made = make(&ctx, &providers, &job) => made,
        () = leases::keep(|| ctx.store.renew_analysis(job.clone())) => return,
        () = stop.cancelled() => {
            // If this fails, the lease expires.
            let _ = ctx.store.release_analysis(job, None).await;
            return;
        }
    };
    let conversation = job.conversation;
    let written = match made {
        Ok(Made::Ended(end)) => {
            let completed = matches!(end, AnalysisEnd::Completed(_));
            tracing::debug!(%conversation, completed, "a conversation was analysed");
            finish(&ctx, &job, end).await
        }
        Ok(Made::NoReply) => match rest_after(job.tries) {
            Some(rest) => ctx.store.release_analysis(job, Some(rest)).await,
            None => finish(&ctx, &job, failed(AnalysisFault::NoReply)).await,
        },
        Err(error) => Err(error),
    };
    if let Err(error) = written {
        tracing::error!(%error, %conversation, "an analysis could not be written down; its lease will end it");
    }
}

async fn finish(ctx: &Context, job: &AnalysisJob, end: AnalysisEnd) -> Result<()> {
    let at = ctx.clock.now();
    let finish = || ctx.store.finish_analysis(job.clone(), end.clone(), at);
    // Lost if another worker has finished it, or the conversation was deleted.
    retried(finish).await.map(drop)
}

/// The pause before the next try; `None` after the last one.
fn rest_after(tries: i32) -> Option<Duration> {
    let before = usize::try_from(tries.saturating_sub(1)).unwrap_or(0);
    RESTS.get(before).copied()
}

fn failed(why: impl fmt::Display) -> AnalysisEnd {
    AnalysisEnd::Failed(why.to_string())
}

async fn make(ctx: &Context, providers: &Arc<Providers>, job: &AnalysisJob) -> Result<Made> {
    let ended = |fault: AnalysisFault| Ok(Made::Ended(failed(fault)));
    if job.tries > TRIES {
        // The worker that tried died before it recorded a result.
        return ended(AnalysisFault::Interrupted);
    }
    let Some(definition) = &job.definition else {
        return ended(AnalysisFault::SchemaGone);
    };
    let found = retried(|| {
        let store = &ctx.store;
        store.conversation(job.account, job.conversation, None)
    });
    let Some(conversation) = found.await?.map(|view| view.conversation) else {
        return ended(AnalysisFault::ConversationGone);
    };
    let Some(persona) = persona_in(ctx, &conversation).await? else {
        return ended(AnalysisFault::NoModel);
    };
    let judge = match Judge::of(definition) {
        Ok(judge) => judge,
        Err(error) => {
            tracing::error!(%error, conversation = %conversation.id, "a stored schema cannot be used");
            return ended(AnalysisFault::SchemaUnusable);
        }
    };
    let turns = retried(|| ctx.store.chat_history(conversation.id, TURNS)).await?;
    let transcript: Vec<Message> = turns.into_iter().filter_map(message).collect();
    let providers = retried(|| providers.of(ctx, job.account)).await?;
    let data = extract(
        &providers.models,
        &providers.latencies,
        &persona.llm,
        definition,
        &transcript,
        |answer| judge.read(answer),
    );
    Ok(match data.await {
        Ok(data) => Made::Ended(AnalysisEnd::Completed(data)),
        Err(NoData::NoReply) => Made::NoReply,
        Err(no_data @ (NoData::NothingSaid | NoData::Unfit(_))) => Made::Ended(failed(no_data)),
    })
}

fn message(turn: Moment) -> Option<Message> {
    let role = match turn.role.as_deref()? {
        "agent" => Role::Assistant,
        "user" => Role::User,
        _ => Role::Tool,
    };
    Some(Message::new(role, turn.content?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_analysis_is_tried_three_times_with_longer_rests() {
        let rests = [1, 2, 3, 4].map(|tries| rest_after(tries).map(|rest| rest.as_secs()));
        assert_eq!(rests, [Some(30), Some(120), None, None]);
    }
}
