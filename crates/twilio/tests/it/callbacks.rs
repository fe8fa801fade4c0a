//! Callbacks: accepted, ordered, forged, repeated.

use offhook_domain::FailureReason;
use offhook_engine::ports::audio::AudioEvent;
use offhook_engine::ports::callbacks::{Callback, CarrierCallbacks as _};
use offhook_testkit::fakes::twilio::{ACCOUNT, Scheme, SignedForm, sign, status_form};
use offhook_testkit::upstream::Fault;
use serde_json::json;

use crate::it::desk::{Desk, event, handle};

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_call_maps_to_a_failure_reason() {
    use FailureReason::{Busy, CarrierError, InvalidNumber, NoAnswer, Rejected};
    let desk = Desk::open().await;
    for (n, (status, code, reason)) in (0_u8..).zip([
        ("busy", "486", Busy),
        ("no-answer", "", NoAnswer),
        ("canceled", "", NoAnswer),
        ("failed", "404", InvalidNumber),
        ("failed", "603", Rejected),
        ("failed", "", CarrierError),
        ("completed", "", CarrierError),
    ]) {
        let mut leg = desk.dial(n + 1).await.unwrap();
        let call = desk.twilio.placed(usize::from(n)).await;
        let more = [("SequenceNumber", "3"), ("SipResponseCode", code)];
        assert!(desk.post(&status_form(&call, status, &more, Scheme::SharedKey)));
        assert_eq!(
            event(&mut leg).await,
            Some(AudioEvent::Failed(reason)),
            "{status} {code}"
        );
        assert_eq!(event(&mut leg).await, None);
        assert_eq!(desk.twilio.call(&call.sid).changes, [], "{status}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_told_twice_or_too_late_changes_nothing() {
    let desk = Desk::open().await;
    let mut leg = desk.dial(1).await.unwrap();
    let call = desk.twilio.placed(0).await;
    desk.tell(&call, "ringing", 1);
    desk.tell(&call, "ringing", 1);
    desk.tell(&call, "initiated", 0);
    let of_another = sign(
        call.asked("StatusCallback").unwrap(),
        &[
            ("AccountSid", ACCOUNT),
            ("CallSid", "CAffffffffffffffffffffffffffffffff"),
            ("CallStatus", "busy"),
            ("SequenceNumber", "9"),
        ],
        Scheme::Token,
    );
    assert!(
        desk.post(&of_another),
        "it is Twilio's, and of another call"
    );
    let _connection = desk.stream(&call);
    desk.tell(&call, "completed", 3);
    desk.tell(&call, "in-progress", 2);
    let mut events = Vec::new();
    while let Some(event) = event(&mut leg).await {
        events.push(event);
    }
    assert_eq!(
        events,
        [
            AudioEvent::Ringing,
            AudioEvent::Answered,
            AudioEvent::Hangup
        ]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_twilios_is_refused_and_nothing_is_done() {
    let desk = Desk::open().await;
    let mut leg = desk.dial(1).await.unwrap();
    let call = desk.twilio.placed(0).await;
    let good = status_form(&call, "busy", &[("SequenceNumber", "1")], Scheme::Token);
    let mut changed = good.clone();
    changed.body = changed.body.replace("busy", "failed");
    let mut elsewhere = good.clone();
    elsewhere.path = elsewhere.path.replace("status", "amd");
    let mut of_another = good.clone();
    of_another.path = of_another
        .path
        .replace(&handle(1).to_string(), &handle(2).to_string());
    let mut unsigned = good.clone();
    unsigned.headers.clear();
    let mut other_scheme = good.clone();
    other_scheme.headers.push((
        "x-twilio-webhooks-signature-settings",
        "key=k,algorithm=HMAC_SHA256".to_owned(),
    ));
    let mut unknown_path = good.clone();
    unknown_path.path = "/callbacks/twilio/media/status".to_owned();
    let large = "x".repeat(70_000);
    let more = [("SequenceNumber", "1"), ("News", large.as_str())];
    let too_large = status_form(&call, "busy", &more, Scheme::Token);
    let url = call.asked("StatusCallback").unwrap();
    let account = [
        ("AccountSid", "AC00000000000000000000000000000000"),
        ("CallSid", call.sid.as_str()),
        ("CallStatus", "busy"),
    ];
    let of_another_account = sign(url, &account, Scheme::Token);
    for forged in [
        changed,
        elsewhere,
        of_another,
        unsigned,
        other_scheme,
        unknown_path,
        of_another_account,
        too_large,
    ] {
        assert!(!desk.post(&forged), "{forged:?}");
    }
    desk.tell(&call, "ringing", 1);
    assert_eq!(event(&mut leg).await, Some(AudioEvent::Ringing));
    // A callback about a call that is not, or no longer, in this process is accepted without any effect.
    let gone = url.replace(&handle(1).to_string(), &handle(7).to_string());
    let members = [
        ("AccountSid", ACCOUNT),
        ("CallSid", call.sid.as_str()),
        ("CallStatus", "busy"),
    ];
    assert!(desk.post(&sign(&gone, &members, Scheme::Token)));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_signature_covers_the_query_and_only_forms_are_accepted() {
    let desk = Desk::open().await;
    let mut leg = desk.dial(1).await.unwrap();
    let call = desk.twilio.placed(0).await;
    let at = call.asked("StatusCallback").unwrap();
    let members = [
        ("AccountSid", ACCOUNT),
        ("CallSid", call.sid.as_str()),
        ("CallStatus", "ringing"),
    ];
    let post = |form: &SignedForm, query: Option<&str>, body: &str| {
        desk.carrier.callback(&Callback {
            path: form.path.split('?').next().unwrap(),
            query,
            header: &|name| form.header(name),
            body: body.as_bytes(),
        })
    };
    let query = "a=1&b=%2B2";
    for scheme in [Scheme::Token, Scheme::SharedKey] {
        let form = sign(&format!("{at}?{query}"), &members, scheme);
        for other in [None, Some("a=1&b=+2"), Some("b=%2B2&a=1"), Some("a=1")] {
            assert!(!post(&form, other, &form.body), "{other:?}");
        }
        assert!(post(&form, Some(query), &form.body));
    }
    assert_eq!(event(&mut leg).await, Some(AudioEvent::Ringing));
    // For JSON, Twilio only signs the URL, which contains the body's digest. A call's callbacks are not JSON.
    let json =
        json!({"AccountSid": ACCOUNT, "CallSid": call.sid, "CallStatus": "busy"}).to_string();
    let digest = "bodySHA256=5ccde7145dfb8f56479710896586cb9d5911809d83afbe34627818790db0aec9";
    let signed = sign(&format!("{at}?{digest}"), &[], Scheme::Token);
    assert!(!post(&signed, Some(digest), &json));
    drop(leg);
    desk.was_told(&call.sid, &[("Status", "canceled")]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_whose_answer_was_lost_shows_itself_and_is_not_placed_again() {
    let desk = Desk::open().await;
    desk.twilio
        .upstream()
        .fail("POST", "/2010", Fault::LoseAnswer, 1);
    let (leg, call) = tokio::join!(desk.dial(1), async {
        let call = desk.twilio.placed(0).await;
        desk.tell(&call, "ringing", 1);
        call
    });
    let mut leg = leg.unwrap();
    assert_eq!(event(&mut leg).await, Some(AudioEvent::Ringing));
    drop(leg);
    desk.was_told(&call.sid, &[("Status", "canceled")]).await;
    assert_eq!(desk.twilio.calls().len(), 1);
}
