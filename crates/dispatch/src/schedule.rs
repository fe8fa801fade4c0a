//! When a failed delivery is attempted again.

use std::time::Duration;

use offhook_domain::AttemptId;

/// The documented waits between attempts: 5 min, 30 min, 2 h.
pub const RETRY_OFFSETS: [Duration; 3] = [
    Duration::from_secs(5 * 60),
    Duration::from_secs(30 * 60),
    Duration::from_secs(2 * 60 * 60),
];

/// The part of an offset that jitter may add.
const JITTER_PART: f64 = 0.1;

/// Jitter leaves this much of its tenth for finding the delivery due, so that no attempt is more than 10 % late.
const JITTER_MARGIN: Duration = Duration::from_secs(1);

#[derive(Debug, Clone)]
pub(crate) struct Schedule {
    /// The waits after the 1st, 2nd, … failure. One more failure than there are waits ends the delivery.
    pub(crate) offsets: Vec<Duration>,
    /// Whether waits are up to a tenth longer, so that deliveries that failed together are not retried together.
    pub(crate) jitter: bool,
}

impl Schedule {
    /// How long after the end of the failed attempt `number` to retry. `None` after the last, and after a resend
    /// (number 0).
    pub(crate) fn wait(&self, number: i32, id: AttemptId) -> Option<Duration> {
        let failures = usize::try_from(number).ok()?;
        let offset = *self.offsets.get(failures.checked_sub(1)?)?;
        let mut wait = offset;
        if self.jitter {
            let room = offset.mul_f64(JITTER_PART).saturating_sub(JITTER_MARGIN);
            wait += room.mul_f64(unit(id));
        }
        Some(wait)
    }
}

/// A number in [0, 1) from the random part of an id.
fn unit(id: AttemptId) -> f64 {
    let random = id.uuid().as_u128() & u128::from(u32::MAX);
    f64::from(u32::try_from(random).unwrap_or(0)) / (f64::from(u32::MAX) + 1.0)
}

#[cfg(test)]
mod tests {
    use offhook_domain::Timestamp;

    use super::*;
    use crate::RETRY_OFFSETS;

    #[test]
    fn jitter_only_delays_and_by_less_than_a_tenth() {
        let at = Timestamp::from_micros(1_777_000_000_000_000);
        let schedule = Schedule {
            offsets: RETRY_OFFSETS.to_vec(),
            jitter: true,
        };
        for random in [0, 1, 128, 255] {
            let id = AttemptId::mint(at, [random; 10]);
            for (number, offset) in (1..).zip(RETRY_OFFSETS) {
                let wait = schedule.wait(number, id).unwrap();
                assert!(wait >= offset);
                assert!(wait + JITTER_MARGIN <= offset.mul_f64(1.1));
            }
        }
    }
}
