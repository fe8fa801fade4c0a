//! What this process counts of itself, and its text for Prometheus (`/metrics`).
//!
//! There is one set of figures per process, [`metrics`]. Counting is an atomic addition behind a look-up by the labels,
//! and no label's values come from outside: neither ids nor names nor numbers of anybody are among them.

mod families;
mod process;
mod registry;

use std::sync::LazyLock;

pub use families::{
    Calls, Database, Deliveries, Http, InFlight, Jobs, Knowledge, Limiter, Logs, Recordings, Traces,
};
pub use registry::{CONTENT_TYPE, Metrics};

static METRICS: LazyLock<Metrics> = LazyLock::new(Metrics::new);

/// The figures of this process.
pub fn metrics() -> &'static Metrics {
    &METRICS
}
