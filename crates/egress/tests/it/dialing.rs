//! Connections that do not stay HTTP.

use offhook_egress::{Failure, GuardedDialer, Policy, client_config};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use url::Url;

use crate::it::client::{PRIVATE, listener, trusted_pair, untouched};
use crate::it::resolving::Scripted;

fn url(text: &str) -> Url {
    text.parse().unwrap()
}

fn dialer(policy: Policy, answers: &[&[&str]]) -> GuardedDialer {
    GuardedDialer::with_parts(policy, Scripted::new(answers), client_config().unwrap())
}

async fn failure(dialer: &GuardedDialer, text: &str) -> Option<Failure> {
    dialer.open(&url(text)).await.err()
}

#[tokio::test]
async fn a_private_target_is_blocked_and_nothing_connects() {
    let (listener, address) = listener().await;
    let port = address.port();
    let strict = dialer(Policy::default(), &[&["127.0.0.1"]]);
    for text in [
        format!("wss://speech.example.com:{port}/v1"),
        format!("ws://speech.example.com:{port}/v1"),
        format!("wss://127.0.0.1:{port}/v1"),
        format!("wss://[::1]:{port}/v1"),
        format!("ftp://speech.example.com:{port}/v1"),
    ] {
        let failed = failure(&strict, &text).await;
        assert_eq!(failed, Some(Failure::BlockedAddress), "{text}");
    }
    assert!(untouched(listener));
}

#[tokio::test]
async fn a_private_target_that_the_policy_lets_through_is_spoken_to_in_the_clear() {
    let (listener, address) = listener().await;
    let lax = dialer(PRIVATE, &[&["127.0.0.1"]]);
    for text in [
        format!("ws://speech.example.com:{}/v1", address.port()),
        format!("http://{address}/v1"),
    ] {
        let url = url(&text);
        let (opened, accepted) = tokio::join!(lax.open(&url), listener.accept());
        let mut connection = opened.unwrap();
        connection.write_all(b"hello").await.unwrap();
        drop(connection);
        let mut read = String::new();
        accepted.unwrap().0.read_to_string(&mut read).await.unwrap();
        assert_eq!(read, "hello", "{text}");
    }
}

#[tokio::test]
async fn tls_is_spoken_under_the_urls_own_name() {
    let (listener, address) = listener().await;
    for (host, expected) in [
        ("hooks.example.com", None),
        ("other.example.com", Some(Failure::Tls)),
    ] {
        let (acceptor, tls) = trusted_pair(4000);
        let dialer = GuardedDialer::with_parts(PRIVATE, Scripted::new(&[&["127.0.0.1"]]), tls);
        let url = url(&format!("wss://{host}:{}/", address.port()));
        let receiver = async {
            let (stream, _) = listener.accept().await.unwrap();
            acceptor.accept(stream).await.is_ok()
        };
        let (opened, accepted) = tokio::join!(dialer.open(&url), receiver);
        assert_eq!(opened.err(), expected, "{host}");
        assert_eq!(accepted, expected.is_none(), "{host}");
    }
}

#[tokio::test]
async fn the_next_address_is_tried_when_one_is_closed() {
    let (listener, address) = listener().await;
    let lookup: &[&[&str]] = &[&["127.0.0.2", "127.0.0.1"]];
    let dialer = dialer(PRIVATE, lookup);
    let url = url(&format!("ws://speech.example.com:{}/", address.port()));
    let (opened, accepted) = tokio::join!(dialer.open(&url), listener.accept());
    assert!(opened.is_ok() && accepted.is_ok());
}

#[tokio::test]
async fn nothing_there_is_a_connect_failure_and_no_name_a_dns_failure() {
    let (listener, address) = listener().await;
    drop(listener);
    let closed = dialer(PRIVATE, &[&["127.0.0.1"]]);
    let failed = failure(&closed, &format!("ws://{address}/")).await;
    assert_eq!(failed, Some(Failure::Connect));
    let nameless = dialer(PRIVATE, &[&[]]);
    let failed = failure(&nameless, "wss://speech.example.com/").await;
    assert_eq!(failed, Some(Failure::Dns));
}
