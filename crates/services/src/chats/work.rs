//! Answers and endings under way in this process. They outlive the requests that started them, and the process waits
//! for them when it stops.

use futures_util::FutureExt as _;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// How long answers may continue after the process is told to stop.
const DRAIN: Duration = Duration::from_secs(20);

#[derive(Default)]
pub(crate) struct Work {
    tasks: TaskTracker,
    /// Stops every answer where it is.
    hurry: CancellationToken,
    /// The runtime that lives as long as the process; a request's runtime may not.
    runtime: Option<Handle>,
}

impl Work {
    /// Tasks will run on the current runtime, if there is one.
    pub(crate) fn here() -> Self {
        Self {
            runtime: Handle::try_current().ok(),
            ..Self::default()
        }
    }

    pub(crate) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        drop(self.run(task));
    }

    /// Runs a task to its end, even if its caller is gone.
    pub(crate) fn run<T: Send + 'static>(
        &self,
        task: impl Future<Output = T> + Send + 'static,
    ) -> JoinHandle<T> {
        match &self.runtime {
            Some(runtime) => self.tasks.spawn_on(task, runtime),
            None => self.tasks.spawn(task.boxed()),
        }
    }

    /// Cancelled when answers must stop where they are.
    pub(crate) const fn hurry(&self) -> &CancellationToken {
        &self.hurry
    }

    /// Waits for tasks under way, for a while or until `hurry`, then stops them.
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
