//! How many statements the database is sent.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use diesel::connection::{Instrumentation, InstrumentationEvent, set_default_instrumentation};
use offhook_testkit::TestDatabase;

use crate::client::must;

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
                let mut sent = SENT.lock().unwrap_or_else(PoisonError::into_inner);
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
        let sent = SENT.lock().unwrap_or_else(PoisonError::into_inner);
        sent.get(&self.url).copied().unwrap_or(0)
    }

    /// Waits until nothing is sent any more.
    pub(crate) async fn settle(&self) {
        let mut before = self.sent();
        loop {
            tokio::time::sleep(Duration::from_millis(300)).await;
            if self.sent() == before {
                return;
            }
            before = self.sent();
        }
    }
}
