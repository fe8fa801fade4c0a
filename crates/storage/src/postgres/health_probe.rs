//! Health probe: detects a server that does not answer at all.
//!
//! A network that silently drops packets reports no error. Without this probe, a statement on such a connection waits
//! until the kernel gives up, and later requests wait for a connection. A separate session runs a trivial query every
//! quarter of a second. When that is not answered, all waiting requests fail at once, and so do new ones until it is
//! answered again. A merely slow statement is awaited as usual. A finished statement counts as much as an answered
//! probe: on an overloaded machine the probe itself may be what is slow.

use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use diesel_async::{AsyncPgConnection, SimpleAsyncConnection as _};
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout, timeout_at};

use crate::connect::Door;

/// The pause between two probes.
const EVERY: Duration = Duration::from_millis(250);

/// A server that has been silent for this part of the longest allowed wait is unreachable. With [`EVERY`] and the way
/// to the client, 1.4 of 2 seconds keep every response below two.
const SILENT_AFTER: f64 = 0.7;

/// After the machine has stalled, the timeout fires before the data that arrived meanwhile is read. This is the time to
/// read it.
const TO_READ: Duration = Duration::from_millis(100);

/// A probe is abandoned after this much more time: a late answer counts, and opening a session may take long on a busy
/// machine. A shorter limit would open sessions forever where each takes longer than [`SILENT_AFTER`].
const GIVEN_UP_AFTER: Duration = Duration::from_millis(3_600);

/// Knows whether the server answers. It probes until the last clone is dropped.
#[derive(Clone)]
pub(crate) struct HealthProbe(Arc<Beating>);

struct Beating {
    silent: watch::Receiver<bool>,
    heard: Arc<Heard>,
    task: JoinHandle<()>,
}

impl Drop for Beating {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl HealthProbe {
    /// Starts probing. The server counts as silent after most of `wait` without an answer.
    pub(crate) fn of(door: Door, wait: Duration, runtime: &Handle) -> Self {
        let (tell, silent) = watch::channel(false);
        let heard = Arc::new(Heard::begin());
        let silent_after = wait.mul_f64(SILENT_AFTER);
        let task = runtime.spawn(ask(door, silent_after, heard.clone(), tell));
        Self(Arc::new(Beating {
            silent,
            heard,
            task,
        }))
    }

    /// Records that the server has answered a request.
    pub(crate) fn record_activity(&self) {
        self.0.heard.now();
    }

    /// Whether the server is unreachable, as far as known.
    pub(crate) fn is_silent(&self) -> bool {
        *self.0.silent.borrow()
    }

    /// Returns when the server has fallen silent.
    pub(crate) async fn stops(&self) {
        let mut silent = self.0.silent.clone();
        if silent.wait_for(|silent| *silent).await.is_err() {
            // The probe has ended, so the server's state is unknown.
            std::future::pending::<()>().await;
        }
    }
}

/// When the server last answered any session.
struct Heard {
    begun: Instant,
    /// Milliseconds after `begun`.
    last: AtomicU64,
}

impl Heard {
    fn begin() -> Self {
        Self {
            begun: Instant::now(),
            last: AtomicU64::new(0),
        }
    }

    fn now(&self) {
        let passed = u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.last.fetch_max(passed, Ordering::Relaxed);
    }

    fn last(&self) -> Instant {
        self.begun + Duration::from_millis(self.last.load(Ordering::Relaxed))
    }
}

async fn ask(door: Door, silent_after: Duration, heard: Arc<Heard>, tell: watch::Sender<bool>) {
    let mut session = None;
    loop {
        sleep(EVERY).await;
        let answers = {
            let mut answered = pin!(answered(&door, &mut session));
            match unless_silent(answered.as_mut(), silent_after, &heard).await {
                Some(answers) => Some(answers),
                None => {
                    say(&tell, false);
                    timeout(GIVEN_UP_AFTER, answered).await.ok()
                }
            }
        };
        if answers.is_none() {
            session = None;
        }
        say(&tell, answers == Some(true));
    }
}

/// Waits for an answer while any session gets one. `None` after `silent_after` without any.
async fn unless_silent<T>(
    mut answered: Pin<&mut impl Future<Output = T>>,
    silent_after: Duration,
    heard: &Heard,
) -> Option<T> {
    let asked = Instant::now();
    let silent_at = || asked.max(heard.last()) + silent_after;
    loop {
        let up = silent_at();
        if let Ok(answer) = timeout_at(up, answered.as_mut()).await {
            return Some(answer);
        }
        if silent_at() > up {
            continue;
        }
        if let Ok(answer) = timeout(TO_READ, answered.as_mut()).await {
            return Some(answer);
        }
        if silent_at() <= up {
            return None;
        }
    }
}

fn say(tell: &watch::Sender<bool>, answers: bool) {
    let changed = tell.send_if_modified(|silent| {
        let changed = *silent == answers;
        *silent = !answers;
        changed
    });
    match (changed, answers) {
        (true, true) => tracing::info!("the database answers again"),
        (true, false) => tracing::warn!("the database does not answer"),
        (false, _) => {}
    }
}

/// Runs a trivial query. A closed session says nothing about the server, so another is opened. A server that refuses
/// the session because it is full is alive, and serves those that have one.
async fn answered(door: &Door, session: &mut Option<AsyncPgConnection>) -> bool {
    if let Some(open) = session {
        if open.batch_execute("SELECT 1").await.is_ok() {
            return true;
        }
        *session = None;
    }
    match door.connect().await {
        Ok(opened) => {
            *session = Some(opened);
            true
        }
        Err(none) => none.is_full,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: Duration = Duration::from_millis(1_400);

    async fn answers_after(seconds: u64) {
        sleep(Duration::from_secs(seconds)).await;
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_that_says_nothing_is_silent_in_time() {
        let began = Instant::now();
        let answer = unless_silent(pin!(answers_after(10)), LIMIT, &Heard::begin()).await;
        assert_eq!(answer, None);
        assert_eq!(began.elapsed(), LIMIT + TO_READ);
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_that_answers_others_is_not_silent() {
        let heard = Arc::new(Heard::begin());
        let others = tokio::spawn({
            let heard = heard.clone();
            async move {
                for _ in 0..6 {
                    sleep(Duration::from_secs(1)).await;
                    heard.now();
                }
            }
        });
        let answer = unless_silent(pin!(answers_after(6)), LIMIT, &heard).await;
        assert_eq!(answer, Some(()));
        assert!(others.await.is_ok());

        let began = Instant::now();
        let answer = unless_silent(pin!(answers_after(10)), LIMIT, &heard).await;
        assert_eq!(answer, None, "what was heard before says nothing of now");
        assert_eq!(began.elapsed(), LIMIT + TO_READ);
    }
}
