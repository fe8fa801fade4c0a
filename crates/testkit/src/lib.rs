//! Builders, a clock to turn, fake upstreams and test databases for Offhook's tests.

mod clock;
mod database;
pub mod files;
mod seen;

pub use clock::ManualClock;
pub use database::{Given, POSTGRES_VARIABLE, TestDatabase};
pub use seen::{Interface, SEEN_VARIABLE};
