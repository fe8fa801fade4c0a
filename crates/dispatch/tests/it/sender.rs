//! One attempt against all kinds of receivers.

use std::time::Duration;

use offhook_dispatch::sender::{
    ATTEMPT_DEADLINE, AttemptError, AttemptResult, MAX_SNIPPET, Sender, Shipment,
};
use offhook_domain::EventType;
use offhook_egress::{Failure, GuardedClient, Policy};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use crate::it::receiver::{Receiver, closed};

const PRIVATE: Policy = Policy {
    allow_private: true,
};

/// The deadline of attempts that should miss it.
const SHORT: Duration = Duration::from_secs(1);

const EVENT_ID: &str = "01890a5d-ac96-774b-bcce-b302099a8057";
const ATTEMPT_ID: &str = "01890a5d-ac96-774b-bcce-b302099a8058";
const SIGNATURE: &str = "t=1700000000,v1=00ff";
pub(crate) const OK: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";

pub(crate) fn sender(deadline: Duration) -> Sender {
    Sender::with_client(GuardedClient::new(PRIVATE).unwrap(), deadline)
}

pub(crate) async fn send(sender: &Sender, url: &str) -> AttemptResult {
    let shipment = Shipment {
        url,
        event_type: EventType::CallCompleted,
        event_id: EVENT_ID.parse().unwrap(),
        attempt_id: ATTEMPT_ID.parse().unwrap(),
        signature: SIGNATURE,
        body: r#"{"id":"é"}"#.into(),
    };
    sender.send(shipment).await
}

/// Sends to a receiver that responds with `response` and then closes.
async fn answered_with(response: &[u8]) -> AttemptResult {
    let receiver = Receiver::new().await;
    let sender = sender(ATTEMPT_DEADLINE);
    let url = receiver.url();
    let (result, _) = tokio::join!(send(&sender, &url), async {
        drop(receiver.answer(response).await);
    });
    assert!(receiver.left_alone());
    result
}

/// Sends to a receiver that passes its connection to `misbehave` once the request is read. Returns when both are
/// done.
async fn sent_to<T>(
    deadline: Duration,
    misbehave: impl AsyncFnOnce(TcpStream) -> T,
) -> (AttemptResult, T) {
    let receiver = Receiver::new().await;
    let sender = sender(deadline);
    let url = receiver.url();
    let pair = tokio::join!(send(&sender, &url), async {
        let (stream, _) = receiver.answer(b"").await;
        misbehave(stream).await
    });
    assert!(receiver.left_alone(), "an attempt is one request");
    pair
}

pub(crate) fn status(result: &AttemptResult) -> (Option<u16>, Option<AttemptError>, Option<&str>) {
    (
        result.status_code,
        result.error,
        result.response_snippet.as_deref(),
    )
}

pub(crate) fn failed(
    failure: Failure,
) -> (Option<u16>, Option<AttemptError>, Option<&'static str>) {
    (None, Some(AttemptError::Failed(failure)), None)
}

#[tokio::test]
async fn a_request_has_the_contracts_headers_and_no_others() {
    let receiver = Receiver::new().await;
    let sender = sender(ATTEMPT_DEADLINE);
    let url = receiver.url();
    let (result, (_, request)) = tokio::join!(send(&sender, &url), receiver.answer(OK));
    assert!(result.is_success());
    assert_eq!(status(&result), (Some(200), None, Some("ok")));
    assert_eq!(request.body, "{\"id\":\"é\"}".as_bytes());
    let mut lines: Vec<&str> = request.head.trim_end().split("\r\n").collect();
    assert_eq!(lines.remove(0), "POST /in HTTP/1.1");
    lines.sort_unstable();
    let host = format!("Host: 127.0.0.1:{}", receiver.port);
    assert_eq!(
        lines,
        [
            "Accept: */*",
            "Content-Length: 11",
            "Content-Type: application/json",
            &host,
            "User-Agent: Service-Webhook/1.0",
            "X-Service-Delivery: 01890a5d-ac96-774b-bcce-b302099a8058",
            "X-Service-Event-Id: 01890a5d-ac96-774b-bcce-b302099a8057",
            "X-Service-Event: call.completed",
            "X-Service-Signature: t=1700000000,v1=00ff",
        ]
    );
}

#[tokio::test]
async fn every_2xx_status_is_success_and_no_other_is() {
    for (code, success) in [
        (200, true),
        (202, true),
        (204, true),
        (299, true),
        (300, false),
        (400, false),
        (410, false),
        (500, false),
    ] {
        let response = format!("HTTP/1.1 {code} Whatever\r\ncontent-length: 0\r\n\r\n");
        let result = answered_with(response.as_bytes()).await;
        assert_eq!(status(&result), (Some(code), None, None));
        assert_eq!(result.is_success(), success, "{code}");
    }
}

#[tokio::test]
async fn a_redirect_is_a_failure_and_is_not_followed() {
    for code in [301, 302, 303, 307, 308] {
        let elsewhere = Receiver::new().await;
        for location in ["http://169.254.169.254/latest/meta-data/", &elsewhere.url()] {
            let response = format!(
                "HTTP/1.1 {code} Away\r\nlocation: {location}\r\ncontent-length: 0\r\n\r\n"
            );
            let result = answered_with(response.as_bytes()).await;
            assert_eq!(status(&result), (Some(code), None, None));
            assert!(!result.is_success());
        }
        assert!(elsewhere.left_alone());
    }
}

#[tokio::test]
async fn a_body_cut_short_changes_nothing_about_success() {
    let result = answered_with(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\npartial").await;
    assert!(result.is_success());
    assert_eq!(status(&result), (Some(200), None, Some("partial")));
}

#[tokio::test]
async fn a_failed_attempt_keeps_the_receivers_words() {
    let response = b"HTTP/1.1 500 Oops\r\ncontent-length: 9\r\n\r\nno\0 luck\xFF";
    let result = answered_with(response).await;
    let expected = (Some(500), None, Some("no\u{FFFD} luck\u{FFFD}"));
    assert_eq!(status(&result), expected);
}

#[tokio::test]
async fn a_dripping_body_is_success_and_loses_its_connection_at_the_deadline() {
    let (result, ()) = sent_to(SHORT, async |mut stream| {
        stream
            .write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\n")
            .await
            .unwrap();
        let mut drip = tokio::time::interval(Duration::from_millis(5));
        while stream.write_all(b"d").await.is_ok() {
            drip.tick().await;
        }
    })
    .await;
    assert!(result.is_success());
    assert!(result.response_snippet.unwrap().starts_with('d'));
}

#[tokio::test]
async fn a_dripping_head_is_a_timeout() {
    let (result, ()) = sent_to(SHORT, async |mut stream| {
        stream.write_all(b"HTTP/1.1 200 OK\r\n").await.unwrap();
        let mut drip = tokio::time::interval(Duration::from_millis(5));
        while stream.write_all(b"x").await.is_ok() {
            drip.tick().await;
        }
    })
    .await;
    assert_eq!(status(&result), failed(Failure::Timeout));
}

#[tokio::test]
async fn of_a_gigabyte_only_the_beginning_is_taken() {
    const GIGABYTE: usize = 1 << 30;
    let (result, written) = sent_to(ATTEMPT_DEADLINE, async |mut stream| {
        let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {GIGABYTE}\r\n\r\n");
        stream.write_all(head.as_bytes()).await.unwrap();
        let chunk = vec![b'g'; 64 * 1024];
        let mut written = 0;
        while written < GIGABYTE && stream.write_all(&chunk).await.is_ok() {
            written += chunk.len();
        }
        written
    })
    .await;
    assert!(result.is_success());
    assert_eq!(result.response_snippet.unwrap(), "g".repeat(MAX_SNIPPET));
    assert!(
        written < GIGABYTE / 16,
        "the rest is what socket buffers hold, not {written} bytes"
    );
}

#[tokio::test]
async fn a_compressed_body_is_kept_as_it_came() {
    let response =
        b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 4\r\n\r\n\x1f\x8bgz";
    let result = answered_with(response).await;
    assert_eq!(status(&result), (Some(200), None, Some("\u{1f}\u{FFFD}gz")));
}

#[tokio::test]
async fn a_receiver_that_never_answers_is_a_timeout() {
    let (result, ()) = sent_to(SHORT, closed).await;
    assert_eq!(status(&result), failed(Failure::Timeout));
    assert!(u128::from(result.duration_ms) >= SHORT.as_millis());
}

#[tokio::test]
async fn a_receiver_that_never_reads_is_a_timeout() {
    let receiver = Receiver::new().await;
    let sender = sender(SHORT);
    let shipment = Shipment {
        url: &receiver.url(),
        event_type: EventType::CallFailed,
        event_id: EVENT_ID.parse().unwrap(),
        attempt_id: ATTEMPT_ID.parse().unwrap(),
        signature: SIGNATURE,
        body: vec![b' '; 64 << 20].into(),
    };
    let (result, _stream) = tokio::join!(sender.send(shipment), receiver.accept());
    assert_eq!(status(&result), failed(Failure::Timeout));
}

#[tokio::test]
async fn a_handshake_that_never_ends_is_a_timeout() {
    let receiver = Receiver::new().await;
    let sender = sender(SHORT);
    let url = format!("https://127.0.0.1:{}/", receiver.port);
    let (result, ()) = tokio::join!(send(&sender, &url), async {
        closed(receiver.accept().await).await
    });
    assert_eq!(status(&result), failed(Failure::Timeout));
}

#[tokio::test]
async fn a_connection_reset_or_closed_before_the_head_is_a_reset() {
    let (reset, ()) = sent_to(ATTEMPT_DEADLINE, async |stream| {
        stream.set_zero_linger().unwrap()
    })
    .await;
    assert_eq!(status(&reset), failed(Failure::Reset));
    let (closed, ()) = sent_to(ATTEMPT_DEADLINE, async |_| {}).await;
    assert_eq!(status(&closed), failed(Failure::Reset));
    let (halfway, ()) = sent_to(ATTEMPT_DEADLINE, async |mut stream| {
        stream.write_all(b"HTTP/1.1 200 OK\r\nx-").await.unwrap();
    })
    .await;
    assert_eq!(status(&halfway), failed(Failure::Reset));
}

#[tokio::test]
async fn interim_responses_are_passed_over() {
    let response = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 102 Processing\r\n\r\n\
        HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n";
    let expected = (Some(204), None, None);
    assert_eq!(status(&answered_with(response).await), expected);
}

#[tokio::test]
async fn endless_interim_responses_are_a_timeout() {
    let (result, ()) = sent_to(SHORT, async |mut stream| {
        while stream
            .write_all(b"HTTP/1.1 100 Continue\r\n\r\n")
            .await
            .is_ok()
        {
            tokio::task::yield_now().await;
        }
    })
    .await;
    assert_eq!(status(&result), failed(Failure::Timeout));
}

#[tokio::test]
async fn odd_response_headers_do_no_harm() {
    for line in [
        "x-name: caf\u{e9}",
        "x-na\u{ef}ve: 1",
        "x name: 1",
        "no colon",
        ": 1",
        "x-tab: a\tb",
    ] {
        let latin1: Vec<u8> = line.chars().map(|c| c as u8).collect();
        let response = [
            b"HTTP/1.1 200 OK\r\n",
            &latin1[..],
            b"\r\ncontent-length: 2\r\n\r\nok",
        ]
        .concat();
        let result = answered_with(&response).await;
        assert_eq!(status(&result), (Some(200), None, Some("ok")), "{line}");
    }
}

#[tokio::test]
async fn what_is_no_http_is_a_protocol_failure() {
    let endless = [b"HTTP/1.1 200 OK\r\nx: ", &[b'x'; 1 << 20][..], b"\r\n\r\n"].concat();
    for response in [
        b"SSH-2.0-OpenSSH_9.9\r\n\r\n",
        &b"HTTP/1.1 two hundred\r\n\r\n"[..],
        b"HTTP/9.1 200 OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n",
    ] {
        let result = answered_with(response).await;
        let shown = String::from_utf8_lossy(response);
        assert_eq!(status(&result), failed(Failure::Protocol), "{shown}");
    }
    let (result, _) = sent_to(ATTEMPT_DEADLINE, async |mut stream| {
        stream.write_all(&endless).await.is_ok()
    })
    .await;
    assert_eq!(status(&result), failed(Failure::Protocol));
}

#[test]
fn the_words_for_errors_are_stable() {
    let words = [
        (AttemptError::InvalidUrl, "invalid_url"),
        (
            AttemptError::Failed(Failure::BlockedAddress),
            "blocked_address",
        ),
        (AttemptError::Failed(Failure::Dns), "dns"),
        (AttemptError::Failed(Failure::Connect), "connect"),
        (AttemptError::Failed(Failure::Tls), "tls"),
        (AttemptError::Failed(Failure::Timeout), "timeout"),
        (AttemptError::Failed(Failure::Reset), "reset"),
        (AttemptError::Failed(Failure::Protocol), "protocol"),
    ];
    for (error, word) in words {
        assert_eq!(error.to_string(), word);
    }
}
