//! What time it is: by the machine, by the database that processes share, and within one call.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use offhook_domain::{Clock, Timestamp};
use offhook_storage::Store;
use tokio_util::sync::CancellationToken;

use crate::Result;
use crate::shared::Shared;
use crate::workers::Turns;

/// How often the database is asked for the time.
const ASK_EVERY: Duration = Duration::from_secs(10);

/// An answer that took longer says too little.
const ANSWER_WITHIN: Duration = Duration::from_millis(250);

/// Less than this is not worth a jump: it is as much the way of the answer as it is the clock.
const JUMP_MICROS: i64 = 100_000;

/// A machine further off than this is worth a word.
const FAR_MICROS: i64 = 2_000_000;

/// The clock of the machine: the only place that reads it.
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

    /// The machine's time when this was first asked, and what has passed since by the clock that nobody can turn.
    fn steady(&self) -> Timestamp {
        static BEGAN: LazyLock<(Timestamp, Instant)> =
            LazyLock::new(|| (SystemClock.now(), Instant::now()));
        BEGAN.0.plus(BEGAN.1.elapsed())
    }
}

/// The clock of the processes that share a PostgreSQL: the database's. Each carries it on by a clock that nobody can
/// turn, so that a machine whose own clock is wrong, or is stepped, reads the same time as all others: a batch begins, a
/// month is entered and a signature is made at a time that the others agree with.
pub struct SharedClock {
    /// How far the database's clock was ahead of [`SystemClock::steady`] at the start, and is now.
    began_ahead: i64,
    ahead: AtomicI64,
}

impl SharedClock {
    /// The clock of those who share this store: the machine's where nobody does.
    ///
    /// # Errors
    /// `StoreError` if the database does not say what time it is.
    pub async fn of(store: &Store) -> Result<Arc<dyn Clock>> {
        if store.is_embedded() {
            return Ok(Arc::new(SystemClock));
        }
        let (told, at, _) = ask(store).await?;
        let ahead = told.micros() - at.micros();
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

/// What the database's clock read when [`SystemClock::steady`] read the second, and how long it took to say so.
async fn ask(store: &Store) -> Result<(Timestamp, Timestamp, Duration)> {
    let asked = SystemClock.steady();
    let told = store.shared_time(asked).await?;
    let took = SystemClock.steady().since(asked);
    Ok((told, asked.plus(took / 2), took))
}

/// Follows the database's clock until `stop`, where processes share one.
pub(crate) async fn keep(shared: Arc<Shared>, stop: CancellationToken) {
    if shared.store.is_embedded() {
        return;
    }
    let mut turns = Turns::new(ASK_EVERY, &stop);
    while turns.next().await {
        // Without an answer this machine's oscillator is good enough.
        if let Ok((told, at, took)) = ask(&shared.store).await
            && took <= ANSWER_WITHIN
        {
            shared.clock.follow(told, at);
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

/// The clock of one call: it begins as another one and is not turned with it, so that a call has lasted as long as it
/// did.
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
