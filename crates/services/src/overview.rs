//! An account's activity now and in the last day. The cost of each query does not depend on the number of
//! conversations.

use offhook_boxed::boxed;
use std::sync::Arc;
use std::time::Duration;

use offhook_storage::{CallLatency, LiveCall, UsageHour};

use crate::{Caller, Context, Result};

/// Hours of the last day, the current one included.
const HOURS: i32 = 24;

/// Calls whose latencies are read.
const MEASURED_CALLS: i64 = 200;

#[derive(Clone)]
pub struct Overview(pub(crate) Arc<Context>);

/// The last 24 hours of an account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LastDay {
    /// Each of the 24 hours once, oldest first. An ended call counts in the hour that it began.
    pub hours: Vec<UsageHour>,
    /// How long customers waited for replies in each of the newest 200 measured calls.
    pub measured: Vec<CallLatency>,
    /// The medians of these; `None` if none was measured.
    pub latency: Option<CallLatency>,
}

#[boxed]
impl Overview {
    pub async fn last_day(&self, caller: &Caller) -> Result<LastDay> {
        let (store, account) = (&self.0.store, caller.account.id);
        let now = self.0.clock.now();
        let last = UsageHour::of(now);
        let first = last - (HOURS - 1);
        let found = store.usage_hours(account, first, last).await?;
        let mut found = found.into_iter().peekable();
        let hours = (first..=last).map(|hour| {
            let empty = UsageHour {
                hour,
                ..UsageHour::default()
            };
            found.next_if(|total| total.hour == hour).unwrap_or(empty)
        });
        let hours = hours.collect();
        let since = now.minus(Duration::from_secs(24 * 3_600));
        let measured = store.call_latencies(account, since, MEASURED_CALLS).await?;
        Ok(LastDay {
            hours,
            latency: typical(&measured),
            measured,
        })
    }

    /// Up to `most` calls that are dialing, ringing, talking or closing, newest first.
    pub async fn live(&self, caller: &Caller, most: u32) -> Result<Vec<LiveCall>> {
        let store = &self.0.store;
        store
            .calls_under_way(caller.account.id, i64::from(most))
            .await
    }
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
