//! Every operation, whatever goes wrong with it: nothing that may have had an effect is asked again.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use offhook_domain::FailureReason::{self, CarrierError, Rejected};
use offhook_engine::ports::DialError::{self, NotConnected, Refused, Unknown};
use offhook_engine::ports::audio::AudioCarrier as _;
use offhook_testkit::fakes::twilio::{FakeTwilio, OWN_ACCOUNT, OWN_TOKEN};
use offhook_testkit::upstream::Fault;
use offhook_twilio::TwilioCarrier;

use crate::desk::{carrier, handle, request};

/// What goes wrong, and what an operation is known to have come to then.
const FAULTS: [(Fault, DialError); 13] = [
    (Fault::Close, Unknown),
    (Fault::LoseAnswer, Unknown),
    (Fault::CutBody, Unknown),
    (Fault::Malformed, Unknown),
    (Fault::Unknown, Unknown),
    (Fault::Status(500), Unknown),
    (Fault::Status(503), Unknown),
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
            // There is no such call, whatever else is said: it is over.
            (Operation::End, Fault::Status(404) | Fault::CutBody) => assert_eq!(answer, Ok(())),
            _ => assert_eq!(answer, Err(expected), "{fault:?}"),
        }
        match operation {
            // To end a call twice does no harm.
            Operation::End => assert!(asked <= 3, "{fault:?}: {asked}"),
            _ => assert_eq!(asked, 1, "{fault:?}"),
        }
    }))
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_connected_to_was_not_asked() {
    let twilio = FakeTwilio::start().await;
    let in_the_clear = twilio.upstream().base_url();
    let by_tls = carrier(in_the_clear.replace("http://", "https://"));
    // Nobody listens on port 1.
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
    use offhook_engine::ports::audio::AudioEvent;
    let twilio = FakeTwilio::start().await;
    let carrier = carrier(twilio.upstream().base_url());
    let mut leg = carrier.dial(request(1)).await.unwrap();
    twilio
        .upstream()
        .fail("GET", "/2010", Fault::Status(404), 1);
    let event = crate::desk::event(&mut leg).await;
    assert_eq!(event, Some(AudioEvent::Failed(CarrierError)));
}
