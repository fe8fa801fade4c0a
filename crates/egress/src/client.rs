//! The HTTP client for accounts' targets.

use std::sync::Arc;
use std::time::Duration;

use offhook_domain::json::UrlFault;
use reqwest::{Method, RequestBuilder};
use rustls::ClientConfig;

use crate::{GuardedResolver, Lookup, Policy, SystemLookup, TargetUrl};

/// How long an idle connection stays open.
const POOL_IDLE_TIMEOUT: Duration = Duration::from_secs(30);

/// How many idle connections stay open per host: as many as webhook delivery uses at once. A connection is idle briefly
/// after each answer; with a limit of 8, two of five requests to a busy host opened a new one.
const POOL_MAX_IDLE_PER_HOST: usize = 512;

/// Limit for TCP and TLS. Callers have tighter deadlines for the whole exchange. This limit ends connections of callers
/// that are gone. It is divided among the addresses of a name, so that a dead one leaves time for the next.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// An HTTP/1.1 client for URLs that accounts write. Create one per use: it has a connection pool, which clones share.
///
/// It does not follow redirects, use proxies, decode bodies, keep cookies, send referers, or retry requests. Malformed
/// header lines of responses are dropped. Deadlines and body limits are the caller's responsibility.
#[derive(Clone)]
pub struct GuardedClient {
    http: reqwest::Client,
    policy: Policy,
}

#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// The TLS settings are unusable.
    #[error("TLS for outgoing requests cannot be set up: {0}")]
    Tls(#[from] rustls::Error),
    /// The HTTP client's settings are unusable.
    #[error("the client for outgoing requests cannot be set up: {0}")]
    Http(#[from] reqwest::Error),
}

/// A client for the operator's own URLs. They may be private, and are requested without environment proxies, redirects
/// and retries. Fails if TLS cannot be set up.
pub fn trusted_client() -> Result<reqwest::ClientBuilder, SetupError> {
    Ok(reqwest::Client::builder()
        .tls_backend_preconfigured(crate::client_config()?)
        .no_proxy()
        .redirect(reqwest::redirect::Policy::none())
        .retry(reqwest::retry::never())
        .referer(false))
}

/// Parses an http or https URL with a host.
pub fn http_url(text: &str) -> Option<reqwest::Url> {
    let url = reqwest::Url::parse(text).ok()?;
    (["http", "https"].contains(&url.scheme()) && url.has_host()).then_some(url)
}

impl GuardedClient {
    /// A client with the system's resolver and [`client_config`](crate::client_config).
    pub fn new(policy: Policy) -> Result<Self, SetupError> {
        Self::with_parts(
            policy,
            Arc::new(SystemLookup::new()),
            crate::client_config()?,
        )
    }

    /// A client with another resolver and other TLS settings. The answers of `lookup` are still checked.
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

    pub fn policy(&self) -> Policy {
        self.policy
    }

    /// Starts a request to `target`. Fails if `target` was parsed with a laxer policy and violates this client's
    /// policy.
    pub fn request(&self, method: Method, target: &TargetUrl) -> Result<RequestBuilder, UrlFault> {
        target.check(self.policy)?;
        Ok(self.http.request(method, target.as_url().clone()))
    }
}
