//! Calls whose callbacks arrive before Twilio has responded to the request that places them.

use std::time::Duration;

use offhook_domain::FailureReason;
use offhook_engine::ports::DialError;
use offhook_engine::ports::audio::{AudioCarrier as _, AudioEvent, SegmentId};
use offhook_testkit::fakes::twilio::{ACCOUNT, FakeTwilio, Scheme, SignedForm, sign};
use offhook_testkit::upstream::{Answer, Fault, Upstream};
use serde_json::json;
use tokio::time::timeout;

use crate::it::desk::{Desk, carrier, event, handle, said};

/// Sooner than the time limit for a response, or for a call without callbacks.
const SOON: Duration = Duration::from_secs(8);

/// The call with callbacks, and another one.
const SHOWN: &str = "CA0000000000000000000000000000000a";
const OTHER: &str = "CA0000000000000000000000000000000b";

/// A desk where the next call is placed, but the response does not come.
async fn silent() -> Desk {
    let desk = Desk::open().await;
    let late = Fault::Slow(Duration::from_secs(3_600));
    desk.twilio.upstream().fail("POST", "/2010", late, 1);
    desk
}

/// A callback about a call that the fake does not know.
fn told(status: &str) -> SignedForm {
    let call = format!("/callbacks/twilio/{}", handle(1));
    let url = format!("https://n1.voice.example.com{call}/status");
    let members = [
        ("AccountSid", ACCOUNT),
        ("CallSid", SHOWN),
        ("CallStatus", status),
    ];
    sign(&url, &members, Scheme::Token)
}

/// Waits for this many requests to a path.
async fn asked(upstream: &Upstream, path: &str, times: usize) {
    let enough = async {
        while upstream.asked_of("POST", path).len() < times {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let in_time = timeout(Duration::from_secs(30), enough).await;
    assert!(in_time.is_ok(), "{path} is asked for");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_callback_or_media_stream_adopts_a_call_whose_placement_is_unanswered() {
    let desk = silent().await;
    let shows = async {
        let call = desk.twilio.placed(0).await;
        desk.tell(&call, "ringing", 1);
        call
    };
    let placing = async { tokio::join!(desk.dial(1), shows) };
    let (leg, call) = timeout(SOON, placing).await.unwrap();
    let mut leg = leg.unwrap();
    assert_eq!(event(&mut leg).await, Some(AudioEvent::Ringing));
    desk.tell(&call, "in-progress", 2);
    let mut connection = desk.stream(&call);
    assert_eq!(event(&mut leg).await, Some(AudioEvent::Answered));
    leg.playout.enqueue(SegmentId(1), &[1_000; 800]);
    assert_eq!(said(&mut connection).await.unwrap()["event"], "media");
    drop(leg);
    desk.was_told(&call.sid, &[("Status", "completed")]).await;
    assert_eq!(desk.twilio.calls().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_is_taken_up_by_its_stream_alone() {
    let desk = silent().await;
    let shows = async {
        let call = desk.twilio.placed(0).await;
        let connection = desk.stream(&call);
        (call, connection)
    };
    let placing = async { tokio::join!(desk.dial(1), shows) };
    let (leg, (call, _connection)) = timeout(SOON, placing).await.unwrap();
    let mut leg = leg.unwrap();
    assert_eq!(event(&mut leg).await, Some(AudioEvent::Answered));
    let dialog = desk.carrier.dialog(handle(1));
    assert_eq!(dialog.as_deref(), Some(call.sid.as_str()));
    leg.signalling.hang_up().await;
    desk.was_told(&call.sid, &[("Status", "completed")]).await;
    assert_eq!(desk.twilio.calls().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_is_over_before_the_answer_is_told_as_any_other() {
    let desk = silent().await;
    let shows = async {
        let call = desk.twilio.placed(0).await;
        desk.tell(&call, "busy", 1);
        call
    };
    let placing = async { tokio::join!(desk.dial(1), shows) };
    let (leg, call) = timeout(SOON, placing).await.unwrap();
    let mut leg = leg.unwrap();
    let failed = AudioEvent::Failed(FailureReason::Busy);
    assert_eq!(event(&mut leg).await, Some(failed));
    assert_eq!(event(&mut leg).await, None);
    assert_eq!(desk.twilio.call(&call.sid).changes, []);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_hung_up_before_the_placement_answer_is_ended_once_it_appears() {
    let desk = silent().await;
    let shows = async {
        let call = desk.twilio.placed(0).await;
        let ending = desk.carrier.hang_up_orphan(handle(1));
        let (ended, ()) = tokio::join!(ending, async { desk.tell(&call, "ringing", 1) });
        (call, ended)
    };
    let placing = async { tokio::join!(desk.dial(1), shows) };
    let (leg, (call, ended)) = timeout(SOON, placing).await.unwrap();
    assert!(leg.is_ok(), "there is a call");
    assert_eq!(ended, Ok(()));
    desk.was_told(&call.sid, &[("Status", "canceled")]).await;
    assert_eq!(desk.twilio.calls().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hung_up_call_with_a_lost_placement_answer_is_not_awaited() {
    let desk = Desk::open().await;
    desk.twilio
        .upstream()
        .fail("POST", "/2010", Fault::LoseAnswer, 1);
    let ends = async {
        let call = desk.twilio.placed(0).await;
        let ended = desk.carrier.hang_up_orphan(handle(1)).await;
        (call, ended)
    };
    let placing = async { tokio::join!(desk.dial(1), ends) };
    let (leg, (call, ended)) = timeout(SOON, placing).await.unwrap();
    assert_eq!(leg.err(), Some(DialError::Unknown));
    assert_eq!(ended, Ok(()));
    // It is ended when its first callback arrives.
    desk.tell(&call, "ringing", 1);
    desk.was_told(&call.sid, &[("Status", "canceled")]).await;
    assert_eq!(desk.twilio.calls().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_shows_itself_goes_on_whatever_the_answer_says_then() {
    for (status, answer, others) in [
        (201, json!({"sid": OTHER, "status": "queued"}), 1),
        (400, json!({"code": 21211, "status": 400}), 0),
    ] {
        let odd = Upstream::start(move |asked| {
            if asked.path.ends_with("/Calls.json") {
                return Answer::json(status, &answer);
            }
            Answer::json(200, &json!({"sid": OTHER, "status": "ringing"}))
        });
        let odd = odd.await;
        let late = Fault::Slow(Duration::from_secs(2));
        odd.fail("POST", "/2010", late, 1);
        let desk = Desk {
            twilio: FakeTwilio::start().await,
            carrier: carrier(odd.base_url()),
        };
        let shows = async {
            asked(&odd, "/2010", 1).await;
            assert!(desk.post(&told("ringing")));
        };
        let (leg, ()) = tokio::join!(desk.dial(1), shows);
        let mut leg = leg.unwrap();
        assert_eq!(event(&mut leg).await, Some(AudioEvent::Ringing));
        let more = timeout(Duration::from_secs(3), event(&mut leg));
        assert!(more.await.is_err(), "the call goes on: {status}");
        // Only the call without an owner is ended.
        let of_other = format!("/2010-04-01/Accounts/{ACCOUNT}/Calls/{OTHER}.json");
        asked(&odd, &of_other, others).await;
        assert_eq!(odd.asked_of("POST", "/2010").len(), 1 + others);
        assert_eq!(desk.carrier.dialog(handle(1)).as_deref(), Some(SHOWN));
        assert!(desk.post(&told("busy")));
        let failed = AudioEvent::Failed(FailureReason::Busy);
        assert_eq!(event(&mut leg).await, Some(failed), "{status}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_shows_itself_is_not_asked_for_again() {
    let desk = Desk::open().await;
    let busy = Fault::RetryAfter(429, 2);
    desk.twilio.upstream().fail("POST", "/2010", busy, 1);
    let shows = async {
        asked(desk.twilio.upstream(), "/2010", 1).await;
        assert!(desk.post(&told("ringing")));
    };
    let (leg, ()) = tokio::join!(desk.dial(1), shows);
    let mut leg = leg.unwrap();
    assert_eq!(event(&mut leg).await, Some(AudioEvent::Ringing));
    let more = timeout(Duration::from_secs(3), event(&mut leg));
    assert!(more.await.is_err(), "the call goes on");
    assert_eq!(desk.twilio.calls(), []);
}
