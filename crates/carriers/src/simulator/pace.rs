//! How long things take in the simulated network.

use std::time::Duration;

/// What a spoken character takes.
const PER_CHAR: Duration = Duration::from_millis(60);

/// The speed of a network's people, against real life.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pace(f64);

impl Pace {
    /// A speed that is not a positive number is real life's.
    pub(crate) fn new(speed: f64) -> Self {
        Self(if speed.is_finite() && speed > 0.0 {
            speed
        } else {
            1.0
        })
    }

    pub(crate) const fn speed(self) -> f64 {
        self.0
    }

    /// What `real` takes at this speed.
    pub(crate) fn of(self, real: Duration) -> Duration {
        Duration::try_from_secs_f64(real.as_secs_f64() / self.0).unwrap_or(real)
    }

    /// What it takes to say `text`.
    pub(crate) fn speech(self, text: &str) -> Duration {
        let chars = u32::try_from(text.chars().count()).unwrap_or(u32::MAX);
        self.of(PER_CHAR.saturating_mul(chars))
    }
}
