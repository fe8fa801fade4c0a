//! The addresses that the resolver lets through.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use offhook_egress::{
    Blocked, GuardedResolver, Lookup, LookupError, Policy, RESOLVE_TIMEOUT, SystemLookup,
};
use reqwest::dns::Resolve;

/// Answers the n-th query with the n-th list, then always with the last one.
pub(crate) struct Scripted {
    answers: Vec<Vec<IpAddr>>,
    pub(crate) queries: AtomicUsize,
}

impl Scripted {
    pub(crate) fn new(answers: &[&[&str]]) -> Arc<Self> {
        let parse = |list: &&[&str]| list.iter().map(|text| text.parse().unwrap()).collect();
        Arc::new(Self {
            answers: answers.iter().map(parse).collect(),
            queries: AtomicUsize::new(0),
        })
    }
}

impl Lookup for Scripted {
    fn lookup(&self, _host: &str) -> BoxFuture<'static, Result<Vec<IpAddr>, LookupError>> {
        let query = self.queries.fetch_add(1, Ordering::SeqCst);
        std::future::ready(Ok(self.answers[query.min(self.answers.len() - 1)].clone())).boxed()
    }
}

struct Silent;

impl Lookup for Silent {
    fn lookup(&self, _host: &str) -> BoxFuture<'static, Result<Vec<IpAddr>, LookupError>> {
        std::future::pending().boxed()
    }
}

type Resolved = Result<Vec<SocketAddr>, Box<dyn std::error::Error + Send + Sync>>;

async fn resolve(resolver: &GuardedResolver) -> Resolved {
    Ok(resolver
        .resolve("hooks.example.com".parse().unwrap())
        .await?
        .collect())
}

fn guarded(answers: &[&[&str]]) -> GuardedResolver {
    GuardedResolver::new(Scripted::new(answers), Policy::default())
}

fn is_blocked(resolved: &Resolved) -> bool {
    resolved.as_ref().is_err_and(|error| error.is::<Blocked>())
}

#[tokio::test]
async fn public_addresses_pass_in_the_order_of_the_answer() {
    let resolver = guarded(&[&["1.1.1.1", "2606:4700::1111"]]);
    let expected: Vec<SocketAddr> = ["1.1.1.1:0", "[2606:4700::1111]:0"]
        .map(|text| text.parse().unwrap())
        .into();
    assert_eq!(resolve(&resolver).await.unwrap(), expected);
}

#[tokio::test]
async fn one_private_address_among_public_ones_refuses_the_whole_name() {
    for mixed in [
        ["1.1.1.1", "10.0.0.1"],
        ["127.0.0.1", "1.1.1.1"],
        ["2606:4700::1111", "::ffff:169.254.169.254"],
        ["1.1.1.1", "64:ff9b::7f00:1"],
        ["1.1.1.1", "fd00::1"],
    ] {
        assert!(is_blocked(&resolve(&guarded(&[&mixed])).await), "{mixed:?}");
    }
}

#[tokio::test]
async fn a_name_that_turns_private_is_refused_at_the_very_next_query() {
    let resolver = guarded(&[
        &["1.1.1.1"],
        &["127.0.0.1"],
        &["1.1.1.1"],
        &["169.254.169.254"],
    ]);
    assert!(resolve(&resolver).await.is_ok());
    assert!(is_blocked(&resolve(&resolver).await));
    assert!(resolve(&resolver).await.is_ok());
    assert!(is_blocked(&resolve(&resolver).await));
}

#[tokio::test]
async fn private_addresses_pass_when_the_policy_says_so() {
    let lookup = Scripted::new(&[&["127.0.0.1"]]);
    let resolver = GuardedResolver::new(
        lookup,
        Policy {
            allow_private: true,
        },
    );
    let expected = ["127.0.0.1:0".parse::<SocketAddr>().unwrap()];
    assert_eq!(resolve(&resolver).await.unwrap(), expected);
}

#[tokio::test]
async fn a_refusal_never_tells_the_address() {
    let error = resolve(&guarded(&[&["10.11.12.13"]])).await.unwrap_err();
    let expected = "the target has an address that is not public";
    assert_eq!(error.to_string(), expected);
}

#[tokio::test]
async fn a_name_without_addresses_does_not_resolve() {
    let resolved = resolve(&guarded(&[&[]])).await;
    assert_eq!(resolved.unwrap_err().to_string(), "the name has no address");
}

#[tokio::test(start_paused = true)]
async fn a_name_that_does_not_resolve_in_two_seconds_is_given_up() {
    let resolver = GuardedResolver::new(Arc::new(Silent), Policy::default());
    let began = tokio::time::Instant::now();
    let error = resolve(&resolver).await.unwrap_err();
    assert_eq!(error.to_string(), "the name did not resolve in time");
    assert!(began.elapsed() >= RESOLVE_TIMEOUT);
    assert!(began.elapsed() < RESOLVE_TIMEOUT * 2);
}

#[tokio::test]
async fn the_systems_localhost_is_found_and_refused() {
    let lookup = Arc::new(SystemLookup::new());
    let (one, same) = tokio::join!(lookup.lookup("localhost"), lookup.lookup("localhost"));
    assert_eq!(one, same);
    assert!(one.unwrap().iter().all(IpAddr::is_loopback));
    let resolver = GuardedResolver::new(lookup, Policy::default());
    let resolved = resolver.resolve("localhost".parse().unwrap()).await;
    assert!(resolved.is_err_and(|error| error.is::<Blocked>()));
}
