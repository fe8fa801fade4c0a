//! Calls from dialing to their end.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use offhook_domain::FailureReason;
use offhook_engine::ports::LineError;
use offhook_engine::ports::audio::{AudioCarrier as _, AudioEvent, Played, SegmentId};
use offhook_engine::ports::callbacks::{CarrierCallbacks as _, MediaConnection};
use offhook_media::codec::Codec;
use offhook_media::tones::tones;
use offhook_testkit::fakes::twilio::{PlacedCall, beginning, echo, key, sound, stop, verdict_form};
use offhook_testkit::upstream::Fault;
use serde_json::json;

use crate::it::desk::{Desk, event, handle, said};

const ONE: SegmentId = SegmentId(1);

#[tokio::test(flavor = "multi_thread")]
async fn a_call_is_asked_for_once_with_all_that_it_needs() {
    let desk = Desk::open().await;
    let _leg = desk.dial(1).await.unwrap();
    let call = desk.twilio.placed(0).await;
    let at = format!(
        "https://n1.voice.example.com/callbacks/twilio/{}",
        handle(1)
    );
    for (name, value) in [
        ("To", "+5215512345678"),
        ("From", "+15005550100"),
        ("StatusCallback", &format!("{at}/status")),
        ("StatusCallbackMethod", "POST"),
        ("Timeout", "60"),
        ("TimeLimit", "660"),
        ("MachineDetection", "Enable"),
        ("AsyncAmd", "true"),
        ("AsyncAmdStatusCallback", &format!("{at}/amd")),
    ] {
        assert_eq!(call.asked(name), Some(value), "{name}");
    }
    let expected = ["initiated", "ringing", "answered", "completed"];
    assert_eq!(call.all("StatusCallbackEvent"), expected);
    assert_eq!(
        call.stream_url(),
        format!("{}/media", at.replace("https://", "wss://"))
    );
    assert_eq!(call.stream_token().len(), 43);
    assert_eq!(desk.twilio.calls().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_said_and_heard_goes_both_ways_and_the_customer_hangs_up() {
    let desk = Desk::open().await;
    let (mut leg, call, mut connection) = desk.answered().await;
    for number in 1..=50 {
        assert!(connection.receive(&sound(&[0x20; 160], number)));
    }
    let heard = loop {
        let tick = leg.ticks.recv().await.unwrap();
        if !tick.lost && tick.heard[0] != 0 {
            break tick.heard;
        }
    };
    assert!(heard.iter().all(|sample| *sample == heard[0]));
    leg.playout.enqueue(ONE, &[1_000; 800]);
    leg.playout.finish(ONE);
    for _ in 0..5 {
        let message = said(&mut connection).await.unwrap();
        assert_eq!(message["event"], "media");
        assert_eq!(message["streamSid"], "MZ0123456789abcdef0123456789abcdef");
    }
    let mark = said(&mut connection).await.unwrap();
    assert_eq!(mark["event"], "mark");
    assert!(connection.receive(&echo(mark["mark"]["name"].as_str().unwrap())));
    assert!(matches!(
        leg.played.recv().await,
        Some(Played::Began(ONE, _))
    ));
    assert!(matches!(
        leg.played.recv().await,
        Some(Played::Ended(ONE, _))
    ));
    assert!(connection.receive(&key('5')));
    assert_eq!(event(&mut leg).await, Some(AudioEvent::Dtmf('5')));
    assert!(connection.receive(&stop(&call)));
    assert_eq!(event(&mut leg).await, Some(AudioEvent::Hangup));
    assert_eq!(event(&mut leg).await, None);
    assert_eq!(
        said(&mut connection).await,
        None,
        "the connection is let go of"
    );
    assert_eq!(desk.twilio.call(&call.sid).changes, []);
}

#[tokio::test(flavor = "multi_thread")]
async fn who_is_interrupted_is_not_heard_to_the_end() {
    let desk = Desk::open().await;
    let (mut leg, _call, mut connection) = desk.answered().await;
    leg.playout.enqueue(ONE, &[1_000; 80_000]);
    assert!(matches!(
        leg.played.recv().await,
        Some(Played::Began(ONE, _))
    ));
    let mut sent = 0_u64;
    while sent < 20 {
        let message = said(&mut connection).await.unwrap();
        sent += u64::from(message["event"] == "media");
    }
    leg.playout.pause();
    let cleared = leg.playout.clear();
    assert_eq!(cleared.len(), 1);
    // Up to 200 ms of the sent audio had not been played.
    let played = cleared[0].played / 160;
    assert!(cleared[0].played > 0 && cleared[0].played < cleared[0].enqueued);
    let mut events = Vec::new();
    while events.last() != Some(&json!("clear")) {
        let message = said(&mut connection).await.unwrap();
        sent += u64::from(message["event"] == "media");
        events.push(message["event"].clone());
    }
    assert!(sent <= played + 11, "{sent} sent, {played} played");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_agent_hangs_up_when_its_last_words_were_played() {
    let desk = Desk::open().await;
    let (leg, call, mut connection) = desk.answered().await;
    leg.playout.enqueue(ONE, &[1_000; 160]);
    leg.playout.finish(ONE);
    assert_eq!(said(&mut connection).await.unwrap()["event"], "media");
    let mark = said(&mut connection).await.unwrap();
    assert!(connection.receive(&echo(mark["mark"]["name"].as_str().unwrap())));
    leg.signalling.hang_up().await;
    desk.was_told(&call.sid, &[("Status", "completed")]).await;
    leg.signalling.hang_up().await;
    drop(leg);
    assert_eq!(said(&mut connection).await, None);
    assert_eq!(desk.twilio.call(&call.sid).changes.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_segment_that_is_finished_after_its_audio_was_sent_still_gets_a_mark() {
    let desk = Desk::open().await;
    let (mut leg, _call, mut connection) = desk.answered().await;
    // A sentence may arrive in pieces, and its end last: here after all was played, below during playback.
    leg.playout.enqueue(ONE, &[1_000; 160]);
    assert_eq!(said(&mut connection).await.unwrap()["event"], "media");
    while leg.ticks.recv().await.unwrap().said.is_none() {}
    leg.playout.finish(ONE);
    assert_eq!(ends(&mut connection).await, "s1");
    let two = SegmentId(2);
    leg.playout.enqueue(two, &[1_000; 1_600]);
    assert_eq!(said(&mut connection).await.unwrap()["event"], "media");
    leg.playout.finish(two);
    assert_eq!(ends(&mut connection).await, "s2");
}

/// The segment that the next mark ends.
async fn ends(connection: &mut Box<dyn MediaConnection>) -> String {
    loop {
        let message = said(connection).await.unwrap();
        if message["event"] == "mark" {
            let name = message["mark"]["name"].as_str().unwrap();
            break name.split('-').next().unwrap().to_owned();
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn hanging_up_cancels_a_ringing_call_or_ends_one_answered_meanwhile() {
    let desk = Desk::open().await;
    let leg = desk.dial(1).await.unwrap();
    let call = desk.twilio.placed(0).await;
    desk.tell(&call, "ringing", 1);
    drop(leg);
    desk.was_told(&call.sid, &[("Status", "canceled")]).await;
    let leg = desk.dial(2).await.unwrap();
    let call = desk.twilio.placed(1).await;
    desk.twilio.set_status(&call.sid, "in-progress");
    leg.signalling.hang_up().await;
    desk.was_told(
        &call.sid,
        &[("Status", "canceled"), ("Status", "completed")],
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_answered_is_told_once_the_call_is_answered() {
    for (verdict, machine) in [
        ("machine_start", Some(true)),
        ("machine_end_beep", Some(true)),
        ("machine_end_silence", Some(true)),
        ("machine_end_other", Some(true)),
        ("fax", Some(true)),
        ("human", Some(false)),
        ("unknown", None),
    ] {
        let desk = Desk::open().await;
        let mut leg = desk.dial(1).await.unwrap();
        let call = desk.twilio.placed(0).await;
        assert!(desk.post(&verdict_form(&call, verdict)));
        let connection = desk.stream(&call);
        assert_eq!(event(&mut leg).await, Some(AudioEvent::Answered));
        drop(connection);
        desk.tell(&call, "completed", 4);
        if let Some(machine) = machine {
            assert_eq!(
                event(&mut leg).await,
                Some(AudioEvent::Screened(machine)),
                "{verdict}"
            );
        }
        assert_eq!(event(&mut leg).await, Some(AudioEvent::Hangup), "{verdict}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_that_dies_loses_the_call_which_is_ended() {
    let desk = Desk::open().await;
    let (mut leg, call, connection) = desk.answered().await;
    drop(connection);
    let expected = Some(AudioEvent::Failed(FailureReason::AgentError));
    assert_eq!(event(&mut leg).await, expected);
    desk.was_told(&call.sid, &[("Status", "completed")]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_is_known_by_a_token_that_is_good_once() {
    let desk = Desk::open().await;
    let mut leg = desk.dial(1).await.unwrap();
    let call = desk.twilio.placed(0).await;
    let [connected, start] = beginning(&call, &call.stream_token());
    for wrong in [
        beginning(&call, "another")[1].clone(),
        start.replace("customParameters", "parameters"),
        start.replace("AC0123", "AC9123"),
        sound(&[0; 160], 1),
        key('1'),
        stop(&call),
        "no JSON".to_owned(),
        "{}".to_owned(),
        json!({"event": "start"}).to_string(),
    ] {
        let mut stranger = desk.media(&call).unwrap();
        assert!(stranger.receive(&connected));
        assert!(!stranger.receive(&wrong), "{wrong}");
    }
    let mut second = desk.media(&call).unwrap();
    let mut connection = desk.stream(&call);
    assert_eq!(event(&mut leg).await, Some(AudioEvent::Answered));
    assert!(second.receive(&connected));
    assert!(!second.receive(&start), "the token was used");
    drop(second);
    assert!(desk.media(&call).is_none(), "its sound has begun");
    // Invalid messages of a known stream are ignored, up to a limit.
    assert!(connection.receive("no JSON"));
    assert!(connection.receive(&json!({"event": "news", "news": 1}).to_string()));
    assert!(connection.receive(&json!({"event": "media", "media": {"payload": "%"}}).to_string()));
    assert!(connection.receive(&key('x')));
    assert!(connection.receive(&key('#')));
    assert_eq!(event(&mut leg).await, Some(AudioEvent::Dtmf('#')));
    let taken = (0..100)
        .take_while(|_| connection.receive("no JSON"))
        .count();
    assert!(taken < 60, "{taken}");
}

#[tokio::test(flavor = "multi_thread")]
async fn unverified_connections_are_limited_per_call_and_need_a_known_handle() {
    let desk = Desk::open().await;
    let mut leg = desk.dial(1).await.unwrap();
    let call = desk.twilio.placed(0).await;
    let path = call.stream_path();
    for wrong in [
        "/callbacks/twilio/media",
        "/callbacks/twilio/somebody/media",
        &path.replace(&handle(1).to_string(), &handle(2).to_string()),
        &path.replace("/media", "/status"),
        &format!("{path}/media"),
    ] {
        assert!(desk.carrier.media(wrong).is_none(), "{wrong}");
    }
    let strangers: Vec<_> = (0..4).map(|_| desk.media(&call).unwrap()).collect();
    assert!(desk.media(&call).is_none(), "these are enough");
    let mut other_leg = desk.dial(2).await.unwrap();
    let other = desk.twilio.placed(1).await;
    let mut astray = desk.media(&other).expect("places of its own");
    let of_another = &beginning(&other, &call.stream_token())[1];
    assert!(!astray.receive(of_another), "the token is of another call");
    drop((strangers, astray));
    let _connections = [desk.stream(&call), desk.stream(&other)];
    for leg in [&mut leg, &mut other_leg] {
        assert_eq!(event(leg).await, Some(AudioEvent::Answered));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn sound_of_another_kind_is_no_call() {
    let desk = Desk::open().await;
    let mut leg = desk.dial(1).await.unwrap();
    let call = desk.twilio.placed(0).await;
    let [_, start] = beginning(&call, &call.stream_token());
    let mut connection = desk.media(&call).unwrap();
    assert!(!connection.receive(&start.replace("audio/x-mulaw", "audio/l16")));
    let expected = Some(AudioEvent::Failed(FailureReason::CarrierError));
    assert_eq!(event(&mut leg).await, expected);
    desk.was_told(&call.sid, &[("Status", "canceled")]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_customer_is_handed_over_by_twilio_and_is_the_agents_no_more() {
    let desk = Desk::open().await;
    let (leg, call, mut connection) = desk.answered().await;
    leg.signalling
        .transfer(&"+15005550123".parse().unwrap())
        .await
        .unwrap();
    assert!(connection.receive(&stop(&call)));
    drop(leg);
    assert_eq!(said(&mut connection).await, None);
    let dial = "<?xml version=\"1.0\" encoding=\"UTF-8\"?><Response>\
                <Dial callerId=\"+15005550100\">+15005550123</Dial></Response>";
    // The agent's time limit does not apply to the customer's call with the other party.
    let changes = [("Twiml", dial), ("TimeLimit", "14400")];
    desk.was_told(&call.sid, &changes).await;
    let (leg, call) = {
        let leg = desk.dial(2).await.unwrap();
        (leg, desk.twilio.placed(1).await)
    };
    desk.twilio.set_status(&call.sid, "completed");
    let over = leg
        .signalling
        .transfer(&"+15005550123".parse().unwrap())
        .await;
    assert_eq!(over, Err(LineError::Gone));
    assert_eq!(
        leg.signalling.send_digits("1").await,
        Err(LineError::Refused),
        "it has no sound"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_customer_who_was_handed_over_stays_so_though_twilios_answer_was_lost() {
    let late = Fault::Slow(Duration::from_secs(20));
    for fault in [Fault::LoseAnswer, Fault::CutBody, Fault::Malformed, late] {
        let desk = Desk::open().await;
        let (leg, call, mut connection) = desk.answered().await;
        desk.twilio.upstream().fail("POST", "/2010", fault, 1);
        let signalling = leg.signalling.clone();
        let handing = tokio::spawn(async move {
            let to = "+15005550123".parse().unwrap();
            signalling.transfer(&to).await
        });
        let asked = |calls: &[PlacedCall]| (!calls[0].changes.is_empty()).then_some(());
        desk.twilio.until("the transfer", asked).await;
        assert!(connection.receive(&stop(&call)));
        // Sooner than an engine gives up a line.
        let handed = tokio::time::timeout(Duration::from_secs(5), handing).await;
        assert_eq!(handed.unwrap().unwrap(), Ok(()), "{fault:?}");
        drop(leg);
        assert_eq!(said(&mut connection).await, None);
        let changes = desk.twilio.call(&call.sid).changes;
        let of = |name: &str| changes.iter().filter(|(known, _)| known == name).count();
        assert_eq!((of("Twiml"), of("Status")), (1, 0), "{fault:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_failed_transfer_the_agent_keeps_the_call() {
    let desk = Desk::open().await;
    let (leg, call, _connection) = desk.answered().await;
    desk.twilio
        .upstream()
        .fail("POST", "/2010", Fault::Status(500), 1);
    let to = "+15005550123".parse().unwrap();
    assert_eq!(leg.signalling.transfer(&to).await, Err(LineError::Refused));
    // The caller stops waiting for this one.
    let late = Fault::Slow(Duration::from_secs(5));
    desk.twilio.upstream().fail("POST", "/2010", late, 1);
    let given_up = tokio::time::timeout(Duration::from_millis(50), leg.signalling.transfer(&to));
    assert!(given_up.await.is_err());
    leg.signalling.hang_up().await;
    let asked = |calls: &[PlacedCall]| {
        let ends = ("Status".to_owned(), "completed".to_owned());
        let ended = |it: &PlacedCall| it.sid == call.sid && it.changes.contains(&ends);
        calls.iter().any(ended).then_some(())
    };
    desk.twilio.until("the end of the call", asked).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_told_of_a_call_that_is_over_changes_nothing() {
    let desk = Desk::open().await;
    let (leg, call, mut connection) = desk.answered().await;
    leg.signalling.hang_up().await;
    drop(leg);
    assert_eq!(said(&mut connection).await, None);
    for status in ["ringing", "in-progress", "completed", "completed"] {
        desk.tell(&call, status, 3);
    }
    assert!(desk.post(&verdict_form(&call, "human")));
    assert!(desk.media(&call).is_none());
    let ends = [("Status".to_owned(), "completed".to_owned())];
    assert_eq!(desk.twilio.call(&call.sid).changes, ends);
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_are_tones_in_the_sound_and_no_interruption_takes_them_back() {
    let desk = Desk::open().await;
    let (leg, call, mut connection) = desk.answered().await;
    let signalling = leg.signalling.clone();
    let sending = tokio::spawn(async move { signalling.send_digits("5w#").await });
    let mut codes = Vec::new();
    while codes.len() < 160 * 45 {
        let message = said(&mut connection).await.unwrap();
        if message["event"] == "media" {
            codes.extend(
                STANDARD
                    .decode(message["media"]["payload"].as_str().unwrap())
                    .unwrap(),
            );
        } else {
            assert_eq!(
                message["event"], "mark",
                "what is under way is not taken back"
            );
        }
        leg.playout.pause();
        leg.playout.clear();
    }
    let mut expected = Vec::new();
    for frame in tones("5w#").unwrap() {
        Codec::Pcmu.encode_into(&frame, &mut expected);
    }
    assert!(codes == expected, "other sound");
    assert_eq!(sending.await.unwrap(), Ok(()));
    let expected = Err(LineError::Refused);
    assert_eq!(leg.signalling.send_digits("x").await, expected);
    assert_eq!(leg.signalling.send_digits("").await, Ok(()));
    // The customer hangs up in the middle of a number.
    let signalling = leg.signalling.clone();
    let sending = tokio::spawn(async move { signalling.send_digits(&"12345678".repeat(6)).await });
    while said(&mut connection).await.unwrap()["event"] != "media" {}
    assert!(connection.receive(&stop(&call)));
    assert_eq!(sending.await.unwrap(), Err(LineError::Gone));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_orphaned_call_is_ended_by_its_id_or_once_it_appears() {
    let before = Desk::open().await;
    let leg = before.dial(1).await.unwrap();
    let call = before.twilio.placed(0).await;
    let dialog = before.carrier.early_dialog(handle(1)).unwrap();
    assert_eq!(dialog, call.sid);
    let after = Desk {
        carrier: crate::it::desk::carrier(before.twilio.upstream().base_url()),
        twilio: before.twilio,
    };
    after.twilio.set_status(&call.sid, "in-progress");
    after
        .carrier
        .hang_up_dialog(handle(1), &dialog)
        .await
        .unwrap();
    after.was_told(&call.sid, &[("Status", "completed")]).await;
    assert!(
        after
            .carrier
            .hang_up_dialog(handle(1), &dialog)
            .await
            .is_ok(),
        "it is over"
    );
    assert!(
        after
            .carrier
            .hang_up_dialog(handle(3), "no id/../x")
            .await
            .is_err()
    );
    // Only the handle is known of a call that was being placed.
    after.carrier.hang_up_orphan(handle(1)).await.unwrap();
    let form = after.twilio.tells(&call, "ringing", 1);
    assert!(after.post(&form));
    let ended = after.twilio.until("the end", |calls| {
        (calls[0].changes.len() >= 3).then_some(())
    });
    tokio::time::timeout(Duration::from_secs(30), ended)
        .await
        .unwrap();
    drop(leg);
}
