//! Calls of accounts' own Twilio accounts: with their own numbers, outgoing and incoming.

use offhook_domain::{E164, FailureReason};
use offhook_engine::ports::audio::{AudioCarrier as _, AudioEvent};
use offhook_engine::ports::callbacks::{CarrierCallbacks as _, IncomingCall};
use offhook_engine::ports::waiting::NotAnswered;
use offhook_engine::ports::{DialError, DialRequest};
use offhook_testkit::fakes::twilio::{
    OWN_ACCOUNT, OWN_TOKEN, PlacedCall, Scheme, SignedForm, beginning, incoming_form, sign,
};

use crate::it::desk::{Desk, event, handle, request};

const NUMBER: &str = "+15005550111";
const CALLER: &str = "+5215512345678";
const SID: &str = "CA00000000000000000000000000000099";
const INCOMING: &str = "https://voice.example.com/callbacks/twilio/incoming";

fn credential() -> String {
    format!("{OWN_ACCOUNT}:{OWN_TOKEN}")
}

async fn desk() -> Desk {
    let desk = Desk::open().await;
    desk.twilio
        .own_numbers(&[(NUMBER, true), ("+15005550112", true)]);
    desk
}

fn number() -> E164 {
    NUMBER.parse().unwrap()
}

fn incoming() -> SignedForm {
    incoming_form(INCOMING, SID, CALLER, NUMBER)
}

fn accept(desk: &Desk, form: &SignedForm, credential: Option<&str>) -> Option<IncomingCall> {
    desk.with(form, |callback| {
        desk.carrier.accept(handle(1), callback, credential)
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn an_accounts_own_number_is_called_from_with_its_own_login_alone() {
    let desk = desk().await;
    let request = || DialRequest {
        from: number(),
        ..request(1)
    };
    let refused = desk.carrier.dial(request()).await.err();
    assert_eq!(refused, Some(DialError::Refused(FailureReason::Rejected)));
    let own = desk.carrier.of_account(&credential()).unwrap();
    let mut leg = own.dial(request()).await.unwrap();
    let call = desk.twilio.placed(0).await;
    assert_eq!(call.account, OWN_ACCOUNT);
    // A callback signed by the deployment's account does not count for it.
    let url = call.asked("StatusCallback").unwrap();
    let members = [
        ("CallSid", call.sid.as_str()),
        ("AccountSid", OWN_ACCOUNT),
        ("CallStatus", "busy"),
    ];
    assert!(!desk.post(&sign(url, &members, Scheme::Token)));
    desk.tell(&call, "ringing", 1);
    assert_eq!(event(&mut leg).await, Some(AudioEvent::Ringing));
    desk.tell(&call, "in-progress", 2);
    drop(desk.stream(&call));
    assert_eq!(event(&mut leg).await, Some(AudioEvent::Answered));
    // The same credential ends it: no other one finds it.
    drop(leg);
    desk.was_told(&call.sid, &[("Status", "completed")]).await;
    assert!(own.hang_up_dialog(handle(2), &call.sid).await.is_ok());
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_to_the_numbers_asked_for_come_in_here_and_the_others_stay() {
    let desk = desk().await;
    for _ in 0..2 {
        let received = desk.carrier.receive(&credential(), &[number()]).await;
        assert_eq!(received, Ok(()));
    }
    assert_eq!(desk.twilio.voice_url(NUMBER).as_deref(), Some(INCOMING));
    assert_eq!(desk.twilio.voice_url("+15005550112").as_deref(), Some(""));
    // A webhook that is already set is not set again.
    let asked = desk.twilio.upstream().asked();
    let sets = asked.iter().filter(|asked| asked.method == "POST").count();
    assert_eq!(sets, 1);
    let wrong = desk.carrier.receive("nonsense", &[number()]).await;
    assert_eq!(wrong, Err(DialError::Refused(FailureReason::Rejected)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_comes_in_is_answered_by_its_stream() {
    let desk = desk().await;
    let form = incoming();
    let called = desk.with(&form, |callback| desk.carrier.called(callback));
    assert_eq!(called, Some(number()));
    let came_in = accept(&desk, &form, Some(&credential())).unwrap();
    assert_eq!(came_in.from, Some(CALLER.parse().unwrap()));
    assert_eq!((came_in.to, came_in.dialog.as_str()), (number(), SID));
    let mut leg = came_in.line.answer().await.unwrap();
    let twiml = came_in.answer.await.unwrap();
    let call = PlacedCall::answered(OWN_ACCOUNT, SID, &twiml);
    assert!(
        call.stream_url()
            .starts_with("wss://n1.voice.example.com/callbacks/twilio/call_")
    );
    let mut connection = desk.media(&call).expect("a place");
    for text in beginning(&call, &call.stream_token()) {
        assert!(connection.receive(&text), "{text}");
    }
    assert_eq!(event(&mut leg).await, Some(AudioEvent::Answered));
    assert_eq!(desk.carrier.dialog(handle(1)).as_deref(), Some(SID));
    drop(connection);
    drop(leg);
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_is_not_answered_hears_why() {
    let desk = desk().await;
    for (why, reason) in [
        (NotAnswered::UnknownNumber, "rejected"),
        (NotAnswered::Unavailable, "rejected"),
        (NotAnswered::Busy, "busy"),
        (NotAnswered::Later, "busy"),
    ] {
        let came_in = accept(&desk, &incoming(), Some(&credential())).unwrap();
        came_in.line.refuse(why);
        let said = came_in.answer.await.unwrap();
        assert!(
            said.contains(&format!("<Reject reason=\"{reason}\"/>")),
            "{said}"
        );
    }
    let came_in = accept(&desk, &incoming(), Some(&credential())).unwrap();
    drop(came_in.line);
    assert!(came_in.answer.await.unwrap().contains("<Reject"));
    // Twilio has hung up meanwhile.
    let came_in = accept(&desk, &incoming(), Some(&credential())).unwrap();
    drop(came_in.answer);
    assert_eq!(came_in.line.answer().await.err(), Some(DialError::Unknown));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_comes_in_only_by_the_account_that_has_the_number() {
    let desk = desk().await;
    let own = credential();
    // The deployment's account cannot vouch for another account's number, nor the other way round.
    assert!(accept(&desk, &incoming(), None).is_none());
    let another = format!("{OWN_ACCOUNT}:another-token");
    assert!(accept(&desk, &incoming(), Some(&another)).is_none());
    let mut changed = incoming();
    changed.body = changed.body.replace("15005550111", "15005550112");
    assert!(accept(&desk, &changed, Some(&own)).is_none());
    let unsigned = SignedForm {
        headers: Vec::new(),
        ..incoming()
    };
    assert!(accept(&desk, &unsigned, Some(&own)).is_none());
    let elsewhere = incoming_form(
        "https://elsewhere.example/callbacks/twilio/incoming",
        SID,
        CALLER,
        NUMBER,
    );
    assert!(accept(&desk, &elsewhere, Some(&own)).is_none());
    let nameless = incoming_form(INCOMING, "CA1", CALLER, NUMBER);
    assert!(accept(&desk, &nameless, Some(&own)).is_none());
    // A caller who withholds the number is accepted all the same.
    let withheld = incoming_form(INCOMING, SID, "anonymous", NUMBER);
    let came_in = accept(&desk, &withheld, Some(&own)).unwrap();
    assert_eq!(came_in.from, None);
}
