//! Calls with audio: the engine's view of a trunk.

use std::net::Ipv4Addr;
use std::sync::Arc;

use offhook_domain::FailureReason;
use offhook_engine::ports::audio::{
    AudioCarrier as _, AudioEvent, AudioLeg, Frame, Played, SegmentId,
};
use offhook_engine::ports::{DialError, DialRequest, LineError};
use offhook_media::ports::{PortRange, Ports};
use offhook_media::pump::Latch;
use offhook_sip::{SipCarrier, SoundSettings, Timers};
use tokio::time::timeout;

use crate::it::peer::Peer;
use crate::it::sipp::{needs_sipp, play};
use crate::it::support::{FROM, OFFER, PATIENCE, Stage, TO, trunk};

fn ports() -> Ports {
    Ports::new(PortRange::new(42_000, 48_999).unwrap())
}

/// The trunk of a stage, with audio.
fn carrier(stage: &Stage, ports: &Ports) -> SipCarrier {
    let sound = SoundSettings {
        bind: Ipv4Addr::LOCALHOST.into(),
        external: None,
        ports: ports.clone(),
        latch: Latch::default(),
    };
    SipCarrier::new(Arc::clone(&stage.trunks), "carrier", sound).unwrap()
}

fn request() -> DialRequest {
    DialRequest {
        handle: "call_01900000-0000-7000-8000-000000000001".parse().unwrap(),
        from: FROM.parse().unwrap(),
        to: TO.parse().unwrap(),
        node: "01900000-0000-7000-8000-0000000000aa".parse().unwrap(),
        screens: false,
        longest: None,
    }
}

async fn event(leg: &mut AudioLeg) -> Option<AudioEvent> {
    timeout(PATIENCE, leg.events.recv())
        .await
        .expect("an event in time")
}

async fn is_loud(leg: &mut AudioLeg) {
    let loud = |frame: &Frame| frame.iter().filter(|sample| sample.abs() > 5_000).count() > 100;
    let heard = async { while !loud(&leg.ticks.recv().await.expect("ticks go on").heard) {} };
    timeout(PATIENCE, heard).await.expect("sound comes through");
}

async fn ports_are_given_back(ports: &Ports) {
    let given_back = async {
        while ports.in_use() > 0 {
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
    };
    timeout(PATIENCE, given_back)
        .await
        .expect("ports are given back");
}

#[tokio::test]
async fn two_sides_of_a_call_hear_each_other() {
    let mut callee = Stage::with("127.0.0.1:9".parse().unwrap()).await;
    let caller = Stage::with(callee.address()).await;
    let ports = ports();
    let (calling, called) = (carrier(&caller, &ports), carrier(&callee, &ports));

    let mut out = calling.dial(request()).await.unwrap();
    let incoming = callee.comes_in().await;
    let mut taken = called.answer(incoming).await.unwrap();
    assert_eq!(event(&mut out).await, Some(AudioEvent::Answered));
    assert_eq!(event(&mut taken).await, Some(AudioEvent::Answered));
    assert_eq!(ports.in_use(), 2);

    let tone = [10_000; 1_600];
    out.playout.enqueue(SegmentId(7), &tone);
    out.playout.finish(SegmentId(7));
    is_loud(&mut taken).await;
    taken.playout.enqueue(SegmentId(1), &tone);
    is_loud(&mut out).await;
    assert!(matches!(
        out.played.recv().await,
        Some(Played::Began(SegmentId(7), _))
    ));
    assert!(matches!(
        out.played.recv().await,
        Some(Played::Ended(SegmentId(7), _))
    ));
    // A queue that is cleared during a pause stays paused.
    taken.playout.pause();
    let cleared = taken.playout.clear();
    assert_eq!(cleared[0].segment, SegmentId(1));
    assert!(!cleared[0].finished);
    taken.playout.enqueue(SegmentId(2), &tone);
    // Ticks from before the pause are still to be read.
    while taken.ticks.recv().await.unwrap().said.is_some() {}
    for _ in 0..10 {
        assert!(taken.ticks.recv().await.unwrap().said.is_none());
    }

    out.signalling.send_digits("5w#").await.unwrap();
    assert_eq!(event(&mut taken).await, Some(AudioEvent::Dtmf('5')));
    assert_eq!(event(&mut taken).await, Some(AudioEvent::Dtmf('#')));
    let bad = out.signalling.send_digits("x").await;
    assert_eq!(bad, Err(LineError::Refused));

    out.signalling.hang_up().await;
    assert_eq!(event(&mut out).await, None);
    assert_eq!(event(&mut taken).await, Some(AudioEvent::Hangup));
    assert_eq!(event(&mut taken).await, None);
    ports_are_given_back(&ports).await;
    caller.is_empty().await;
    callee.is_empty().await;
    let (ours, theirs) = (calling.counted(), called.counted());
    // Frames that a busy machine made late count as skipped.
    assert_eq!(ours.unsent, 0, "{ours:?}");
    assert!(
        ours.sent >= 10 && theirs.incoming.received >= 10,
        "{theirs:?}"
    );
}

#[tokio::test]
async fn hold_is_told_to_the_engine() {
    needs_sipp!();
    let mut callee = play("hold").start().listening().await;
    let stage = Stage::with(callee.address).await;
    let ports = ports();
    let mut leg = carrier(&stage, &ports).dial(request()).await.unwrap();
    let mut events = Vec::new();
    while let Some(event) = event(&mut leg).await {
        events.push(event);
    }
    assert_eq!(
        events,
        [
            AudioEvent::Answered,
            AudioEvent::Hold(true),
            AudioEvent::Hold(false),
            AudioEvent::Hangup
        ]
    );
    callee.succeeds().await;
    let answers = callee.received("SIP/2.0 200");
    assert!(answers[0].contains("a=recvonly"), "{}", answers[0]);
    assert!(answers[1].contains("a=sendrecv"), "{}", answers[1]);
    ports_are_given_back(&ports).await;
    stage.is_empty().await;
}

#[tokio::test]
async fn a_phone_that_rings_and_sound_before_the_answer_are_told_apart() {
    needs_sipp!();
    let mut callee = play("early_answer").start().listening().await;
    let stage = Stage::with(callee.address).await;
    let mut leg = carrier(&stage, &ports()).dial(request()).await.unwrap();
    assert_eq!(event(&mut leg).await, Some(AudioEvent::EarlyMedia));
    assert_eq!(event(&mut leg).await, Some(AudioEvent::Answered));
    drop(leg);
    stage.is_through_with(&mut callee).await;

    let mut callee = play("ring").start().listening().await;
    let stage = Stage::with(callee.address).await;
    let carrier = carrier(&stage, &ports());
    let mut leg = carrier.dial(request()).await.unwrap();
    assert_eq!(event(&mut leg).await, Some(AudioEvent::Ringing));
    carrier.hang_up_orphan(request().handle).await.unwrap();
    assert_eq!(event(&mut leg).await, None);
    stage.is_through_with(&mut callee).await;
}

#[tokio::test]
async fn a_call_without_sound_that_we_know_is_ended() {
    let foreign = OFFER
        .replace("0 101", "18")
        .replace("PCMU/8000", "G729/8000")
        .replace("rtpmap:0", "rtpmap:18");
    for body in ["", "v=0", &foreign] {
        let callee = Peer::on("127.0.0.1").await;
        let stage = Stage::with(callee.address).await;
        let ports = ports();
        let mut leg = carrier(&stage, &ports).dial(request()).await.unwrap();
        let (request, from) = callee.receive("INVITE").await;
        let sdp = "Content-Type: application/sdp\r\n";
        callee
            .send(from, callee.answer(&request, "200 OK", sdp, body))
            .await;
        let failed = AudioEvent::Failed(FailureReason::CarrierError);
        assert_eq!(event(&mut leg).await, Some(failed), "{body}");
        let (bye, _) = callee.receive("BYE").await;
        callee.reply(from, &bye, "200 OK").await;
        ports_are_given_back(&ports).await;
        stage.is_empty().await;
    }
}

#[tokio::test]
async fn an_offer_that_cannot_be_taken_is_refused_at_the_door() {
    let mut stage = Stage::with("127.0.0.1:9".parse().unwrap()).await;
    let ports = ports();
    let carrier = carrier(&stage, &ports);
    let caller = Peer::on("127.0.0.1").await;
    let secured = OFFER.replace("RTP/AVP", "RTP/SAVP");
    let invite = caller.invite(
        stage.address(),
        "Content-Type: application/sdp\r\n",
        &secured,
    );
    caller.send(stage.address(), invite).await;
    let refused = carrier.answer(stage.comes_in().await).await.err().unwrap();
    assert!(refused.to_string().contains("SRTP"), "{refused}");
    caller.receive("SIP/2.0 488").await;
    assert_eq!(ports.in_use(), 0);
    stage.is_empty().await;
}

#[tokio::test]
async fn a_caller_who_gives_up_was_refused_by_nobody() {
    needs_sipp!();
    let mut stage = Stage::with("127.0.0.1:9".parse().unwrap()).await;
    let mut caller = play("caller_cancels").to(stage.address()).start();
    let incoming = stage.comes_in().await;
    incoming.ring(None);
    caller.succeeds().await;
    let mut leg = carrier(&stage, &ports()).answer(incoming).await.unwrap();
    let cancelled = AudioEvent::Failed(FailureReason::Cancelled);
    assert_eq!(event(&mut leg).await, Some(cancelled));
    assert_eq!(event(&mut leg).await, None);
    stage.is_empty().await;
}

#[tokio::test]
async fn a_call_is_ended_by_what_its_carrier_said_of_it() {
    let callee = Peer::on("127.0.0.1").await;
    let stage = Stage::with(callee.address).await;
    let (dead, ports) = (carrier(&stage, &ports()), ports());
    let handle = request().handle;
    assert_eq!(dead.dialog(handle), None);
    let mut leg = dead.dial(request()).await.unwrap();
    let (invite, from) = callee.receive("INVITE").await;
    let sdp = "Content-Type: application/sdp\r\n";
    callee
        .send(from, callee.answer(&invite, "200 OK", sdp, OFFER))
        .await;
    assert_eq!(event(&mut leg).await, Some(AudioEvent::Answered));
    let dialog = dead.dialog(handle).unwrap();
    std::mem::forget(leg);

    let stage = Stage::with(callee.address).await;
    let successor = carrier(&stage, &ports);
    let ending =
        tokio::spawn(async move { successor.hang_up_dialog(request().handle, &dialog).await });
    let (bye, from) = callee.receive("BYE").await;
    callee.reply(from, &bye, "200 OK").await;
    assert_eq!(ending.await.unwrap(), Ok(()));
}

#[tokio::test]
async fn without_a_way_nothing_is_dialed_and_no_port_is_kept() {
    let mut nowhere = trunk("127.0.0.1:1".parse().unwrap());
    nowhere.transport = Some("tcp".to_owned());
    let stage = Stage::set(nowhere, Timers::default()).await;
    let ports = ports();
    let refused = carrier(&stage, &ports).dial(request()).await.err();
    assert_eq!(refused, Some(DialError::NotConnected));
    assert_eq!(ports.in_use(), 0);
}
