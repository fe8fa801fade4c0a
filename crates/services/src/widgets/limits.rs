//! What a widget's visitors may begin in a minute, and spend on a day.

use crate::error::Result;
use crate::prelude::*;

const MINUTE_US: i64 = 60_000_000;
const DAY_US: i64 = 86_400_000_000;

/// Counts a session that begins, and the credits that it reserves, for the agent's widget. Returns the day that they
/// count for.
pub(crate) async fn count_session(
    tx: &mut Tx<'_>,
    agent: AgentId,
    origin: &str,
    (reserve, at): (Credits, Timestamp),
) -> Result<i32> {
    let counts = tx.lock_widget_of(agent, origin).await?;
    let mut counts = counts.ok_or(UseCaseError::Origin)?;
    if !counts.count_session(at.micros().div_euclid(MINUTE_US)) {
        let wait = seconds_to_the_next(MINUTE_US, at);
        return Err(UseCaseError::RateLimited(Refusal::TooManySessions, wait));
    }
    count_credits(tx, agent, counts, (reserve, at)).await
}

/// Counts credits that are reserved now against the widget's cap. Returns the day that they count for.
pub(crate) async fn count_credits(
    tx: &mut Tx<'_>,
    agent: AgentId,
    mut counts: WidgetCounts,
    (credits, at): (Credits, Timestamp),
) -> Result<i32> {
    let Some(day) = counts.reserve(at.utc_day(), credits) else {
        let wait = seconds_to_the_next(DAY_US, at);
        return Err(UseCaseError::RateLimited(Refusal::CapReached, wait));
    };
    tx.set_widget_counts(agent, counts).await?;
    Ok(day)
}

/// Seconds to the next whole `period` of microseconds, rounded up.
fn seconds_to_the_next(period: i64, at: Timestamp) -> u64 {
    let left = period - at.micros().rem_euclid(period);
    u64::try_from(left).unwrap_or(0).div_ceil(1_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_ends_with_the_minute_or_the_day() {
        let at = |micros| Timestamp::from_micros(micros);
        assert_eq!(seconds_to_the_next(MINUTE_US, at(0)), 60);
        assert_eq!(seconds_to_the_next(MINUTE_US, at(59_999_999)), 1);
        assert_eq!(seconds_to_the_next(MINUTE_US, at(61_500_000)), 59);
        assert_eq!(seconds_to_the_next(DAY_US, at(86_399_000_000)), 1);
    }
}
