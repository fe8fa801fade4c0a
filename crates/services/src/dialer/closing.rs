//! The end of a call: `closing`, the summary, then the closing transaction.

use offhook_engine::ports::Message;
use offhook_engine::{Persona, summarize};
use offhook_metrics::metrics;

use crate::prelude::*;
use crate::retry::retried;
use crate::{Result, events};

/// Tries to end an orphan at the carrier; it is reported even if all fail.
const HANG_UP_TRIES: u32 = 3;

/// How a call's media ended.
pub(crate) struct MediaEnd {
    pub(crate) outcome: CallOutcome,
    pub(crate) answered_at: Option<Timestamp>,
    pub(crate) ended_at: Timestamp,
    pub(crate) latencies_ms: Vec<u32>,
    pub(crate) signaled: Signaled,
}

impl MediaEnd {
    /// Started seconds from the answer to the end; 0 if never answered.
    fn duration_seconds(&self) -> i64 {
        self.answered_at
            .map_or(0, |answered| self.ended_at.started_seconds_since(answered))
    }

    fn latency(&self) -> Option<(i32, i32, i32)> {
        let mut sorted = self.latencies_ms.clone();
        sorted.sort_unstable();
        let turns = i32::try_from(sorted.len())
            .ok()
            .filter(|turns| *turns > 0)?;
        // Nearest rank.
        let rank = |percent: usize| {
            let at = (sorted.len() * percent).div_ceil(100).max(1) - 1;
            sorted
                .get(at)
                .and_then(|ms| i32::try_from(*ms).ok())
                .unwrap_or(i32::MAX)
        };
        Some((turns, rank(50), rank(95)))
    }
}

/// `dialing | live → closing`. Returns the final duration, or `None` if the claim is lost.
pub(crate) async fn close(
    runner: &Runner,
    call: &Conversation,
    claim: ClaimId,
    end: &MediaEnd,
) -> Result<Option<i64>> {
    failpoints::hit(failpoints::CLOSE_BEFORE_CLOSING);
    let duration_seconds = end.duration_seconds();
    let fenced = retried(|| {
        let row = CallEnd {
            outcome: end.outcome,
            ended_at: end.ended_at,
            duration_seconds,
            latency: end.latency(),
            signaled: end.signaled,
        };
        runner.store.close_call(call.id, claim, row)
    })
    .await?;
    if fenced == Fenced::Lost {
        // A COMMIT whose response was lost may have written it; then the state shows it.
        let view = retried(|| runner.store.conversation(call.account_id, call.id, None)).await?;
        let closing = view.is_some_and(|view| {
            view.conversation.claim_id == Some(claim)
                && view.conversation.state == offhook_domain::CallState::Closing
        });
        if !closing {
            return Ok(None);
        }
    }
    failpoints::hit(failpoints::CLOSE_AFTER_CLOSING);
    runner.live.listeners.ended(call.id, end.outcome);
    for latency in &end.latencies_ms {
        metrics().calls.turn(*latency);
    }
    runner.live.touch(call.id);
    Ok(Some(duration_seconds))
}

/// The summary of the conversation; empty if no model writes one in time.
pub(crate) async fn summary(
    providers: &Providers,
    persona: &Persona,
    transcript: &[Message],
) -> String {
    let summary = summarize(
        &providers.models,
        &providers.latencies,
        &persona.llm,
        transcript,
        &persona.language,
    )
    .await;
    failpoints::hit(failpoints::CLOSE_AFTER_SUMMARY);
    summary.unwrap_or_default()
}

/// How long a call lasted, and its cost.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Lasted {
    ended_at: Timestamp,
    seconds: i64,
    credits: Credits,
}

impl Lasted {
    /// At the price that was held, for calls whose models are unknown.
    pub(crate) fn at_most(call: &Conversation, ended_at: Timestamp, seconds: i64) -> Self {
        let credits = call.price().of_seconds(seconds);
        Self {
            ended_at,
            seconds,
            credits,
        }
    }

    /// The metered cost, at most what was held.
    pub(crate) fn metered(self, credits: Option<Credits>) -> Self {
        let credits = credits.map_or(self.credits, |credits| credits.min(self.credits));
        Self { credits, ..self }
    }
}

/// The closing transaction.
pub(crate) async fn settle(
    runner: &Runner,
    call: &Conversation,
    claim: ClaimId,
    outcome: CallOutcome,
    lasted: Lasted,
    summary: String,
) -> Result<()> {
    runner.recordings.tried(call.id).await;
    let duration_seconds = lasted.seconds;
    let settlement = settlement(runner, call, outcome, lasted, summary);
    let key = (call.account_id, call.id, claim);
    let settled = retried(|| runner.store.settle_call(key, settlement.clone())).await?;
    failpoints::hit(failpoints::CLOSE_AFTER_COMMIT);
    runner.live.touch(call.id);
    if settled.is_some() {
        count_end(outcome);
        tracing::info!(call = %call.id, ?outcome, duration_seconds, "call ended");
        runner.wakes.dispatcher.notify_one();
        runner.wakes.analyst.notify_one();
    }
    // A slot is free for the next call.
    runner.wakes.dialer.notify_one();
    Ok(())
}

/// Ends a call that has nothing to summarize.
pub(crate) async fn end_unsaid(
    runner: &Runner,
    call: &Conversation,
    claim: ClaimId,
    media: MediaEnd,
) -> Result<()> {
    let duration = some_or!(close(runner, call, claim, &media).await?, ());
    let lasted = Lasted::at_most(call, media.ended_at, duration);
    settle(runner, call, claim, media.outcome, lasted, String::new()).await
}

/// Ends a claimed call that must not be dialed.
pub(crate) async fn refuse(
    runner: &Arc<Runner>,
    call: &Conversation,
    claim: ClaimId,
    reason: FailureReason,
) -> Result<()> {
    let media = MediaEnd {
        outcome: CallOutcome::Failed(reason),
        answered_at: None,
        ended_at: runner.clock.now(),
        latencies_ms: Vec::new(),
        signaled: Signaled::default(),
    };
    end_unsaid(runner, call, claim, media).await
}

/// Tries to end a call elsewhere, with growing pauses. The caller reports it even if all tries fail.
pub(crate) async fn retry_hang_up<E, F>(call: &Conversation, at: &str, end: impl Fn() -> F)
where
    E: std::fmt::Display,
    F: Future<Output = Result<(), E>>,
{
    for attempt in 1..=HANG_UP_TRIES {
        let Err(error) = end().await else { return };
        tracing::warn!(%error, call = %call.id, "an orphan could not be hung up at the {at}");
        tokio::time::sleep(Duration::from_secs(u64::from(attempt))).await;
    }
}

fn count_end(outcome: CallOutcome) {
    let reason = match outcome {
        CallOutcome::Completed(reason) => reason.as_str(),
        CallOutcome::Failed(reason) => reason.as_str(),
    };
    metrics().calls.ended(outcome.state().as_str(), reason);
}

fn settlement(
    ctx: &Context,
    call: &Conversation,
    outcome: CallOutcome,
    lasted: Lasted,
    summary: String,
) -> Settlement {
    let at = ctx.clock.now();
    let seconds = lasted.seconds;
    let event = events::ended(call, outcome, (lasted.ended_at, seconds), &summary, at);
    Settlement {
        state: outcome.state(),
        summary,
        credits: lasted.credits,
        description: EntryText::Call(seconds).to_string(),
        at,
        event,
    }
}

/// The settlement of a call that was never answered.
pub(crate) fn unanswered(ctx: &Context, call: &Conversation, outcome: CallOutcome) -> Settlement {
    let lasted = Lasted::at_most(call, ctx.clock.now(), 0);
    settlement(ctx, call, outcome, lasted, String::new())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn end(latencies_ms: &[u32], answered: i64, ended: i64) -> MediaEnd {
        MediaEnd {
            outcome: CallOutcome::Failed(FailureReason::Busy),
            answered_at: (answered >= 0).then(|| Timestamp::from_micros(answered)),
            ended_at: Timestamp::from_micros(ended),
            latencies_ms: latencies_ms.to_vec(),
            signaled: Signaled::default(),
        }
    }

    #[test]
    fn a_started_second_counts_and_an_unanswered_call_lasts_none() {
        assert_eq!(end(&[], -1, 9_000_000).duration_seconds(), 0);
        assert_eq!(end(&[], 0, 0).duration_seconds(), 0);
        assert_eq!(end(&[], 0, 1).duration_seconds(), 1);
        assert_eq!(end(&[], 0, 2_000_000).duration_seconds(), 2);
    }

    #[test]
    fn latencies_are_told_by_nearest_rank() {
        assert_eq!(end(&[], 0, 0).latency(), None);
        assert_eq!(end(&[30], 0, 0).latency(), Some((1, 30, 30)));
        let hundred: Vec<u32> = (1..=100).rev().collect();
        assert_eq!(end(&hundred, 0, 0).latency(), Some((100, 50, 95)));
    }
}
