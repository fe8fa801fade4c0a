//! Tests the rate limits through the public API.

mod client_ip;
mod gcra;
mod header;
mod memory;
mod model;
mod overflow;
#[cfg(feature = "redis")]
mod redis;
mod window;

use offhook_ratelimit as tested;
