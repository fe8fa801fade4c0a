//! Whether the process can serve, cached between probes.

use std::time::Duration;

use offhook_services::Health;
use tokio::sync::Mutex;
use tokio::time::Instant;

/// How long `/readyz` may cache the state "ready".
const READY_FOR: Duration = Duration::from_secs(1);

/// How long `/readyz` may cache any other state.
const UNREADY_FOR: Duration = Duration::from_millis(100);

/// The last result. However often clients probe, the database is queried once a second.
#[derive(Debug, Default)]
pub(crate) struct Readiness(Mutex<Option<(Instant, Result<(), String>)>>);

impl Readiness {
    pub(crate) async fn look(&self, health: &Health) -> Result<(), String> {
        let mut last = self.0.lock().await;
        if !health.is_stopping()
            && let Some((at, state)) = &*last
        {
            let keeps = if state.is_ok() {
                READY_FOR
            } else {
                UNREADY_FOR
            };
            if at.elapsed() < keeps {
                return state.clone();
            }
        }
        let asked = Instant::now();
        let state = health.ready().await;
        *last = Some((asked, state.clone()));
        state
    }
}
