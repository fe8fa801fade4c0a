//! The metrics of this process, and their text for Prometheus (`/metrics`).
//!
//! Each process has one set of metrics, [`metrics`]. Counting is an atomic addition behind a look-up by the labels. No
//! label's values come from outside: they hold no ids, names or phone numbers.

mod families;
mod process;
mod registry;

use std::sync::LazyLock;

pub use families::{
    Calls, Database, Deliveries, Http, InFlight, Jobs, Knowledge, Limiter, Logs, Recordings, Traces,
};
pub use registry::{CONTENT_TYPE, Metrics};

static METRICS: LazyLock<Metrics> = LazyLock::new(Metrics::new);

pub fn metrics() -> &'static Metrics {
    &METRICS
}
