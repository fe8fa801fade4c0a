//! Builders, a manual clock, fake providers and test databases for Offhook's tests.

mod clock;
mod database;
pub mod fakes;
pub mod files;
mod port;
mod proxy;
mod redis;
mod seen;
pub mod upstream;

pub use clock::ManualClock;
pub use database::{Given, POSTGRES_VARIABLE, TestDatabase};
pub use port::free_port;
pub use proxy::{Network, Proxy};
pub use redis::{RedisServer, shared_redis_url};
pub use seen::{Interface, SEEN_VARIABLE};
