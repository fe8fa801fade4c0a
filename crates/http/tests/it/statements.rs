//! How many statements the database is sent.

use std::collections::BTreeMap;
use std::time::Duration;

use diesel::connection::{Instrumentation, InstrumentationEvent, set_default_instrumentation};
use offhook_testkit::TestDatabase;
use parking_lot::Mutex;

use crate::it::client::must;

/// By the address of the database: tests of one process have one each.
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

/// Counts the statements that a database is sent.
pub(crate) struct Statements {
    url: String,
}

impl Statements {
    /// Begins to count, on connections that are opened from now on.
    pub(crate) fn of(database: &TestDatabase) -> Self {
        must(set_default_instrumentation(|| {
            Some(Box::<Counter>::default())
        }));
        let file = database.directory().map(|place| place.join("offhook.db"));
        Self {
            url: file.unwrap_or_default().to_string_lossy().into_owned(),
        }
    }

    /// How many were sent so far.
    pub(crate) fn sent(&self) -> usize {
        let sent = SENT.lock();
        sent.get(&self.url).copied().unwrap_or(0)
    }

    /// Waits until nothing is sent any more.
    pub(crate) async fn settle(&self) {
        let (mut before, mut quiet) = (self.sent(), 0);
        // A machine that stands still sends nothing either: several looks, so that others had their turn between two.
        while quiet < 4 {
            tokio::time::sleep(Duration::from_millis(100)).await;
            let now = self.sent();
            quiet = if now == before { quiet + 1 } else { 0 };
            before = now;
        }
    }
}
