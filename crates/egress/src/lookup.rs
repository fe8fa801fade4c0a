//! Resolves names through the operating system.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Shared};
use parking_lot::Mutex;

/// Concurrent lookups of [`SystemLookup`] at most. A lookup holds a thread of the runtime's blocking pool (512 threads,
/// shared with the database) until the system gives up on the name, long after its caller has.
const MAX_RUNNING: usize = 128;

/// Resolves a host name. The addresses are unchecked: [`GuardedResolver`](crate::GuardedResolver) checks them.
pub trait Lookup: Send + Sync + 'static {
    /// All addresses of `host`.
    fn lookup(&self, host: &str) -> BoxFuture<'static, Result<Vec<IpAddr>, LookupError>>;
}

/// Why a lookup failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LookupError {
    /// The resolver's error text.
    #[error("the name does not resolve: {0}")]
    Failed(Arc<str>),
    #[error("too many names are being resolved")]
    Busy,
}

type Answer = Result<Vec<IpAddr>, LookupError>;
type Running = HashMap<Box<str>, Shared<BoxFuture<'static, Answer>>>;

/// The operating system's resolver (`getaddrinfo`).
///
/// Concurrent lookups of the same name share one lookup, and at most 128 names are looked up at once. So a name whose
/// server never answers cannot use up the threads that others need.
#[derive(Default)]
pub struct SystemLookup {
    running: Arc<Mutex<Running>>,
}

impl SystemLookup {
    pub fn new() -> Self {
        Self::default()
    }
}

impl Lookup for SystemLookup {
    fn lookup(&self, host: &str) -> BoxFuture<'static, Answer> {
        let mut running = self.running.lock();
        if let Some(lookup) = running.get(host) {
            return lookup.clone().boxed();
        }
        if running.len() >= MAX_RUNNING {
            return std::future::ready(Err(LookupError::Busy)).boxed();
        }
        let name: Box<str> = host.into();
        let table = Arc::clone(&self.running);
        // A separate task: the entry lives as long as the thread is held, even if its callers are gone.
        let task = tokio::spawn(async move {
            let answer = ask_system(&name).await;
            table.lock().remove(&name);
            answer
        });
        let lookup = async move {
            task.await
                .unwrap_or_else(|stopped| Err(LookupError::Failed(stopped.to_string().into())))
        }
        .boxed()
        .shared();
        running.insert(host.into(), lookup.clone());
        lookup.boxed()
    }
}

async fn ask_system(host: &str) -> Answer {
    match tokio::net::lookup_host((host, 0)).await {
        Ok(addresses) => Ok(addresses.map(|address| address.ip()).collect()),
        Err(error) => Err(LookupError::Failed(error.to_string().into())),
    }
}
