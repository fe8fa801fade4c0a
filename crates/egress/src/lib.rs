//! Every outgoing address checked: the guard for each URL that an account can write.
//!
//! A URL passes two doors. [`TargetUrl::parse`] reads its text: https, a host name, no credentials, no fragment.
//! [`GuardedClient`] then connects only to addresses that [`is_public`] accepts: it resolves the name itself, refuses
//! the whole answer when one address of it is not public, follows no redirect and ignores the environment's proxies.
//! [`GuardedDialer`] does the same for connections that do not stay HTTP, such as WebSockets.
//! [`Failure`] is the short word for what went wrong, fit to be shown to a customer: it never tells an address.

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
pub use target::{MAX_URL_CHARACTERS, Policy, TargetUrl, TargetUrlError};
pub use tls::client_config;

// Tests of the parts and from outside are one binary; the latter use the library as everybody does.
#[cfg(test)]
#[path = "../tests/it/main.rs"]
mod it;
