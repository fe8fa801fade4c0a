//! Counts the statements that the database receives.

use std::collections::BTreeMap;
use std::time::Duration;

use diesel::connection::{Instrumentation, InstrumentationEvent, set_default_instrumentation};
use offhook_testkit::TestDatabase;
use parking_lot::Mutex;

use crate::it::client::must;

/// By the path of the database: each test of a process has its own.
static SENT: Mutex<BTreeMap<String, usize>> = Mutex::new(BTreeMap::new());

#[derive(Default)]
struct Counter {
    url: String,
}

impl Instrumentation for Counter {
    fn on_connection_event(&mut self, event: InstrumentationEvent<'_>) {
        match event {
            InstrumentationEvent::StartEstablishConnection { url, .. } => self.url = url.to_owned(),
            InstrumentationEvent::StartQuery { .. } => {
                let mut sent = SENT.lock();
                *sent.entry(self.url.clone()).or_default() += 1;
            }
            _ => {}
        }
    }
}

/// Counts the statements that a database receives.
pub(crate) struct Statements {
    url: String,
}

impl Statements {
    /// Starts counting, on connections opened from now on.
    pub(crate) fn of(database: &TestDatabase) -> Self {
        must(set_default_instrumentation(|| {
            Some(Box::<Counter>::default())
        }));
        let file = database.directory().map(|place| place.join("offhook.db"));
        Self {
            url: file.unwrap_or_default().to_string_lossy().into_owned(),
        }
    }

    /// The statements so far.
    pub(crate) fn sent(&self) -> usize {
        let sent = SENT.lock();
        sent.get(&self.url).copied().unwrap_or(0)
    }

    /// Waits until no more statements are sent.
    pub(crate) async fn settle(&self) {
        let (mut before, mut quiet) = (self.sent(), 0);
        // A stalled machine sends nothing either, so several checks give other threads their turn in between.
        while quiet < 4 {
            tokio::time::sleep(Duration::from_millis(100)).await;
            let now = self.sent();
            quiet = if now == before { quiet + 1 } else { 0 };
            before = now;
        }
    }
}
