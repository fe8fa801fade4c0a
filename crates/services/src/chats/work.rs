//! Answers and endings that are under way in this process. They outlive the requests that asked for them, and are waited
//! for when the process stops.

use futures_util::FutureExt as _;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// How long answers may go on after the process is asked to stop.
const DRAIN: Duration = Duration::from_secs(20);

/// What is under way.
#[derive(Default)]
pub(crate) struct Work {
    tasks: TaskTracker,
    /// Ends every answer where it stands.
    hurry: CancellationToken,
    /// The runtime that lives as long as the process: a request's does not have to.
    runtime: Option<Handle>,
}

impl Work {
    /// Nothing yet; what will be is done by the runtime that this is called in, if there is one.
    pub(crate) fn here() -> Self {
        Self {
            runtime: Handle::try_current().ok(),
            ..Self::default()
        }
    }

    pub(crate) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        drop(self.run(task));
    }

    /// Does something to its end, whoever waits for it.
    pub(crate) fn run<T: Send + 'static>(
        &self,
        task: impl Future<Output = T> + Send + 'static,
    ) -> JoinHandle<T> {
        match &self.runtime {
            Some(runtime) => self.tasks.spawn_on(task, runtime),
            None => self.tasks.spawn(task.boxed()),
        }
    }

    /// What says that answers are to end where they stand.
    pub(super) const fn hurry(&self) -> &CancellationToken {
        &self.hurry
    }

    /// Waits for what is under way, for a while or until `hurry`, and then ends it.
    pub(crate) async fn drain(&self, hurry: &CancellationToken) {
        self.tasks.close();
        tokio::select! {
            () = self.tasks.wait() => return,
            () = tokio::time::sleep(DRAIN) => {}
            () = hurry.cancelled() => {}
        }
        self.hurry.cancel();
        self.tasks.wait().await;
    }
}
