//! Every operation with every fault: no request that may have had an effect is repeated.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use offhook_domain::FailureReason::{self, CarrierError, Rejected};
use offhook_engine::ports::DialError::{self, NotConnected, Refused, Unknown};
use offhook_engine::ports::LineError;
use offhook_engine::ports::audio::{AudioCarrier as _, AudioEvent};
use offhook_testkit::fakes::twilio::{ACCOUNT, FakeTwilio, OWN_ACCOUNT, OWN_TOKEN, PlacedCall};
use offhook_testkit::upstream::Fault;
use offhook_twilio::TwilioCarrier;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use crate::it::desk::{Desk, carrier, event, handle, request};

/// A fault, and the operation's result.
const FAULTS: [(Fault, DialError); 14] = [
    (Fault::Close, Unknown),
    (Fault::LoseAnswer, Unknown),
    (Fault::CutBody, Unknown),
    (Fault::Malformed, Unknown),
    (Fault::Unknown, Unknown),
    (Fault::Status(500), Unknown),
    (Fault::Status(503), Unknown),
    (Fault::Status(408), Unknown),
    (Fault::Status(401), Refused(Rejected)),
    (Fault::Status(404), Refused(CarrierError)),
    (Fault::Status(409), Refused(CarrierError)),
    (Fault::Status(422), Refused(CarrierError)),
    (Fault::Status(429), Refused(CarrierError)),
    (Fault::RetryAfter(429, 30), Refused(CarrierError)),
];

#[derive(Clone, Copy, PartialEq)]
enum Operation {
    Dial,
    End,
    Numbers,
}

const SID: &str = "CA00000000000000000000000000000009";

async fn ask(carrier: &Arc<TwilioCarrier>, operation: Operation) -> Result<(), DialError> {
    match operation {
        Operation::Dial => carrier.dial(request(1)).await.map(drop),
        Operation::End => carrier.hang_up_dialog(handle(9), SID).await,
        Operation::Numbers => {
            let own = format!("{OWN_ACCOUNT}:{OWN_TOKEN}");
            carrier.numbers(&own).await.map(drop)
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_known_to_have_failed_is_not_asked_again() {
    let cases = [Operation::Dial, Operation::End, Operation::Numbers]
        .into_iter()
        .flat_map(|operation| FAULTS.map(|(fault, error)| (operation, fault, error)));
    join_all(cases.map(|(operation, fault, expected)| async move {
        let twilio = FakeTwilio::start().await;
        twilio.upstream().fail("*", "/2010", fault, 100);
        let answer = ask(&carrier(twilio.upstream().base_url()), operation).await;
        let asked = twilio.upstream().asked().len();
        match (operation, fault) {
            // The call does not exist, whatever else the response says: it is over.
            (Operation::End, Fault::Status(404) | Fault::CutBody) => assert_eq!(answer, Ok(())),
            _ => assert_eq!(answer, Err(expected), "{fault:?}"),
        }
        match operation {
            // Ending a call twice does no harm.
            Operation::End => assert!(asked <= 3, "{fault:?}: {asked}"),
            // The request had no effect, and Twilio does not say how long to wait.
            Operation::Dial if fault == Fault::Status(429) => assert!((2..=9).contains(&asked)),
            _ => assert_eq!(asked, 1, "{fault:?}"),
        }
    }))
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_twilio_is_too_busy_for_is_asked_for_again() {
    for busy in [Fault::Status(429), Fault::RetryAfter(429, 2)] {
        let twilio = FakeTwilio::start().await;
        let carrier = carrier(twilio.upstream().base_url());
        twilio.upstream().fail("POST", "/2010", busy, 1);
        let leg = carrier.dial(request(1)).await;
        assert!(leg.is_ok(), "{busy:?}");
        assert_eq!(twilio.upstream().asked_of("POST", "/2010").len(), 2);
        assert_eq!(twilio.calls().len(), 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rate_limited_placement_is_not_retried_once_the_dialer_is_gone() {
    let twilio = FakeTwilio::start().await;
    let carrier = carrier(twilio.upstream().base_url());
    for seconds in [2, 4] {
        let busy = Fault::RetryAfter(429, seconds);
        twilio.upstream().fail("POST", "/2010", busy, 1);
    }
    let gone = tokio::time::timeout(Duration::from_secs(1), carrier.dial(request(1)));
    assert!(gone.await.is_err());
    // By the time of this one's second request, the other's would have been sent.
    let leg = carrier.dial(request(2)).await;
    assert!(leg.is_ok());
    assert_eq!(twilio.upstream().asked_of("POST", "/2010").len(), 3);
    assert_eq!(twilio.calls().len(), 1);
}

/// A carrier with an open connection and a paused clock, which only advances when nothing else can happen.
async fn in_no_time(twilio: &FakeTwilio) -> Arc<TwilioCarrier> {
    let carrier = carrier(twilio.upstream().base_url());
    assert_eq!(ask(&carrier, Operation::Numbers).await, Ok(()));
    // A separate task returns the connection to the pool.
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    tokio::time::pause();
    carrier
}

#[tokio::test]
async fn an_answer_that_does_not_come_leaves_it_open_what_was_done() {
    for operation in [Operation::Dial, Operation::Numbers] {
        let twilio = FakeTwilio::start().await;
        let carrier = in_no_time(&twilio).await;
        let late = Fault::Slow(Duration::from_secs(3_600));
        twilio.upstream().fail("*", "/2010", late, 1);
        assert_eq!(ask(&carrier, operation).await, Err(Unknown));
        assert!(twilio.upstream().asked().len() <= 2);
        tokio::time::resume();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_transfer_is_asked_for_once_and_the_customer_stays_where_it_failed() {
    join_all(FAULTS.map(|(fault, _)| async move {
        let desk = Desk::open().await;
        let (leg, call, _connection) = desk.answered().await;
        let path = format!("/2010-04-01/Accounts/{ACCOUNT}/Calls/{}.json", call.sid);
        desk.twilio.upstream().fail("POST", &path, fault, 100);
        let to = "+15005550123".parse().unwrap();
        let expected = match fault {
            Fault::Status(404) => LineError::Gone,
            _ => LineError::Refused,
        };
        assert_eq!(
            leg.signalling.transfer(&to).await,
            Err(expected),
            "{fault:?}"
        );
        assert_eq!(
            desk.twilio.upstream().asked_of("POST", &path).len(),
            1,
            "{fault:?}"
        );
    }))
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_status_poll_does_not_end_a_call() {
    let faults = FAULTS
        .into_iter()
        .filter(|(fault, _)| *fault != Fault::Status(404));
    join_all(faults.map(|(fault, _)| async move {
        let desk = Desk::open().await;
        desk.twilio.upstream().fail("GET", "/2010", fault, 100);
        let mut leg = desk.dial(1).await.unwrap();
        let call = desk.twilio.placed(0).await;
        let asked = async {
            while desk.twilio.upstream().asked_of("GET", "/2010").is_empty() {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        let in_time = tokio::time::timeout(Duration::from_secs(30), asked).await;
        assert!(in_time.is_ok(), "it is asked: {fault:?}");
        desk.tell(&call, "ringing", 1);
        assert_eq!(
            event(&mut leg).await,
            Some(AudioEvent::Ringing),
            "{fault:?}"
        );
        desk.tell(&call, "busy", 2);
        let expected = Some(AudioEvent::Failed(FailureReason::Busy));
        assert_eq!(event(&mut leg).await, expected);
    }))
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_status_that_is_not_known_is_no_end_of_a_call() {
    let desk = Desk::open().await;
    let mut leg = desk.dial(1).await.unwrap();
    let call = desk.twilio.placed(0).await;
    desk.twilio.set_status(&call.sid, "parked");
    let asked = async {
        while desk.twilio.upstream().asked_of("GET", "/2010").is_empty() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let in_time = tokio::time::timeout(Duration::from_secs(30), asked).await;
    assert!(in_time.is_ok(), "it is asked");
    let told = tokio::time::timeout(Duration::from_secs(1), event(&mut leg));
    assert!(told.await.is_err(), "the call goes on");
    let to = "+15005550123".parse().unwrap();
    let handed = leg.signalling.transfer(&to).await;
    assert_eq!(handed, Err(LineError::Refused), "it may be there");
    desk.tell(&call, "ringing", 1);
    assert_eq!(event(&mut leg).await, Some(AudioEvent::Ringing));
    let parked = offhook_testkit::upstream::Upstream::start(|_| {
        let body = serde_json::json!({"sid": SID, "status": "parked"});
        offhook_testkit::upstream::Answer::json(200, &body)
    });
    let parked = parked.await;
    let ended = ask(&carrier(parked.base_url()), Operation::End).await;
    assert_eq!(ended, Err(Unknown), "it may go on");
    assert_eq!(parked.asked().len(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_connected_to_was_not_asked() {
    let twilio = FakeTwilio::start().await;
    let in_the_clear = twilio.upstream().base_url();
    let by_tls = carrier(in_the_clear.replace("http://", "https://"));
    // No server listens on port 1.
    let refused = carrier("http://127.0.0.1:1".to_owned());
    let operations = [Operation::Dial, Operation::End, Operation::Numbers];
    let cases = [by_tls, refused].into_iter();
    let cases = cases.flat_map(|carrier| operations.map(|operation| (carrier.clone(), operation)));
    let asked = cases.map(|(carrier, operation)| async move { ask(&carrier, operation).await });
    for answer in join_all(asked).await {
        assert_eq!(answer, Err(NotConnected));
    }
    assert_eq!(twilio.calls(), []);
}

#[tokio::test]
async fn twilio_is_down_when_a_call_finds_no_connection_until_anything_is_answered() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let carrier = carrier(format!("http://{address}"));
    assert!(!carrier.is_down(), "nobody asked yet");
    assert_eq!(ask(&carrier, Operation::Numbers).await, Err(NotConnected));
    assert!(!carrier.is_down(), "no call was to be placed");
    assert_eq!(ask(&carrier, Operation::Dial).await, Err(NotConnected));
    assert!(carrier.is_down());
    assert_eq!(ask(&carrier, Operation::Numbers).await, Err(NotConnected));
    assert!(carrier.is_down());
    let listener = TcpListener::bind(address).await.unwrap();
    tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            let mut request = [0; 4_096];
            let _ = socket.read(&mut request).await;
            let refusal = b"HTTP/1.1 401 X\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";
            let _ = socket.write_all(refusal).await;
        }
    });
    let answer = ask(&carrier, Operation::Numbers).await;
    assert_eq!(answer, Err(Refused(Rejected)));
    assert!(!carrier.is_down(), "it refuses, and is there");
}

#[tokio::test]
async fn a_call_may_find_out_after_a_while_whether_twilio_is_back() {
    // No server listens on port 1.
    let refused = carrier("http://127.0.0.1:1".to_owned());
    assert_eq!(ask(&refused, Operation::Dial).await, Err(NotConnected));
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(9)).await;
    assert!(refused.is_down());
    tokio::time::advance(Duration::from_secs(1)).await;
    assert!(!refused.is_down());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_comes_late_is_an_answer() {
    let twilio = FakeTwilio::start().await;
    let late = Fault::Slow(Duration::from_millis(300));
    twilio.upstream().fail("*", "/2010", late, 1);
    let carrier = carrier(twilio.upstream().base_url());
    assert_eq!(ask(&carrier, Operation::Dial).await, Ok(()));
    assert_eq!(twilio.calls().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_number_that_cannot_be_called_is_told_by_the_code_of_the_refusal() {
    let twilio = offhook_testkit::upstream::Upstream::start(|asked| {
        let to = asked.form().into_iter().find(|(name, _)| name == "To");
        assert!(to.is_some());
        let body =
            serde_json::json!({"code": 21211, "message": "+5215512345678 is wrong", "status": 400});
        offhook_testkit::upstream::Answer::json(400, &body)
    });
    let twilio = twilio.await;
    let answer = ask(&carrier(twilio.base_url()), Operation::Dial).await;
    assert_eq!(answer, Err(Refused(FailureReason::InvalidNumber)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_twilio_forgets_fails() {
    let twilio = FakeTwilio::start().await;
    let carrier = carrier(twilio.upstream().base_url());
    let mut leg = carrier.dial(request(1)).await.unwrap();
    twilio
        .upstream()
        .fail("GET", "/2010", Fault::Status(404), 3);
    let event = event(&mut leg).await;
    assert_eq!(event, Some(AudioEvent::Failed(CarrierError)));
    let asked = twilio.upstream().asked();
    let looks = asked.iter().filter(|asked| asked.method == "GET").count();
    assert_eq!(looks, 3, "what is not found once may be there");
    // If the call exists after all, it is ended.
    let ended = |calls: &[PlacedCall]| (!calls[0].changes.is_empty()).then_some(());
    twilio.until("the end of the call", ended).await;
}
