//! The resolver that only returns public addresses.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use crate::{Lookup, LookupError, Policy, is_public};

/// The time limit of a lookup.
pub const RESOLVE_TIMEOUT: Duration = Duration::from_secs(2);

/// The target has an address that is not public. The error does not contain the address: a customer must not learn what
/// the internal network looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the target has an address that is not public")]
pub struct Blocked;

#[derive(Debug, thiserror::Error)]
enum ResolveError {
    #[error(transparent)]
    Lookup(LookupError),
    #[error("the name did not resolve in time")]
    TimedOut,
    #[error("the name has no address")]
    NoAddress,
}

/// Resolves names for a [`reqwest::Client`] and checks the answer, at every connect. The connection goes to one of the
/// addresses checked here, so a name that changes between two lookups gains nothing.
///
/// `reqwest` does not use a resolver for IP literals: [`TargetUrl`](crate::TargetUrl) rejects those.
#[derive(Clone)]
pub struct GuardedResolver {
    lookup: Arc<dyn Lookup>,
    policy: Policy,
}

impl GuardedResolver {
    /// Checks the answers of `lookup` against `policy`.
    pub fn new(lookup: Arc<dyn Lookup>, policy: Policy) -> Self {
        Self { lookup, policy }
    }
}

impl Resolve for GuardedResolver {
    /// Returns [`Blocked`] if *any* address is not public: one private address among public ones is enough.
    fn resolve(&self, name: Name) -> Resolving {
        let answer = self.lookup.lookup(name.as_str());
        let policy = self.policy;
        Box::pin(async move {
            let addresses = tokio::time::timeout(RESOLVE_TIMEOUT, answer)
                .await
                .map_err(|_| ResolveError::TimedOut)?
                .map_err(ResolveError::Lookup)?;
            vet(addresses, policy)
        })
    }
}

fn vet(
    addresses: Vec<IpAddr>,
    policy: Policy,
) -> Result<Addrs, Box<dyn std::error::Error + Send + Sync>> {
    if addresses.is_empty() {
        return Err(ResolveError::NoAddress.into());
    }
    if !policy.allow_private && !addresses.iter().all(|address| is_public(*address)) {
        return Err(Blocked.into());
    }
    // Port 0 means the URL's own port.
    Ok(Box::new(
        addresses
            .into_iter()
            .map(|address| SocketAddr::new(address, 0)),
    ))
}
