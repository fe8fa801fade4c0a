//! Rate limits of the HTTP layer: per address before anything else, per account after the key.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

use actix_web::http::header::HeaderMap;
use ipnet::IpNet;
use offhook_metrics::metrics;
use offhook_ratelimit::{
    BucketAndWindow, Decision, IPV6_PREFIX_BITS, Key, Limiter, MAX_PER_MINUTE, MINUTE_US,
    MemoryStore, Quota, RedisStore, Space, Timed, Unavailable, client_ip,
};

use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::prelude::*;

/// Limits that the operator sets.
#[derive(Debug, Clone)]
pub struct LimitSettings {
    /// `limits.ip_per_minute`: requests per minute from one address, a token bucket. 0 counts as 1.
    pub ip_per_minute: u32,
    /// `limits.call_ip_per_minute`: POST /v1/calls per minute from one address, a fixed window.
    pub call_ip_per_minute: u32,
    /// `limits.page_ip_per_minute`: requests per minute from one address to the portal, the widget, `/docs`,
    /// `/readyz` and the provider callbacks. A token bucket in each process. 0 counts as 1.
    pub page_ip_per_minute: u32,
    /// `http.trusted_proxies`: the networks whose `X-Forwarded-For` the server trusts.
    pub trusted_proxies: Vec<IpNet>,
    /// Whether any limit applies; off only to measure what the limits cost.
    pub enabled: bool,
}

impl Default for LimitSettings {
    /// The documented defaults.
    fn default() -> Self {
        Self {
            ip_per_minute: 300,
            call_ip_per_minute: 10,
            page_ip_per_minute: 3_000,
            trusted_proxies: Vec::new(),
            enabled: true,
        }
    }
}

/// Separates the counts of callback requests from those of page requests.
const CALLBACKS: Space = Space::new(2);

/// How many addresses that request pages are counted exactly per minute, in at most 14 MiB.
const PAGE_ADDRESSES: usize = 200_000;

/// How many callback requests run at once from addresses that sent too many without a valid signature.
const DOUBTED: usize = 2;

/// `Retry-After` in seconds of `rate_limit_unavailable`.
const UNAVAILABLE_RETRY_AFTER_S: u64 = 5;

/// Counts addresses and accounts, in this process's memory or in a Redis that several processes share.
#[derive(Debug)]
pub struct RateLimits {
    limiter: Limiter,
    ip_quota: Quota,
    /// Counts requests outside the API. Each process counts its own: it must not wait for Redis.
    pages: MemoryStore,
    page_quota: Quota,
    /// The permits for callbacks from addresses that are over their limit.
    doubted: Arc<Semaphore>,
    settings: LimitSettings,
    /// Where answers of a shared store arrive.
    runtime: Option<Handle>,
    warned_of_proxy: AtomicBool,
    overflow_minute: AtomicI64,
}

impl RateLimits {
    /// Counts in memory with these limits.
    pub fn new(settings: LimitSettings) -> Self {
        Self::with(Limiter::Memory(MemoryStore::new()), None, settings)
    }

    /// Counts with these limits together with every other process that uses this store. Called on the runtime on which
    /// the store was connected.
    pub fn shared(store: RedisStore, settings: LimitSettings) -> Self {
        Self::with(Limiter::Redis(store), Some(Handle::current()), settings)
    }

    fn with(limiter: Limiter, runtime: Option<Handle>, settings: LimitSettings) -> Self {
        Self {
            limiter,
            ip_quota: quota(settings.ip_per_minute),
            pages: MemoryStore::with_capacity(PAGE_ADDRESSES),
            page_quota: quota(settings.page_ip_per_minute),
            doubted: Arc::new(Semaphore::new(DOUBTED)),
            settings,
            runtime,
            warned_of_proxy: AtomicBool::new(false),
            overflow_minute: AtomicI64::new(0),
        }
    }

    /// Where to run several waits for shared stores in a row: each answer that arrives on another runtime wakes one of its
    /// threads, which costs more than the wait. `None` if requests are counted in memory.
    pub(crate) const fn runtime(&self) -> Option<&Handle> {
        self.runtime.as_ref()
    }

    /// Whether requests can be counted. `false` while Redis is unreachable: the server then refuses every request.
    pub fn are_known(&self) -> bool {
        !self.settings.enabled || self.limiter.is_reachable()
    }

    /// Counts a request of this address. A request that places a call passes the calls window in the same step. Fails
    /// with `rate_limit_exceeded` or `rate_limit_unavailable`.
    pub(crate) async fn admit_address(
        &self,
        address: IpAddr,
        places_call: bool,
        now: Timestamp,
    ) -> Result<(), ApiError> {
        if !self.settings.enabled {
            return Ok(());
        }
        let key = Key::address(address, IPV6_PREFIX_BITS);
        let now_us = now.micros();
        self.report_overflow(now_us);
        let retry_after = if places_call {
            let window = self.settings.call_ip_per_minute;
            let both = self
                .limiter
                .take_bucket_and_window(key, self.ip_quota, window, now_us);
            let both = counted(both.await, BucketAndWindow::allowed)?;
            let allowed = both.answer.allowed();
            if !allowed {
                let limiter = match both.answer.bucket.allowed {
                    true => "address_calls",
                    false => "address",
                };
                metrics().http.refused(limiter);
            }
            (!allowed).then(|| both.retry_after_seconds())
        } else {
            let bucket = self.limiter.take(key, self.ip_quota, now_us).await;
            let bucket = counted(bucket, |bucket| bucket.allowed)?;
            if !bucket.answer.allowed {
                metrics().http.refused("address");
            }
            (!bucket.answer.allowed).then(|| bucket.retry_after_seconds())
        };
        retry_after.map_or(Ok(()), |seconds| {
            Err(exceeded("Too many requests from this address.", seconds))
        })
    }

    /// Counts a request of this address to a costly route outside the API. Fails with `rate_limit_exceeded`.
    pub(crate) fn admit_page(&self, address: IpAddr, now: Timestamp) -> Result<(), ApiError> {
        if !self.settings.enabled || self.is_proxy(address) {
            return Ok(());
        }
        let key = Key::address(address, IPV6_PREFIX_BITS);
        let taken = self.pages.take(key, self.page_quota, now.micros());
        match taken.allowed {
            true => Ok(()),
            false => Err(too_many_pages(taken, now)),
        }
    }

    /// Admits a callback request; signed requests are never counted. An address that sent too many unsigned requests
    /// shares a few permits, and gets one as `Some`. Fails with `rate_limit_exceeded` if no permit is free.
    pub(crate) fn admit_callback(
        &self,
        address: IpAddr,
        now: Timestamp,
    ) -> Result<Option<OwnedSemaphorePermit>, ApiError> {
        if !self.settings.enabled || self.is_proxy(address) {
            return Ok(None);
        }
        let key = callbacks_of(address);
        let seen = self.pages.peek(key, self.page_quota, now.micros());
        if seen.allowed {
            return Ok(None);
        }
        match self.doubted.clone().try_acquire_owned() {
            Ok(place) => Ok(Some(place)),
            Err(_) => Err(too_many_pages(seen, now)),
        }
    }

    /// Counts a callback request without a valid signature.
    pub(crate) fn count_unbelieved(&self, address: IpAddr, now: Timestamp) {
        let key = callbacks_of(address);
        self.pages.take(key, self.page_quota, now.micros());
    }

    /// Whether the address is a trusted proxy, with many clients behind it.
    pub(crate) fn is_proxy(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        let trusted = &self.settings.trusted_proxies;
        trusted.iter().any(|network| network.contains(&address))
    }

    /// Takes a token from the account's bucket, whose size follows the current plan. `None` while limits are off.
    /// Fails with `rate_limit_unavailable`.
    pub(crate) async fn take_account(
        &self,
        account: AccountId,
        requests_per_minute: u32,
        now: Timestamp,
    ) -> Result<Option<Timed<Decision>>, ApiError> {
        if !self.settings.enabled {
            return Ok(None);
        }
        let key = Key::account(account.uuid().into_bytes());
        let taken = self
            .limiter
            .take(key, quota(requests_per_minute), now.micros());
        counted(taken.await, |bucket| bucket.allowed).map(Some)
    }

    /// Records in the process metrics how full the store is. This locks every shard of the store for a moment.
    pub(crate) fn note(&self) {
        // Redis keeps its own counts.
        let Limiter::Memory(store) = &self.limiter else {
            return;
        };
        let (clients, bytes) = (store.clients(), store.memory_bytes());
        metrics()
            .limiter
            .sampled(clients, bytes, store.overflowed());
    }

    /// The address that a request is counted by.
    pub(crate) fn client(&self, peer: Option<IpAddr>, headers: &HeaderMap) -> IpAddr {
        let trusted = &self.settings.trusted_proxies;
        if trusted.is_empty() {
            self.warn_of_proxy(peer, headers);
            return client_ip::client_key(peer, &[], trusted);
        }
        let lines: Vec<&[u8]> = headers
            .get_all("x-forwarded-for")
            .map(|line| line.as_bytes())
            .collect();
        client_ip::client_key(peer, &lines, trusted)
    }

    fn warn_of_proxy(&self, peer: Option<IpAddr>, headers: &HeaderMap) {
        let forwarded = headers.contains_key("x-forwarded-for");
        if forwarded
            && peer.is_some_and(is_private)
            && !self.warned_of_proxy.swap(true, Ordering::Relaxed)
        {
            tracing::warn!(
                "requests come through a proxy that is not trusted, so all its clients share one limit: \
                 name its network in `http.trusted_proxies`"
            );
        }
    }

    /// Reports once a minute, because the query locks every shard of the store.
    fn report_overflow(&self, now_us: i64) {
        let Limiter::Memory(store) = &self.limiter else {
            return;
        };
        let minute = now_us.div_euclid(MINUTE_US);
        if self.overflow_minute.load(Ordering::Relaxed) == minute
            || self.overflow_minute.swap(minute, Ordering::Relaxed) == minute
        {
            return;
        }
        let overflowed = store.overflowed();
        if overflowed > 0 {
            tracing::warn!(
                overflowed,
                "more addresses than can be counted exactly: some may be refused early"
            );
        }
    }
}

/// The key that separates an address's callbacks from its page requests.
fn callbacks_of(address: IpAddr) -> Key {
    Key::address(address, IPV6_PREFIX_BITS).within(CALLBACKS)
}

fn too_many_pages(refused: Decision, now: Timestamp) -> ApiError {
    metrics().http.refused("page_address");
    let seconds = refused.retry_after_seconds(now.micros());
    exceeded("Too many requests from this address.", seconds)
}

/// The error for an account whose bucket is empty.
pub(crate) fn account_exceeded(refused: &Timed<Decision>) -> ApiError {
    metrics().http.refused("account");
    exceeded(
        "The account's requests per minute are used up.",
        refused.retry_after_seconds(),
    )
}

/// Counts a decision in the process metrics, and returns it.
fn counted<T>(
    decided: Result<Timed<T>, Unavailable>,
    allowed: impl FnOnce(&T) -> bool,
) -> Result<Timed<T>, ApiError> {
    let limiter = &metrics().limiter;
    match &decided {
        Ok(decided) => limiter.decided(allowed(&decided.answer)),
        Err(Unavailable) => limiter.unavailable(),
    }
    decided.map_err(unavailable)
}

fn unavailable(_: Unavailable) -> ApiError {
    Code::RateLimitUnavailable
        .error(
            "The rate limit cannot be checked at the moment. Nothing was done; try again shortly.",
        )
        .retry_after(UNAVAILABLE_RETRY_AFTER_S)
}

fn exceeded(message: &'static str, seconds: u64) -> ApiError {
    Code::RateLimitExceeded.error(message).retry_after(seconds)
}

fn quota(per_minute: u32) -> Quota {
    Quota::per_minute(per_minute.clamp(1, MAX_PER_MINUTE))
}

fn is_private(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(v4) => v4.is_loopback() || v4.is_private() || v4.is_link_local(),
        IpAddr::V6(v6) => v6.is_loopback() || v6.is_unique_local() || v6.is_unicast_link_local(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOON: Timestamp = Timestamp::from_micros(1_777_550_400_000_000);

    fn address(last: u8) -> IpAddr {
        IpAddr::from([203, 0, 113, last])
    }

    #[tokio::test]
    async fn switched_off_limits_refuse_nothing_and_tell_nothing() {
        let limits = RateLimits::new(LimitSettings {
            ip_per_minute: 1,
            enabled: false,
            ..LimitSettings::default()
        });
        for _ in 0..5 {
            assert!(limits.admit_address(address(1), false, NOON).await.is_ok());
        }
        assert!(
            limits
                .take_account(AccountId::nil(), 1, NOON)
                .await
                .unwrap()
                .is_none()
        );
    }

    #[test]
    fn a_header_of_an_untrusted_peer_changes_nothing() {
        use actix_web::http::header::{HeaderName, HeaderValue};
        let mut headers = HeaderMap::new();
        headers.insert(
            HeaderName::from_static("x-forwarded-for"),
            HeaderValue::from_static("198.51.100.7"),
        );
        let limits = RateLimits::new(LimitSettings::default());
        assert_eq!(limits.client(Some(address(9)), &headers), address(9));
        let behind = RateLimits::new(LimitSettings {
            trusted_proxies: vec!["203.0.113.0/24".parse().unwrap()],
            ..LimitSettings::default()
        });
        assert_eq!(
            behind.client(Some(address(9)), &headers),
            IpAddr::from([198, 51, 100, 7])
        );
    }
}
