//! The time: of the machine, of the database that processes share, and within one call.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use crate::Result;
use crate::prelude::*;
use crate::workers::Turns;

/// How often the database is queried for the time.
const ASK_EVERY: Duration = Duration::from_secs(10);

/// A slower response is too imprecise.
const ANSWER_WITHIN: Duration = Duration::from_millis(250);

/// A smaller difference is not worth a jump: it may be due to the response's travel time.
const JUMP_MICROS: i64 = 100_000;

/// Log a machine clock that is off by more than this.
const FAR_MICROS: i64 = 2_000_000;

/// The machine's clock. No other code reads it.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        #[expect(
            clippy::disallowed_methods,
            reason = "this is the adapter of the system's clock"
        )]
        let now = SystemTime::now();
        let micros = now
            .duration_since(UNIX_EPOCH)
            .map_or(0, |since| since.as_micros());
        Timestamp::from_micros(i64::try_from(micros).unwrap_or(i64::MAX))
    }

    /// The machine's time at the first call, plus what has passed since by the monotonic clock.
    fn steady(&self) -> Timestamp {
        static BEGAN: LazyLock<(Timestamp, Instant)> =
            LazyLock::new(|| (SystemClock.now(), Instant::now()));
        BEGAN.0.plus(BEGAN.1.elapsed())
    }
}

/// The clock of processes that share a PostgreSQL: the database's. Each process extrapolates it with its monotonic
/// clock. A machine whose own clock is wrong or stepped therefore agrees with all others on when a batch begins, a
/// month is entered and a signature is made.
pub struct SharedClock {
    /// How far the database's clock is ahead of [`SystemClock::steady`]: at the start, and now.
    began_ahead: i64,
    ahead: AtomicI64,
}

impl SharedClock {
    /// The clock of the processes that share this store; the machine's clock if the store is embedded. Fails if the
    /// database does not return the time.
    pub async fn of(store: &Store) -> Result<Arc<dyn Clock>> {
        if store.is_embedded() {
            return Ok(Arc::new(SystemClock));
        }
        let (shared, at, _) = ask(store).await?;
        let ahead = shared.micros() - at.micros();
        let by_the_machine = SystemClock.steady().micros() - SystemClock.now().micros();
        warn_of(ahead + by_the_machine);
        Ok(Arc::new(Self {
            began_ahead: ahead,
            ahead: AtomicI64::new(ahead),
        }))
    }
}

impl Clock for SharedClock {
    fn now(&self) -> Timestamp {
        let steady = SystemClock.steady().micros();
        Timestamp::from_micros(steady.saturating_add(self.ahead.load(Ordering::Relaxed)))
    }

    fn steady(&self) -> Timestamp {
        Timestamp::from_micros(
            SystemClock
                .steady()
                .micros()
                .saturating_add(self.began_ahead),
        )
    }

    fn follow(&self, shared: Timestamp, by: Timestamp) {
        let ahead = shared.micros() - by.micros();
        let before = self.ahead.load(Ordering::Relaxed);
        if (ahead - before).abs() >= JUMP_MICROS {
            let by_ms = (ahead - before) / 1_000;
            tracing::info!(by_ms, "the database's clock is followed");
            self.ahead.store(ahead, Ordering::Relaxed);
        }
    }
}

/// The database's time, the [`SystemClock::steady`] time at which it was read, and the duration of the query.
async fn ask(store: &Store) -> Result<(Timestamp, Timestamp, Duration)> {
    let asked = SystemClock.steady();
    let shared = store.shared_time(asked).await?;
    let took = SystemClock.steady().since(asked);
    Ok((shared, asked.plus(took / 2), took))
}

/// Follows the database's clock until `stop`, if processes share one.
pub(crate) async fn keep(ctx: Arc<Context>, stop: CancellationToken) {
    if ctx.store.is_embedded() {
        return stop.cancelled().await;
    }
    let mut turns = Turns::new(ASK_EVERY, &stop);
    while turns.next().await {
        // Without a response, this machine's oscillator is good enough.
        if let Ok((shared, at, took)) = ask(&ctx.store).await
            && took <= ANSWER_WITHIN
        {
            ctx.clock.follow(shared, at);
        }
    }
}

fn warn_of(micros: i64) {
    if micros.abs() >= FAR_MICROS {
        tracing::warn!(
            seconds = -micros / 1_000_000,
            "this machine's clock is ahead of the database's by so much; the database's is used"
        );
    }
}

/// The clock of one call. It starts at another clock's time but does not follow its changes, so that a call's duration
/// is right.
pub(crate) struct CallClock {
    clock: Arc<dyn Clock>,
    began: Timestamp,
    steady: Timestamp,
}

impl CallClock {
    pub(crate) fn of(clock: Arc<dyn Clock>) -> Self {
        let (began, steady) = (clock.now(), clock.steady());
        Self {
            clock,
            began,
            steady,
        }
    }
}

impl Clock for CallClock {
    fn now(&self) -> Timestamp {
        self.began.plus(self.clock.steady().since(self.steady))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Turned(AtomicI64);

    impl Clock for Turned {
        fn now(&self) -> Timestamp {
            Timestamp::from_micros(self.0.load(Ordering::Relaxed))
        }

        fn steady(&self) -> Timestamp {
            Timestamp::from_micros(7_000_000)
        }
    }

    #[test]
    fn a_call_lasts_as_long_as_it_does_whatever_is_turned() {
        let turned = Arc::new(Turned(AtomicI64::new(1_000_000)));
        let call = CallClock::of(turned.clone());
        turned.0.store(3_600_000_000, Ordering::Relaxed);
        assert_eq!(call.now(), Timestamp::from_micros(1_000_000));
    }
}
