//! Incoming calls.

use std::time::Duration;

use offhook_sip::{Refusal, Timers};

use crate::it::peer::Peer;
use crate::it::sipp::{header, needs_sipp, play};
use crate::it::support::{ANSWER, OFFER, Stage, rest, told, trunk};

const SDP: &str = "Content-Type: application/sdp\r\n";

/// An endpoint whose trunk accepts every caller at 127.0.0.1.
async fn stage() -> Stage {
    Stage::with("127.0.0.1:9".parse().unwrap()).await
}

#[tokio::test]
async fn a_call_by_a_trunk_is_answered() {
    needs_sipp!();
    let mut stage = stage().await;
    let mut caller = play("caller").to(stage.address()).start();
    let incoming = stage.comes_in().await;
    assert_eq!(incoming.trunk, "carrier");
    assert_eq!(incoming.from.as_deref(), Some("+15551234567"));
    assert_eq!(incoming.to, "+15005550100");
    assert!(incoming.offer.as_deref().unwrap().contains("m=audio"));
    incoming.ring(None);
    let mut call = incoming.answer(ANSWER.to_owned());
    assert_eq!(rest(&mut call).await, ["Answered", "Hangup"]);
    caller.succeeds().await;
    stage.is_empty().await;
    let answer = &caller.received("SIP/2.0 200")[0];
    assert!(answer.contains(ANSWER.trim_end()), "{answer}");
    assert!(header(answer, "Contact").starts_with("<sip:offhook@127.0.0.1:"));
}

#[tokio::test]
async fn a_call_that_came_in_is_ended_by_us() {
    needs_sipp!();
    let mut stage = stage().await;
    let mut caller = play("caller_waits").to(stage.address()).start();
    let mut call = stage.comes_in().await.answer(ANSWER.to_owned());
    assert_eq!(told(&mut call).await, "Answered");
    call.control().hang_up().await;
    assert_eq!(rest(&mut call).await, [""; 0]);
    caller.succeeds().await;
    stage.is_empty().await;
}

#[tokio::test]
async fn a_call_that_is_not_wanted_is_refused() {
    needs_sipp!();
    let mut stage = stage().await;
    let mut caller = play("caller_refused").to(stage.address()).start();
    stage.comes_in().await.refuse(Refusal::Busy);
    caller.succeeds().await;
    stage.is_empty().await;
}

#[tokio::test]
async fn a_caller_who_gives_up_is_told_of() {
    needs_sipp!();
    let mut stage = stage().await;
    let mut caller = play("caller_cancels").to(stage.address()).start();
    let incoming = stage.comes_in().await;
    incoming.ring(None);
    caller.succeeds().await;
    let mut call = incoming.answer(ANSWER.to_owned());
    assert_eq!(rest(&mut call).await, ["Hangup"]);
    stage.is_empty().await;
}

#[tokio::test]
async fn a_call_that_nobody_takes_is_refused_for_now() {
    let timers = Timers {
        ring: Duration::from_millis(200),
        ..Timers::default()
    };
    let mut stage = Stage::set(trunk("127.0.0.1:9".parse().unwrap()), timers).await;
    for dropped in [true, false] {
        let caller = Peer::on("127.0.0.1").await;
        caller
            .send(stage.address(), caller.invite(stage.address(), SDP, OFFER))
            .await;
        let incoming = stage.comes_in().await;
        let kept = (!dropped).then_some(incoming);
        caller.receive("SIP/2.0 480").await;
        drop(kept);
        stage.is_empty().await;
    }
}

#[tokio::test]
async fn a_caller_who_never_confirms_is_hung_up_on() {
    let timers = Timers {
        t1: Duration::from_millis(20),
        ..Timers::default()
    };
    let mut stage = Stage::set(trunk("127.0.0.1:9".parse().unwrap()), timers).await;
    let caller = Peer::on("127.0.0.1").await;
    caller
        .send(stage.address(), caller.invite(stage.address(), SDP, OFFER))
        .await;
    let mut call = stage.comes_in().await.answer(ANSWER.to_owned());
    caller.receive("SIP/2.0 200").await;
    caller.receive("SIP/2.0 200").await;
    let (bye, from) = caller.receive("BYE").await;
    caller.reply(from, &bye, "200 OK").await;
    assert_eq!(rest(&mut call).await, ["Hangup"]);
    stage.is_empty().await;
}

#[tokio::test]
async fn an_offer_of_ours_is_answered_in_the_confirmation() {
    let mut stage = stage().await;
    let caller = Peer::on("127.0.0.1").await;
    let invite = caller.invite(stage.address(), "", "");
    caller.send(stage.address(), &invite).await;
    let incoming = stage.comes_in().await;
    assert_eq!(incoming.offer, None);
    let mut call = incoming.answer(OFFER.to_owned());
    let (ok, from) = caller.receive("SIP/2.0 200").await;
    let ack = format!(
        "ACK sip:offhook@{from} SIP/2.0\r\nVia: SIP/2.0/UDP {};branch=z9hG4bK-ack\r\nFrom: {}\r\nTo: {}\r\n\
         Call-ID: {}\r\nCSeq: 1 ACK\r\nMax-Forwards: 70\r\n{SDP}Content-Length: {}\r\n\r\n{ANSWER}",
        caller.address,
        header(&ok, "From"),
        header(&ok, "To"),
        header(&ok, "Call-ID"),
        ANSWER.len()
    );
    caller.send(stage.address(), ack).await;
    assert_eq!(told(&mut call).await, "Answered with SDP");
    drop(call);
    let (bye, _) = caller.receive("BYE").await;
    caller.reply(from, &bye, "200 OK").await;
    stage.is_empty().await;
}

#[tokio::test]
async fn strangers_are_not_answered() {
    let mut stage = stage().await;
    let stranger = Peer::on("127.0.0.2").await;
    let invite = stranger.invite(stage.address(), SDP, OFFER);
    for message in [
        invite.clone(),
        invite.replace("INVITE", "OPTIONS"),
        invite.replace("INVITE", "REGISTER"),
        invite.replace("INVITE", "CANCEL"),
        "\r\n\r\n".to_owned(),
    ] {
        stranger.send(stage.address(), message).await;
    }
    assert!(stranger.hears_nothing(Duration::from_millis(300)).await);
    assert!(stage.incoming.try_recv().is_err());
    assert_eq!(stage.trunks.dialogs(), 0);

    // The same message from a trunk is a call.
    let caller = Peer::on("127.0.0.1").await;
    caller
        .send(stage.address(), caller.invite(stage.address(), SDP, OFFER))
        .await;
    drop(stage.comes_in().await);
}

/// An endpoint whose trunk is at 192.0.2.1, and accepts calls from anywhere by digest.
async fn by_digest() -> Stage {
    let mut anywhere = trunk("192.0.2.1:5060".parse().unwrap());
    anywhere.accept_digest = true;
    Stage::set(anywhere, Timers::default()).await
}

#[tokio::test]
async fn a_caller_from_anywhere_proves_itself() {
    needs_sipp!();
    let mut stage = by_digest().await;
    let mut caller = play("caller_digest").to(stage.address()).start();
    let mut call = stage.comes_in().await.answer(ANSWER.to_owned());
    assert_eq!(rest(&mut call).await, ["Answered", "Hangup"]);
    caller.succeeds().await;
    stage.is_empty().await;
}

#[tokio::test]
async fn a_caller_from_anywhere_who_guesses_hears_nothing_more() {
    let mut stage = by_digest().await;
    let caller = Peer::on("127.0.0.1").await;
    let invite = caller.invite(stage.address(), SDP, OFFER);
    caller.send(stage.address(), &invite).await;
    let (challenge, _) = caller.receive("SIP/2.0 401").await;
    let asked = header(&challenge, "WWW-Authenticate");
    let nonce = asked
        .split("nonce=\"")
        .nth(1)
        .unwrap()
        .split('"')
        .next()
        .unwrap();
    for nonce in [nonce, "0.00000000000000000000000000000000"] {
        let guess = format!(
            "Authorization: Digest username=\"engine\", realm=\"offhook\", nonce=\"{nonce}\", uri=\"sip:x@y\", \
             response=\"{}\", algorithm=MD5\r\n",
            "0".repeat(32)
        );
        let retry = caller
            .invite(stage.address(), &format!("{SDP}{guess}"), OFFER)
            .replace(
                "branch=z9hG4bK-",
                &format!("branch=z9hG4bK-{}", &nonce[..2]),
            );
        caller.send(stage.address(), retry).await;
    }
    for method in ["OPTIONS", "REGISTER", "BYE", "CANCEL"] {
        caller
            .send(stage.address(), invite.replace("INVITE", method))
            .await;
    }
    assert!(caller.hears_nothing(Duration::from_millis(300)).await);
    assert!(stage.incoming.try_recv().is_err());
    assert_eq!(stage.trunks.dialogs(), 0);
}

#[tokio::test]
async fn what_is_no_sip_disturbs_nobody() {
    let mut stage = stage().await;
    let caller = Peer::on("127.0.0.1").await;
    let invite = caller.invite(stage.address(), SDP, OFFER);
    let mut noise: Vec<Vec<u8>> = vec![
        Vec::new(),
        b"\r\n".to_vec(),
        vec![0xff; 1400],
        b"INVITE".to_vec(),
        b"SIP/2.0 200 OK\r\n\r\n".to_vec(),
        b"SIP/2.0 999999999999 ?\r\nVia: \r\n\r\n".to_vec(),
        b"INVITE sip: SIP/2.0\r\nVia: SIP/2.0/UDP\r\n\r\n".to_vec(),
    ];
    // Omits, empties and enlarges each header in turn, and cuts the message at every position.
    for (index, line) in invite
        .split("\r\n")
        .enumerate()
        .filter(|(_, line)| line.contains(':'))
    {
        let name = line.split(':').next().unwrap();
        for changed in [
            String::new(),
            format!("{name}:"),
            format!("{name}: \"<;=,@:>\u{fffd}"),
            format!("{name}: {}", "9".repeat(2000)),
            format!("{line}\r\n{line}"),
        ] {
            let mut lines: Vec<&str> = invite.split("\r\n").collect();
            lines[index] = &changed;
            // Such a message may be a separate call: it must not count as a retransmission of another.
            let text = lines
                .join("\r\n")
                .replace("z9hG4bK-", &format!("z9hG4bK-n{index}"));
            noise.push(text.into_bytes());
        }
    }
    for end in (0..invite.len()).step_by(7) {
        noise.push(invite.as_bytes()[..end].to_vec());
    }
    for noise in &noise {
        caller.send(stage.address(), noise).await;
        while stage.incoming.try_recv().is_ok() {}
    }

    let sane = Peer::on("127.0.0.1").await;
    let invite = sane.invite(stage.address(), SDP, OFFER);
    sane.send(
        stage.address(),
        invite.replace("+15551234567", "+15559876543"),
    )
    .await;
    while stage.comes_in().await.from.as_deref() != Some("+15559876543") {}
    stage.is_empty().await;
}

#[tokio::test]
async fn a_call_with_another_body_than_a_description_is_refused() {
    let mut stage = stage().await;
    let caller = Peer::on("127.0.0.1").await;
    let invite = caller.invite(stage.address(), "Content-Type: text/plain\r\n", "hello");
    caller.send(stage.address(), invite).await;
    let (refusal, _) = caller.receive("SIP/2.0 415").await;
    assert_eq!(header(&refusal, "Accept"), "application/sdp");
    assert!(stage.incoming.try_recv().is_err());
}

#[tokio::test]
async fn a_trunk_may_ask_what_we_can_and_register_nothing() {
    let stage = stage().await;
    let peer = Peer::on("127.0.0.1").await;
    let invite = peer.invite(stage.address(), "", "");
    peer.send(stage.address(), invite.replace("INVITE", "OPTIONS"))
        .await;
    let (answer, _) = peer.receive("SIP/2.0 200").await;
    assert!(header(&answer, "Allow").contains("INVITE, ACK, CANCEL, BYE"));
    assert!(!header(&answer, "Allow").contains("REFER"));
    let register = invite.replace("INVITE", "REGISTER").replace("-1;", "-2;");
    peer.send(stage.address(), register).await;
    peer.receive("SIP/2.0 405").await;
    let unknown = invite.replace("INVITE", "BYE").replace("-1;", "-3;");
    peer.send(
        stage.address(),
        unknown.replace(
            &format!("{}>\r\nCall-ID", stage.address()),
            &format!("{}>;tag=x\r\nCall-ID", stage.address()),
        ),
    )
    .await;
    peer.receive("SIP/2.0 481").await;
}
