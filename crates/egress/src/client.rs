//! The client that speaks to accounts' targets.

use std::sync::Arc;
use std::time::Duration;

use reqwest::{Method, RequestBuilder};
use rustls::ClientConfig;

use crate::{GuardedResolver, Lookup, Policy, SystemLookup, TargetUrl, TargetUrlError};

/// How long an unused connection stays open.
const POOL_IDLE_TIMEOUT: Duration = Duration::from_secs(30);

/// How many unused connections stay open per host: as many as webhook delivery uses at once. A connection is unused for
/// a moment after each answer, so with a bound of 8 two of five requests to a busy host made a new one.
const POOL_MAX_IDLE_PER_HOST: usize = 512;

/// How long TCP and TLS may take. Callers have tighter deadlines over the whole exchange; this one ends a connection
/// that was begun for a caller who is gone, and is divided among the addresses of a name, so that a dead one leaves
/// time for the next.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// An HTTP/1.1 client for URLs that accounts write. One per use: it holds a pool of connections, and clones share it.
///
/// It follows no redirect, uses no proxy, decodes no body, keeps no cookie, sends no referer and never sends a request
/// twice by itself. Responses with header lines that break the grammar are read without those lines. Deadlines and
/// limits on bodies are the caller's.
#[derive(Clone)]
pub struct GuardedClient {
    http: reqwest::Client,
    policy: Policy,
}

/// The client could not be built.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// TLS has no usable settings.
    #[error("TLS for outgoing requests cannot be set up: {0}")]
    Tls(#[from] rustls::Error),
    /// The HTTP client has no usable settings.
    #[error("the client for outgoing requests cannot be set up: {0}")]
    Http(#[from] reqwest::Error),
}

/// A client for the operator's own addresses: they may be private, and are asked as they are given, without the
/// environment's proxies, redirects and retries.
///
/// # Errors
///
/// When TLS cannot be set up.
pub fn trusted_client() -> Result<reqwest::ClientBuilder, SetupError> {
    Ok(reqwest::Client::builder()
        .tls_backend_preconfigured(crate::client_config()?)
        .no_proxy()
        .redirect(reqwest::redirect::Policy::none())
        .retry(reqwest::retry::never())
        .referer(false))
}

/// An http or https address of a host.
pub fn http_url(text: &str) -> Option<reqwest::Url> {
    let url = reqwest::Url::parse(text).ok()?;
    (["http", "https"].contains(&url.scheme()) && url.has_host()).then_some(url)
}

impl GuardedClient {
    /// A client with the system's resolver and [`client_config`](crate::client_config).
    ///
    /// # Errors
    ///
    /// When TLS or the client cannot be set up.
    pub fn new(policy: Policy) -> Result<Self, SetupError> {
        Self::with_parts(
            policy,
            Arc::new(SystemLookup::new()),
            crate::client_config()?,
        )
    }

    /// A client with another resolver and other TLS settings. The answers of `lookup` are vetted all the same.
    ///
    /// # Errors
    ///
    /// When the client cannot be set up.
    pub fn with_parts(
        policy: Policy,
        lookup: Arc<dyn Lookup>,
        tls: ClientConfig,
    ) -> Result<Self, SetupError> {
        let http = reqwest::Client::builder()
            .tls_backend_preconfigured(tls)
            .dns_resolver(GuardedResolver::new(lookup, policy))
            .https_only(!policy.allow_private)
            .http1_only()
            .http1_title_case_headers()
            .http1_ignore_invalid_headers_in_responses(true)
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .retry(reqwest::retry::never())
            .referer(false)
            .no_gzip()
            .no_brotli()
            .no_zstd()
            .no_deflate()
            .connect_timeout(CONNECT_TIMEOUT)
            .pool_idle_timeout(POOL_IDLE_TIMEOUT)
            .pool_max_idle_per_host(POOL_MAX_IDLE_PER_HOST)
            .build()?;
        Ok(Self { http, policy })
    }

    /// The policy that this client keeps.
    pub fn policy(&self) -> Policy {
        self.policy
    }

    /// Begins a request to `target`.
    ///
    /// # Errors
    ///
    /// When this client's policy is stricter than the one that `target` was parsed with, and `target` breaks it.
    pub fn request(
        &self,
        method: Method,
        target: &TargetUrl,
    ) -> Result<RequestBuilder, TargetUrlError> {
        target.check(self.policy)?;
        Ok(self.http.request(method, target.as_url().clone()))
    }
}
