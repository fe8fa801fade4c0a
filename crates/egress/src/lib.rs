//! The guard for every URL that an account can write: all outgoing addresses are checked.
//!
//! A URL passes two checks. [`TargetUrl::parse`] checks its text: https, a host name, no credentials, no fragment.
//! [`GuardedClient`] then connects only to addresses that [`is_public`] accepts. It resolves the name itself, rejects
//! the whole answer if one of its addresses is not public, follows no redirects and ignores environment proxies.
//! [`GuardedDialer`] does the same for connections that do not stay HTTP, such as WebSockets. [`Failure`] is a short
//! failure reason that can be shown to a customer: it never reveals an address.

mod address;
mod client;
mod dial;
mod failure;
mod lookup;
mod resolver;
mod target;
mod tls;

pub use address::is_public;
pub use client::{GuardedClient, SetupError, http_url, trusted_client};
pub use dial::{Connection, Duplex, GuardedDialer};
pub use failure::{Failure, is_blocked};
pub use lookup::{Lookup, LookupError, SystemLookup};
pub use resolver::{Blocked, GuardedResolver, RESOLVE_TIMEOUT};
pub use target::{MAX_URL_CHARACTERS, Policy, TargetUrl};
pub use tls::client_config;

// Unit and integration tests share one binary; the integration tests use the public API only.
#[cfg(test)]
#[path = "../tests/it/main.rs"]
mod it;
