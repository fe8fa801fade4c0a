//! Recent model latencies, which `fastest` routing uses.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

/// Age at which a measurement expires, so that the model gets another chance.
const FRESH: Duration = Duration::from_secs(300);

/// Models kept at most; without a limit, customers' own endpoints would grow the table for ever.
const MAX_MODELS: usize = 1_024;

/// Times to the first token, by model. All calls of a process share one table.
#[derive(Debug, Clone, Default)]
pub struct Latencies(Arc<Mutex<HashMap<Box<str>, Measured>>>);

#[derive(Debug, Clone, Copy)]
struct Measured {
    average: Duration,
    at: Instant,
}

impl Latencies {
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a measurement, as a moving average: half new value, half old average.
    pub(crate) fn record(&self, model: &str, took: Duration) {
        let now = Instant::now();
        let mut table = self.0.lock();
        if let Some(known) = table.get_mut(model) {
            let old = known.average;
            known.average = if now - known.at < FRESH {
                (old + took) / 2
            } else {
                took
            };
            known.at = now;
            return;
        }
        if table.len() >= MAX_MODELS {
            table.retain(|_, known| now - known.at < FRESH);
            if table.len() >= MAX_MODELS {
                table.clear();
            }
        }
        let measured = Measured {
            average: took,
            at: now,
        };
        table.insert(model.into(), measured);
    }

    /// The recent time to the first token. It is zero for a model without a recent measurement, so that routing tries
    /// it.
    pub(crate) fn recent(&self, model: &str) -> Duration {
        let table = self.0.lock();
        table
            .get(model)
            .filter(|known| known.at.elapsed() < FRESH)
            .map_or(Duration::ZERO, |known| known.average)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_measurement_counts_for_five_minutes() {
        let table = Latencies::new();
        table.record("a", Duration::from_millis(100));
        table.record("a", Duration::from_millis(300));
        assert_eq!(table.recent("a"), Duration::from_millis(200));
        assert_eq!(table.recent("b"), Duration::ZERO);
        tokio::time::advance(FRESH).await;
        assert_eq!(table.recent("a"), Duration::ZERO);
    }

    #[tokio::test(start_paused = true)]
    async fn the_table_stays_small() {
        let table = Latencies::new();
        for n in 0..5_000 {
            table.record(&n.to_string(), Duration::from_millis(1));
        }
        let held = table.0.lock().len();
        assert!(held <= MAX_MODELS);
    }
}
