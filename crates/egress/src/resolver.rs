//! The resolver that only lets public addresses through.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use crate::{Lookup, LookupError, Policy, is_public};

/// How long a name may take to resolve.
pub const RESOLVE_TIMEOUT: Duration = Duration::from_secs(2);

/// The target has an address that is not public. It does not say which: the answer to a customer's URL must not tell
/// what the network inside looks like.
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

/// Resolves names for a [`reqwest::Client`] and vets the answer, at every connect. The connection goes to one of the
/// addresses vetted here, so a name that changes between two queries gains nothing.
///
/// `reqwest` asks no resolver about IP literals: [`TargetUrl`](crate::TargetUrl) refuses those.
#[derive(Clone)]
pub struct GuardedResolver {
    lookup: Arc<dyn Lookup>,
    policy: Policy,
}

impl GuardedResolver {
    /// Judges the answers of `lookup` by `policy`.
    pub fn new(lookup: Arc<dyn Lookup>, policy: Policy) -> Self {
        Self { lookup, policy }
    }
}

impl Resolve for GuardedResolver {
    /// # Errors
    ///
    /// [`Blocked`] if *any* address is not public: a name with one private address among public ones is refused.
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
    // Port 0 stands for the URL's own port.
    Ok(Box::new(
        addresses
            .into_iter()
            .map(|address| SocketAddr::new(address, 0)),
    ))
}
