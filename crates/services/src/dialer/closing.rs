//! The end of a call: `closing`, the summary, then the closing transaction.

use std::sync::Arc;

use offhook_domain::{CallOutcome, ClaimId, Credits, Timestamp};
use offhook_engine::ports::Message;
use offhook_engine::{Persona, summarize};
use offhook_failpoints as failpoints;
use offhook_metrics::metrics;
use offhook_storage::{CallEnd, Conversation, Fenced, Settlement};

use super::record::retry_while_unavailable;
use crate::{Result, Shared, events};

/// How a call's media ended.
pub(crate) struct MediaEnd {
    pub(crate) outcome: CallOutcome,
    pub(crate) answered_at: Option<Timestamp>,
    pub(crate) ended_at: Timestamp,
    pub(crate) latencies_ms: Vec<u32>,
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
    shared: &Shared,
    call: &Conversation,
    claim: ClaimId,
    end: &MediaEnd,
) -> Result<Option<i64>> {
    failpoints::hit(failpoints::CLOSE_BEFORE_CLOSING);
    let duration_seconds = end.duration_seconds();
    let fenced = retry_while_unavailable(|| {
        let row = CallEnd {
            outcome: end.outcome,
            ended_at: end.ended_at,
            duration_seconds,
            latency: end.latency(),
        };
        shared.store.close_call(call.id, claim, row)
    })
    .await?;
    if fenced == Fenced::Lost {
        // A COMMIT whose response was lost may have written it; then the state shows it.
        let view =
            retry_while_unavailable(|| shared.store.conversation(call.account_id, call.id, None))
                .await?;
        let closing = view.is_some_and(|view| {
            view.conversation.claim_id == Some(claim)
                && view.conversation.state == offhook_domain::CallState::Closing
        });
        if !closing {
            return Ok(None);
        }
    }
    failpoints::hit(failpoints::CLOSE_AFTER_CLOSING);
    shared.listeners.ended(call.id, end.outcome);
    for latency in &end.latencies_ms {
        metrics().calls.turn(*latency);
    }
    shared.touch(call.id);
    Ok(Some(duration_seconds))
}

/// The summary of the conversation; empty if no model writes one in time.
pub(crate) async fn summary(
    shared: &Arc<Shared>,
    persona: &Persona,
    transcript: &[Message],
) -> String {
    let summary = summarize(
        &shared.models,
        &shared.latencies,
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
    shared: &Shared,
    call: &Conversation,
    claim: ClaimId,
    outcome: CallOutcome,
    lasted: Lasted,
    summary: String,
) -> Result<()> {
    shared.recordings.tried(call.id).await;
    let duration_seconds = lasted.seconds;
    let settlement = settlement(shared, call, outcome, lasted, summary);
    let key = (call.account_id, call.id, claim);
    let settled =
        retry_while_unavailable(|| shared.store.settle_call(key, settlement.clone())).await?;
    failpoints::hit(failpoints::CLOSE_AFTER_COMMIT);
    shared.touch(call.id);
    if settled.is_some() {
        count_end(outcome);
        tracing::info!(call = %call.id, ?outcome, duration_seconds, "call ended");
        shared.wakes.dispatcher.notify_one();
        shared.wakes.analyst.notify_one();
    }
    // A slot is free for the next call.
    shared.wakes.dialer.notify_one();
    Ok(())
}

/// Ends a call that has nothing to summarize.
pub(crate) async fn end_unsaid(
    shared: &Shared,
    call: &Conversation,
    claim: ClaimId,
    media: MediaEnd,
) -> Result<()> {
    let Some(duration) = close(shared, call, claim, &media).await? else {
        return Ok(());
    };
    let lasted = Lasted::at_most(call, media.ended_at, duration);
    settle(shared, call, claim, media.outcome, lasted, String::new()).await
}

fn count_end(outcome: CallOutcome) {
    let reason = match outcome {
        CallOutcome::Completed(reason) => reason.as_str(),
        CallOutcome::Failed(reason) => reason.as_str(),
    };
    metrics().calls.ended(outcome.state().as_str(), reason);
}

fn settlement(
    shared: &Shared,
    call: &Conversation,
    outcome: CallOutcome,
    lasted: Lasted,
    summary: String,
) -> Settlement {
    let at = shared.clock.now();
    let seconds = lasted.seconds;
    let event = events::ended(call, outcome, (lasted.ended_at, seconds), &summary, at);
    Settlement {
        state: outcome.state(),
        summary,
        credits: lasted.credits,
        description: format!("Call of {seconds} s"),
        at,
        event,
    }
}

/// The settlement of a call that was never answered.
pub(crate) fn unanswered(shared: &Shared, call: &Conversation, outcome: CallOutcome) -> Settlement {
    let lasted = Lasted::at_most(call, shared.clock.now(), 0);
    settlement(shared, call, outcome, lasted, String::new())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn end(latencies_ms: &[u32], answered: i64, ended: i64) -> MediaEnd {
        MediaEnd {
            outcome: CallOutcome::Failed(offhook_domain::FailureReason::Busy),
            answered_at: (answered >= 0).then(|| Timestamp::from_micros(answered)),
            ended_at: Timestamp::from_micros(ended),
            latencies_ms: latencies_ms.to_vec(),
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
