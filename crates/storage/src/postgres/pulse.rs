//! Whether the server answers at all.
//!
//! A network that swallows what is sent tells nobody: without this, whoever waits for a statement on such a connection
//! waits until the kernel gives it up, and whoever comes next waits for a connection. A session of its own asks for
//! nothing every quarter of a second; when that goes unanswered, everybody who waits is told at once, and so is whoever
//! comes until it is answered again. A statement that is merely slow is waited for as ever.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use diesel_async::{AsyncPgConnection, SimpleAsyncConnection as _};
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use crate::connect::Door;

/// The pause between two questions.
const EVERY: Duration = Duration::from_millis(250);

/// A server that has said nothing for so long is out of reach. With [`EVERY`] and the way to the client this keeps
/// every answer below two seconds.
const SILENT_AFTER: Duration = Duration::from_millis(1_400);

/// A question is given up after so long more: an answer that comes late is one, and opening a session may take its time
/// on a busy machine. Less would open another session for ever where each takes longer than [`SILENT_AFTER`].
const GIVEN_UP_AFTER: Duration = Duration::from_millis(3_600);

/// Knows whether the server answers; it asks until the last clone is gone.
#[derive(Clone)]
pub(crate) struct Pulse(Arc<Beating>);

struct Beating {
    silent: watch::Receiver<bool>,
    task: JoinHandle<()>,
}

impl Drop for Beating {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Pulse {
    /// Begins to ask.
    pub(crate) fn of(door: Door, runtime: &Handle) -> Self {
        let (tell, silent) = watch::channel(false);
        let task = runtime.spawn(ask(door, tell));
        Self(Arc::new(Beating { silent, task }))
    }

    /// Whether the server is out of reach, as far as is known.
    pub(crate) fn is_silent(&self) -> bool {
        *self.0.silent.borrow()
    }

    /// Returns when the server has fallen silent.
    pub(crate) async fn stops(&self) {
        let mut silent = self.0.silent.clone();
        if silent.wait_for(|silent| *silent).await.is_err() {
            // Nobody asks any more: nothing is known.
            std::future::pending::<()>().await;
        }
    }
}

async fn ask(door: Door, tell: watch::Sender<bool>) {
    let mut session = None;
    loop {
        sleep(EVERY).await;
        let answers = {
            let mut answered = pin!(answered(&door, &mut session));
            match timeout(SILENT_AFTER, &mut answered).await {
                Ok(answers) => Some(answers),
                Err(_) => {
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

/// Asks for nothing. A session that was ended says nothing of the server: another is opened.
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
        Err(_) => false,
    }
}
