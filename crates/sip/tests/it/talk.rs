//! Answered and refused calls.

use std::time::Duration;

use offhook_sip::Timers;

use crate::it::peer::Peer;
use crate::it::sipp::{header, needs_sipp, play};
use crate::it::support::{FROM, OFFER, Stage, TO, called, invite, rest, told, trunk};

#[tokio::test]
async fn early_media_comes_before_the_answer_and_we_hang_up() {
    needs_sipp!();
    let (mut callee, stage, mut call) = called(play("early_answer")).await;
    assert_eq!(told(&mut call).await, "Provisional(183 with SDP)");
    assert_eq!(told(&mut call).await, "Answered with SDP");
    assert_eq!(stage.trunks.dialogs(), 1);
    call.control().hang_up().await;
    call.control().hang_up().await;
    assert_eq!(rest(&mut call).await, [""; 0]);
    stage.is_through_with(&mut callee).await;

    let invite = &callee.received("INVITE")[0];
    let us = stage.address();
    let expected = "call_01900000-0000-7000-8000-000000000001@offhook";
    assert_eq!(header(invite, "Call-ID"), expected);
    assert!(
        header(invite, "User-Agent").starts_with("offhook/"),
        "{invite}"
    );
    assert!(
        invite.starts_with(&format!("INVITE sip:{TO}@{}", callee.address)),
        "{invite}"
    );
    assert!(header(invite, "From").starts_with(&format!("<sip:{FROM}@127.0.0.1>;tag=")));
    assert_eq!(
        header(invite, "To"),
        format!("<sip:{TO}@{}>", callee.address)
    );
    assert_eq!(header(invite, "Contact"), format!("<sip:offhook@{us}>"));
    assert!(invite.ends_with(OFFER.trim_end()) || invite.trim_end().ends_with(OFFER.trim_end()));
    for message in callee.received("") {
        assert!(
            !message.contains("restsend") && !message.contains("rsipstack"),
            "{message}"
        );
    }
}

/// RFC 3261 §12.1.2 and §12.2.1.1: requests after the answer go through the proxies that record-routed, the nearest
/// first.
#[tokio::test]
async fn what_follows_an_answer_goes_by_the_proxies_in_its_way() {
    needs_sipp!();
    let (mut callee, stage, mut call) = called(play("proxied")).await;
    assert_eq!(told(&mut call).await, "Answered with SDP");
    call.control().hang_up().await;
    assert_eq!(rest(&mut call).await, [""; 0]);
    stage.is_through_with(&mut callee).await;
    for method in ["ACK", "BYE"] {
        let request = &callee.received(method)[0];
        assert!(
            request.starts_with(&format!("{method} sip:callee@192.0.2.9 SIP/2.0")),
            "{request}"
        );
        let routes: Vec<String> = request
            .lines()
            .filter_map(|line| line.strip_prefix("Route: "))
            .flat_map(|routes| routes.split(','))
            .map(|route| route.trim().to_owned())
            .collect();
        let nearest = format!("<sip:{};lr>", callee.address);
        assert_eq!(
            routes,
            [nearest.as_str(), "<sip:192.0.2.7;lr>"],
            "{request}"
        );
    }
}

#[tokio::test]
async fn a_carrier_that_challenges_is_told_who_we_are() {
    needs_sipp!();
    for scenario in ["digest_401", "digest_407"] {
        let (mut callee, stage, mut call) = called(play(scenario)).await;
        let mut event = told(&mut call).await;
        if event == "Provisional(180)" {
            event = told(&mut call).await;
        }
        assert_eq!(event, "Answered with SDP", "{scenario}");
        call.control().hang_up().await;
        stage.is_through_with(&mut callee).await;
    }
}

#[tokio::test]
async fn a_challenge_of_today_is_answered() {
    use rsipstack::dialog::authenticate::verify_digest;
    use rsipstack::sip::{Method, typed};

    let callee = Peer::on("127.0.0.1").await;
    let stage = Stage::with(callee.address).await;
    let _call = stage.call().await;
    let (request, from) = callee.receive("INVITE").await;
    let challenge = "Proxy-Authenticate: Digest realm=\"r\", nonce=\"n\", qop=\"auth,auth-int\", algorithm=SHA-256\r\n";
    let answer = callee.answer(&request, "407 Proxy Authentication Required", challenge, "");
    callee.send(from, answer).await;
    callee.receive("ACK").await;
    let (request, _) = callee.receive("INVITE").await;
    let proof = header(&request, "Proxy-Authorization");
    assert!(
        proof.contains("algorithm=SHA-256") && proof.contains("qop=\"auth\""),
        "{proof}"
    );
    let read = proof.replace("SHA-256", "SHA256");
    let claim = typed::Authorization::parse(&read).unwrap();
    assert!(verify_digest(&claim, "secret", &Method::Invite, &read));
}

#[tokio::test]
async fn a_wrong_password_is_a_rejected_call() {
    needs_sipp!();
    let mut callee = play("digest_401").start().listening().await;
    let mut wrong = trunk(callee.address);
    wrong.password = Some("guess".to_owned());
    let stage = Stage::set(wrong, Timers::default()).await;
    let mut call = stage.call().await;
    assert_eq!(
        rest(&mut call).await,
        ["Failure { reason: Rejected, code: Some(403), cause: None }"]
    );
    stage.is_through_with(&mut callee).await;
}

#[tokio::test]
async fn each_refusal_is_told_by_its_reason() {
    needs_sipp!();
    for (code, cause, reason) in [
        (486, 17, "Busy"),
        (603, 21, "Rejected"),
        (480, 18, "NoAnswer"),
        (404, 1, "InvalidNumber"),
        (503, 34, "CarrierError"),
    ] {
        let (mut callee, stage, mut call) =
            called(play("refused").key("code", code).key("cause", cause)).await;
        let told =
            format!("Failure {{ reason: {reason}, code: Some({code}), cause: Some({cause}) }}");
        assert_eq!(rest(&mut call).await, [told]);
        stage.is_through_with(&mut callee).await;
    }
}

#[tokio::test]
async fn a_callee_who_hangs_up_ends_the_call() {
    needs_sipp!();
    let (mut callee, stage, mut call) = called(play("remote_bye")).await;
    assert_eq!(rest(&mut call).await, ["Answered with SDP", "Hangup"]);
    stage.is_through_with(&mut callee).await;
}

#[tokio::test]
async fn a_lost_confirmation_is_sent_again() {
    let callee = Peer::on("127.0.0.1").await;
    let stage = Stage::with(callee.address).await;
    let mut call = stage.call().await;
    let (request, from) = callee.receive("INVITE").await;
    let ok = callee.answer(
        &request,
        "200 OK",
        "Content-Type: application/sdp\r\n",
        OFFER,
    );
    for _ in 0..3 {
        callee.send(from, &ok).await;
        let (ack, _) = callee.receive("ACK").await;
        let expected = header(&request, "CSeq").replace("INVITE", "ACK");
        assert_eq!(header(&ack, "CSeq"), expected);
    }
    assert_eq!(told(&mut call).await, "Answered with SDP");
    let control = call.control();
    let hanging_up = tokio::spawn(async move { control.hang_up().await });
    let (bye, _) = callee.receive("BYE").await;
    callee.reply(from, &bye, "200 OK").await;
    hanging_up.await.unwrap();
    assert_eq!(rest(&mut call).await, [""; 0]);
    stage.is_empty().await;
}

#[tokio::test]
async fn a_callee_who_does_not_confirm_the_end_is_forgotten() {
    let callee = Peer::on("127.0.0.1").await;
    let timers = Timers {
        goodbye: Duration::from_millis(200),
        ..Timers::default()
    };
    let stage = Stage::set(trunk(callee.address), timers).await;
    let mut call = stage.call().await;
    let (request, from) = callee.receive("INVITE").await;
    callee.reply(from, &request, "200 OK").await;
    assert_eq!(told(&mut call).await, "Answered");
    call.control().hang_up().await;
    assert_eq!(rest(&mut call).await, [""; 0]);
    assert_eq!(stage.trunks.dialogs(), 0);
    callee.receive("BYE").await;
}

#[tokio::test]
async fn a_call_over_tcp_is_the_same_call() {
    needs_sipp!();
    for scenario in ["early_answer", "remote_bye", "hold"] {
        let mut callee = play(scenario).over_tcp().start().listening().await;
        let mut tcp = trunk(callee.address);
        tcp.transport = Some("tcp".to_owned());
        let stage = Stage::set(tcp, Timers::default()).await;
        let mut call = stage.call().await;
        match scenario {
            "early_answer" => {
                assert_eq!(told(&mut call).await, "Provisional(183 with SDP)");
                assert_eq!(told(&mut call).await, "Answered with SDP");
                call.control().hang_up().await;
            }
            "remote_bye" => {
                assert_eq!(rest(&mut call).await, ["Answered with SDP", "Hangup"]);
            }
            _ => crate::it::middle::is_held_and_taken_back(&mut call).await,
        }
        stage.is_through_with(&mut callee).await;
    }
}

#[tokio::test]
async fn twenty_calls_go_on_side_by_side() {
    needs_sipp!();
    const CALLS: u32 = 20;
    let mut callee = play("early_answer").calls(CALLS).start().listening().await;
    let stage = Stage::with(callee.address).await;
    let mut calls = Vec::new();
    for number in 0..CALLS {
        calls.push(stage.trunks.call("carrier", invite(number)).await.unwrap());
    }
    for call in &mut calls {
        assert_eq!(told(call).await, "Provisional(183 with SDP)");
        assert_eq!(told(call).await, "Answered with SDP");
    }
    assert_eq!(stage.trunks.dialogs(), CALLS as usize);
    drop(calls);
    stage.is_through_with(&mut callee).await;
}

#[tokio::test]
async fn a_number_is_shown_by_the_header_that_the_carrier_reads() {
    for (setting, name, value) in [
        (
            "p-asserted-identity",
            "P-Asserted-Identity",
            "<sip:+15005550100@ours.example>",
        ),
        (
            "remote-party-id",
            "Remote-Party-ID",
            "<sip:+15005550100@ours.example>;party=calling;screen=yes;privacy=off",
        ),
    ] {
        let callee = Peer::on("127.0.0.1").await;
        let mut named = trunk(callee.address);
        named.caller_id_header = Some(setting.to_owned());
        named.from_domain = Some("ours.example".to_owned());
        let stage = Stage::set(named, Timers::default()).await;
        let _call = stage.call().await;
        let (request, _) = callee.receive("INVITE").await;
        assert_eq!(header(&request, name), value);
        assert!(header(&request, "From").starts_with("<sip:+15005550100@ours.example>;tag="));
    }
}
