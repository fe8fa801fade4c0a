//! Calls whose process died, ended by another one.

use std::time::Duration;

use offhook_sip::{EndError, Refusal, Timers};

use crate::it::peer::Peer;
use crate::it::sipp::header;
use crate::it::support::{ANSWER, OFFER, Stage, told, trunk};

const SDP: &str = "Content-Type: application/sdp\r\n";

/// An endpoint whose trunk is at the peer.
async fn stage(peer: &Peer) -> Stage {
    Stage::with(peer.address).await
}

/// Sends the ACK of an answer.
async fn confirm(peer: &Peer, ok: &str, to: std::net::SocketAddr) {
    let ack = format!(
        "ACK sip:offhook@{to} SIP/2.0\r\nVia: SIP/2.0/UDP {};branch=z9hG4bK-ack\r\nFrom: {}\r\nTo: {}\r\n\
         Call-ID: {}\r\nCSeq: 1 ACK\r\nMax-Forwards: 70\r\nContent-Length: 0\r\n\r\n",
        peer.address,
        header(ok, "From"),
        header(ok, "To"),
        header(ok, "Call-ID"),
    );
    peer.send(to, ack).await;
}

/// An incoming call that was answered, and whose process then stops; its saved dialog, and its answer.
async fn left_behind(peer: &Peer, headers: &str) -> (Stage, String, String) {
    let mut stage = stage(peer).await;
    let invite = peer.invite(stage.address(), &format!("{headers}{SDP}"), OFFER);
    peer.send(stage.address(), invite).await;
    let incoming = stage.comes_in().await;
    let saved = incoming.dialog();
    let mut call = incoming.answer(ANSWER.to_owned());
    let (ok, from) = peer.receive("SIP/2.0 200").await;
    confirm(peer, &ok, from).await;
    assert_eq!(told(&mut call).await, "Answered");
    assert_eq!(
        call.control().saved(),
        saved,
        "an answer changes nothing of it"
    );
    std::mem::forget(call);
    (stage, saved, ok)
}

#[tokio::test]
async fn a_call_that_came_in_is_hung_up_by_another_process() {
    let caller = Peer::on("127.0.0.1").await;
    let (_dead, saved, ok) = left_behind(&caller, "").await;
    let successor = stage(&caller).await;
    let ending = tokio::spawn(async move { successor.trunks.end_dialog(&saved).await });
    let (bye, from) = caller.receive("BYE").await;
    caller.reply(from, &bye, "200 OK").await;
    assert_eq!(ending.await.unwrap(), Ok(()));

    // Their `To` is our `From`.
    assert_eq!(header(&bye, "From"), header(&ok, "To"));
    assert_eq!(header(&bye, "To"), header(&ok, "From"));
    assert_eq!(header(&bye, "Call-ID"), header(&ok, "Call-ID"));
    assert_eq!(header(&bye, "CSeq"), "1001 BYE");
    let target = format!("BYE sip:caller@{} SIP/2.0", caller.address);
    assert_eq!(bye.lines().next(), Some(target.as_str()));

    // Through the proxies of the call.
    let proxied = Peer::on("127.0.0.1").await;
    let routes = format!("Record-Route: <sip:{};lr>\r\n", proxied.address);
    let other = Peer::on("127.0.0.1").await;
    let (_dead, saved, _) = left_behind(&other, &routes).await;
    let successor = stage(&other).await;
    let ending = tokio::spawn(async move { successor.trunks.end_dialog(&saved).await });
    let (bye, from) = proxied.receive("BYE").await;
    let route = format!("<sip:{};lr>", proxied.address);
    assert_eq!(header(&bye, "Route"), route);
    let gone = "481 Call/Transaction Does Not Exist";
    proxied.send(from, proxied.answer(&bye, gone, "", "")).await;
    assert_eq!(
        ending.await.unwrap(),
        Ok(()),
        "a call that is over is no error"
    );
}

#[tokio::test]
async fn a_call_that_was_placed_is_hung_up_by_another_process_also_if_it_must_prove_itself() {
    let callee = Peer::on("127.0.0.1").await;
    let dead = stage(&callee).await;
    let mut call = dead.call().await;
    let (invite, from) = callee.receive("INVITE").await;
    let ok = callee.answer(&invite, "200 OK", SDP, ANSWER);
    callee.send(from, &ok).await;
    callee.receive("ACK").await;
    assert_eq!(told(&mut call).await, "Answered with SDP");
    let saved = call.control().saved();
    std::mem::forget(call);

    let successor = stage(&callee).await;
    let ending = tokio::spawn(async move { successor.trunks.end_dialog(&saved).await });
    let (bye, from) = callee.receive("BYE").await;
    assert_eq!(header(&bye, "From"), header(&ok, "From"));
    assert_eq!(header(&bye, "To"), header(&ok, "To"));
    let expected = "call_01900000-0000-7000-8000-000000000001@offhook";
    assert_eq!(header(&bye, "Call-ID"), expected);
    let asked = "Proxy-Authenticate: Digest realm=\"carrier\", nonce=\"n\", algorithm=MD5, qop=\"auth\"\r\n";
    let challenge = callee.answer(&bye, "407 Proxy Authentication Required", asked, "");
    callee.send(from, challenge).await;
    let (bye, from) = callee.receive("BYE").await;
    assert!(header(&bye, "Proxy-Authorization").contains("username=\"engine\""));
    callee.reply(from, &bye, "200 OK").await;
    assert_eq!(ending.await.unwrap(), Ok(()));
}

#[tokio::test]
async fn a_carrier_that_says_nothing_has_confirmed_nothing() {
    let caller = Peer::on("127.0.0.1").await;
    let (_dead, saved, _) = left_behind(&caller, "").await;
    let timers = Timers {
        t1: Duration::from_millis(5),
        goodbye: Duration::from_millis(100),
        connect: Duration::from_millis(100),
        ..Timers::default()
    };
    let successor = Stage::set(trunk(caller.address), timers).await;
    let ended = successor.trunks.end_dialog(&saved).await;
    assert_eq!(ended, Err(EndError::Unconfirmed));
    caller.receive("BYE").await;
}

#[tokio::test]
async fn what_is_not_of_our_form_ends_nothing() {
    let caller = Peer::on("127.0.0.1").await;
    let (_dead, saved, _) = left_behind(&caller, "").await;
    let successor = stage(&caller).await;
    let of_another_trunk = saved.replace("\"carrier\"", "\"gone\"");
    for broken in ["", "{}", "null", of_another_trunk.as_str()] {
        let ended = successor.trunks.end_dialog(broken).await;
        assert_eq!(ended, Err(EndError::Unreadable), "{broken}");
    }
}

#[tokio::test]
async fn an_invite_that_comes_by_two_ways_is_one_call() {
    let caller = Peer::on("127.0.0.1").await;
    let mut stage = stage(&caller).await;
    let invite = caller.invite(stage.address(), SDP, OFFER);
    caller.send(stage.address(), &invite).await;
    let incoming = stage.comes_in().await;
    // The same INVITE again, as after a lost answer, and through another proxy.
    caller.send(stage.address(), &invite).await;
    let forked = invite.replace("-1;rport", "-2;rport");
    caller.send(stage.address(), &forked).await;
    caller.receive("SIP/2.0 482").await;
    assert!(stage.incoming.try_recv().is_err());
    incoming.refuse(Refusal::Busy);
    caller.receive("SIP/2.0 486").await;
    stage.is_empty().await;
    // The Call-ID is free again once the call is over.
    let again = invite
        .replace("-1;rport", "-3;rport")
        .replace("CSeq: 1", "CSeq: 2");
    caller.send(stage.address(), again).await;
    stage.comes_in().await.refuse(Refusal::NotFound);
    caller.receive("SIP/2.0 404").await;
}

#[tokio::test]
async fn who_is_to_try_again_is_told_when() {
    let caller = Peer::on("127.0.0.1").await;
    let mut stage = stage(&caller).await;
    let invite = caller.invite(stage.address(), SDP, OFFER);
    caller.send(stage.address(), invite).await;
    stage.comes_in().await.refuse(Refusal::Later);
    let (refusal, _) = caller.receive("SIP/2.0 503").await;
    assert_eq!(header(&refusal, "Retry-After"), "5");
}
