//! An account's activity now and in a period.

use serde_json::Value;

use crate::Result;
use crate::prelude::*;

/// Calls whose latencies are read.
const MEASURED_CALLS: i64 = 200;

/// Calls whose replies are read step by step.
const SPLIT_CALLS: i64 = 50;

#[derive(Clone)]
pub struct Overview(pub(crate) Arc<Context>);

/// The totals of one bar of an overview.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Totals {
    /// Calls that have ended.
    pub calls: i64,
    /// Those of them that failed.
    pub failed: i64,
    /// Those in which a person answered and spoke.
    pub answered: i64,
    /// How long these lasted.
    pub seconds: i64,
    /// What all conversations cost.
    pub credits: i64,
}

impl Totals {
    /// The totals of several bars.
    pub fn sum<'a>(bars: impl IntoIterator<Item = &'a Self>) -> Self {
        bars.into_iter().fold(Self::default(), |sum, bar| Self {
            calls: sum.calls + bar.calls,
            failed: sum.failed + bar.failed,
            answered: sum.answered + bar.answered,
            seconds: sum.seconds + bar.seconds,
            credits: sum.credits + bar.credits,
        })
    }
}

/// How long customers waited for replies.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Waits {
    /// In each of the newest 200 measured calls.
    pub measured: Vec<CallLatency>,
    /// The medians of these; `None` if none was measured.
    pub typical: Option<CallLatency>,
}

/// The steps of a reply ([`Overview::split`]), in order.
pub const REPLY_STEPS: [&str; 5] = [
    "end_of_turn_ms",
    "first_token_ms",
    "first_sentence_ms",
    "first_byte_ms",
    "first_frame_ms",
];

#[boxed]
impl Overview {
    /// The totals of the conversations that began between each two of these instants, which rise and are whole quarters
    /// of an hour. The cost is one read of each conversation in between.
    pub async fn totals(
        &self,
        caller: &Caller,
        agent: Option<AgentId>,
        edges: &[Timestamp],
    ) -> Result<Vec<Totals>> {
        let mut bars = vec![Totals::default(); edges.len().saturating_sub(1)];
        let stretch = some_or!(stretch(agent, edges), bars);
        let store = &self.0.store;
        for quarter in store.quarters(caller.account.id, stretch).await? {
            let place = edges.partition_point(|edge| *edge <= quarter.begins_at());
            if let Some(bar) = bars.get_mut(place.saturating_sub(1)) {
                *bar = Totals {
                    calls: bar.calls + quarter.calls,
                    failed: bar.failed + quarter.failed,
                    answered: bar.answered + quarter.answered,
                    seconds: bar.seconds + quarter.seconds,
                    credits: bar.credits + quarter.credits,
                };
            }
        }
        Ok(bars)
    }

    /// Why calls that began between the first and the last of these instants failed, the most frequent reason first.
    pub async fn failures(
        &self,
        caller: &Caller,
        agent: Option<AgentId>,
        edges: &[Timestamp],
    ) -> Result<Vec<(Option<FailureReason>, i64)>> {
        let stretch = some_or!(stretch(agent, edges), Vec::new());
        let mut found = self.0.store.failures(caller.account.id, stretch).await?;
        found.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        Ok(found)
    }

    /// How long customers waited in the newest calls that began between the first and the last of these instants.
    pub async fn waits(
        &self,
        caller: &Caller,
        agent: Option<AgentId>,
        edges: &[Timestamp],
    ) -> Result<Waits> {
        let stretch = some_or!(stretch(agent, edges), Waits::default());
        let store = &self.0.store;
        let measured = store
            .call_latencies(caller.account.id, stretch, MEASURED_CALLS)
            .await?;
        Ok(Waits {
            typical: typical(&measured),
            measured,
        })
    }

    /// The median of each step's own milliseconds over the replies of the newest 50 calls; `None` if none was measured.
    pub async fn split(
        &self,
        caller: &Caller,
        agent: Option<AgentId>,
        edges: &[Timestamp],
    ) -> Result<Option<[i64; 5]>> {
        let stretch = some_or!(stretch(agent, edges), None);
        let store = &self.0.store;
        let replies = store
            .reply_latencies(caller.account.id, stretch, SPLIT_CALLS)
            .await?;
        Ok(split(&replies))
    }

    /// Up to `most` calls that are dialing, ringing, talking or closing, newest first.
    pub async fn live(&self, caller: &Caller, most: u32) -> Result<Vec<LiveCall>> {
        let store = &self.0.store;
        store
            .calls_under_way(caller.account.id, i64::from(most))
            .await
    }
}

/// The conversations between the first and the last of these instants.
fn stretch(agent: Option<AgentId>, edges: &[Timestamp]) -> Option<Stretch> {
    let (since, until) = (*edges.first()?, *edges.last()?);
    Some(Stretch {
        agent,
        since,
        until,
    })
}

/// The median of each step's own time. A step is stored as the time from the end of the customer's speech.
fn split(replies: &[String]) -> Option<[i64; 5]> {
    let mut steps: [Vec<i64>; 5] = Default::default();
    for reply in replies {
        let Ok(reply) = serde_json::from_str::<Value>(reply) else {
            continue;
        };
        let mut before = 0;
        for (name, own) in REPLY_STEPS.into_iter().zip(&mut steps) {
            let Some(at) = reply.get(name).and_then(Value::as_i64) else {
                break;
            };
            own.push((at - before).max(0));
            before = at;
        }
    }
    let median = |mut own: Vec<i64>| {
        own.sort_unstable();
        own.get(own.len() / 2).copied()
    };
    let [turn, token, sentence, byte, frame] = steps.map(median);
    Some([turn?, token?, sentence?, byte?, frame?])
}

/// The medians over calls, each call weighted by its replies.
fn typical(calls: &[CallLatency]) -> Option<CallLatency> {
    let turns = calls.iter().map(|call| i64::from(call.turns)).sum::<i64>();
    let median = |of: fn(&CallLatency) -> i32| {
        let mut values: Vec<_> = calls.iter().map(|call| (of(call), call.turns)).collect();
        values.sort_unstable();
        let mut left = (turns + 1) / 2;
        let reached = values.into_iter().find(|(_, turns)| {
            left -= i64::from(*turns);
            left <= 0
        });
        reached.map(|(value, _)| value)
    };
    Some(CallLatency {
        turns: i32::try_from(turns).unwrap_or(i32::MAX),
        p50_ms: median(|call| call.p50_ms)?,
        p95_ms: median(|call| call.p95_ms)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_as_long_as_it_took_by_itself() {
        let reply = |times: [i64; 5]| {
            let pairs = REPLY_STEPS.into_iter().zip(times);
            serde_json::to_string(&pairs.collect::<std::collections::BTreeMap<_, _>>()).unwrap()
        };
        let replies = [
            reply([100, 300, 350, 450, 500]),
            reply([700, 800, 850, 900, 905]),
            reply([200, 500, 540, 640, 700]),
            "{}".to_owned(),
        ];
        assert_eq!(split(&replies), Some([200, 200, 50, 100, 50]));
        assert_eq!(split(&[]), None);
    }

    #[test]
    fn a_typical_call_is_the_middle_one_by_replies() {
        let call = |turns, p50_ms, p95_ms| CallLatency {
            turns,
            p50_ms,
            p95_ms,
        };
        assert_eq!(typical(&[]), None);
        assert_eq!(typical(&[call(3, 500, 900)]), Some(call(3, 500, 900)));
        let calls = [call(1, 100, 2_000), call(10, 600, 900), call(1, 900, 950)];
        assert_eq!(typical(&calls), Some(call(12, 600, 900)));
    }
}
