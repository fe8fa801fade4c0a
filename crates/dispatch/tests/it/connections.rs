//! Where an attempt connects to, and where it refuses to.

use std::net::IpAddr;
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use offhook_dispatch::sender::{ATTEMPT_DEADLINE, AttemptError, Sender};
use offhook_egress::{Failure, GuardedClient, Lookup, LookupError, Policy, client_config};
use tokio::io::AsyncWriteExt;

use crate::it::receiver::{Receiver, closed, read_request, self_signed};
use crate::it::sender::{OK, failed, send, sender, status};

#[tokio::test]
async fn a_certificate_that_nobody_trusts_is_a_tls_failure() {
    let receiver = Receiver::new().await;
    let sender = sender(ATTEMPT_DEADLINE);
    let url = format!("https://127.0.0.1:{}/", receiver.port);
    let (result, refused) = tokio::join!(send(&sender, &url), async {
        self_signed().accept(receiver.accept().await).await.is_err()
    });
    assert_eq!(status(&result), failed(Failure::Tls));
    assert!(refused);
}

#[tokio::test]
async fn the_next_attempt_uses_the_same_connection() {
    let receiver = Receiver::new().await;
    let sender = sender(ATTEMPT_DEADLINE);
    let url = receiver.url();
    tokio::join!(
        async {
            assert!(send(&sender, &url).await.is_success());
            assert!(send(&sender, &url).await.is_success());
        },
        async {
            let (mut stream, _) = receiver.answer(OK).await;
            read_request(&mut stream).await;
            stream.write_all(OK).await.unwrap();
        }
    );
    assert!(receiver.left_alone());
}

#[tokio::test]
async fn a_request_read_on_a_kept_connection_is_never_sent_again() {
    let receiver = Receiver::new().await;
    let sender = sender(ATTEMPT_DEADLINE);
    let url = receiver.url();
    let (result, ()) = tokio::join!(
        async {
            assert!(send(&sender, &url).await.is_success());
            send(&sender, &url).await
        },
        async {
            let (mut stream, _) = receiver.answer(OK).await;
            read_request(&mut stream).await;
        }
    );
    assert_eq!(status(&result), failed(Failure::Reset));
    assert!(receiver.left_alone());
}

#[tokio::test]
async fn a_kept_connection_that_the_receiver_closed_is_replaced() {
    let receiver = Receiver::new().await;
    let sender = sender(ATTEMPT_DEADLINE);
    let url = receiver.url();
    let (first, ()) = tokio::join!(send(&sender, &url), async {
        let (mut stream, _) = receiver.answer(OK).await;
        stream.shutdown().await.unwrap();
        closed(stream).await;
    });
    assert!(first.is_success());
    let (second, _) = tokio::join!(send(&sender, &url), receiver.answer(OK));
    assert!(second.is_success());
    assert!(receiver.left_alone());
}

/// A name server with one fixed answer.
struct Knows(Vec<IpAddr>);

impl Lookup for Knows {
    fn lookup(&self, _host: &str) -> BoxFuture<'static, Result<Vec<IpAddr>, LookupError>> {
        std::future::ready(Ok(self.0.clone())).boxed()
    }
}

fn guarded_sender(addresses: &[&str]) -> Sender {
    let addresses = addresses.iter().map(|text| text.parse().unwrap()).collect();
    let lookup = Arc::new(Knows(addresses));
    let tls = client_config().unwrap();
    let client = GuardedClient::with_parts(Policy::default(), lookup, tls).unwrap();
    Sender::with_client(client, ATTEMPT_DEADLINE)
}

#[tokio::test]
async fn a_private_target_is_blocked_and_hears_nothing() {
    let receiver = Receiver::new().await;
    let url = format!("https://hooks.example.com:{}/", receiver.port);
    for addresses in [
        &["127.0.0.1"][..],
        &["::ffff:127.0.0.1"],
        &["1.1.1.1", "127.0.0.1"],
        &["169.254.169.254"],
    ] {
        let result = send(&guarded_sender(addresses), &url).await;
        assert_eq!(
            status(&result),
            failed(Failure::BlockedAddress),
            "{addresses:?}"
        );
    }
    for host in ["127.0.0.1", "0x7f.1", "[::ffff:7f00:1]", "localhost"] {
        let url = format!("https://{host}:{}/", receiver.port);
        let result = send(&guarded_sender(&["127.0.0.1"]), &url).await;
        assert_eq!(status(&result), failed(Failure::BlockedAddress), "{host}");
    }
    assert!(receiver.left_alone());
}

#[tokio::test]
async fn a_stored_url_that_breaks_the_rules_is_never_requested() {
    for url in [
        "",
        "http://example.com/",
        "https://user@example.com/",
        "https://example.com:25/",
    ] {
        let result = send(&guarded_sender(&["127.0.0.1"]), url).await;
        assert_eq!(
            status(&result),
            (None, Some(AttemptError::InvalidUrl), None),
            "{url}"
        );
    }
}
