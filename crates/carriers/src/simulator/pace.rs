//! The timing of the simulated network.

use std::time::Duration;

/// The duration of a spoken character.
const PER_CHAR: Duration = Duration::from_millis(60);

/// The speed of a network's people, relative to real time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pace(f64);

impl Pace {
    /// Anything but a positive number means real time.
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

    /// The duration of `real` at this speed.
    pub(crate) fn of(self, real: Duration) -> Duration {
        Duration::try_from_secs_f64(real.as_secs_f64() / self.0).unwrap_or(real)
    }

    /// The duration of saying `text`.
    pub(crate) fn speech(self, text: &str) -> Duration {
        let chars = u32::try_from(text.chars().count()).unwrap_or(u32::MAX);
        self.of(PER_CHAR.saturating_mul(chars))
    }
}
