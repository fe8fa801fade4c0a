//! Callers that prove themselves by digest (RFC 3261 §22), for trunks without fixed addresses.
//!
//! A challenge costs no memory: its nonce says when it was made and is signed for the asker's address.

use std::net::IpAddr;

use ring::hmac;
use rsipstack::dialog::authenticate::verify_digest;
use rsipstack::sip::prelude::HeadersExt;
use rsipstack::sip::{Header, Method, SipMessage, StatusCode, typed};
use rsipstack::transaction::{Transaction, make_tag};
use tokio::time::Instant;

use crate::endpoint::Shared;

/// What callers prove themselves for.
const REALM: &str = "offhook";

/// How long a challenge may be answered, in seconds.
const NONCE_SECONDS: u64 = 60;

/// What is to be done with a call of an unknown address.
pub(crate) enum Verdict {
    /// It comes by this trunk.
    Trunk(usize),
    /// It has proved nothing yet and is challenged.
    Challenge,
    /// It claimed what it does not know.
    Drop,
}

/// Judges a call that comes from no known address.
pub(crate) fn judge(shared: &Shared, call: &Transaction, from: IpAddr) -> Verdict {
    let Some(header) = call.original.authorization_header() else {
        return Verdict::Challenge;
    };
    let Ok(claim) = typed::Authorization::parse(header.value()) else {
        return Verdict::Drop;
    };
    if claim.realm != REALM {
        return Verdict::Challenge;
    }
    match age(shared, &claim.nonce, from) {
        None => return Verdict::Drop,
        Some(age) if age > NONCE_SECONDS => return Verdict::Challenge,
        Some(_) => {}
    }
    let known = shared.trunks.iter().position(|state| {
        let trunk = &state.trunk;
        trunk.accept_digest
            && trunk.credential.as_ref().is_some_and(|known| {
                known.username == claim.username
                    && verify_digest(&claim, &known.password, &Method::Invite, header.value())
            })
    });
    known.map_or(Verdict::Drop, Verdict::Trunk)
}

/// Asks the caller to prove itself, and forgets that it called.
pub(crate) async fn challenge(shared: &Shared, mut call: Transaction, from: IpAddr) {
    let Some(connection) = call.connection.clone() else {
        return;
    };
    let Ok(to) = call.original.to_header().cloned() else {
        return;
    };
    call.original
        .headers
        .unique_push(to.with_tag(make_tag()).into());
    let mut answer = shared
        .endpoint
        .make_response(&call.original, StatusCode::Unauthorized, None);
    let nonce = nonce(shared, seconds(shared), from);
    answer.headers.push(Header::WwwAuthenticate(
        format!("Digest realm=\"{REALM}\", nonce=\"{nonce}\", algorithm=MD5, qop=\"auth\"").into(),
    ));
    let _ = connection.send(SipMessage::Response(answer), None).await;
}

/// Seconds since the endpoint was started.
fn seconds(shared: &Shared) -> u64 {
    Instant::now().duration_since(shared.since).as_secs()
}

fn nonce(shared: &Shared, at: u64, from: IpAddr) -> String {
    let signed = hmac::sign(&shared.secret, format!("{at} {from}").as_bytes());
    format!("{at:x}.{}", hex::encode(&signed.as_ref()[..16]))
}

/// How old a nonce of ours for this address is, in seconds; `None` if it is not ours.
fn age(shared: &Shared, text: &str, from: IpAddr) -> Option<u64> {
    let at = u64::from_str_radix(text.split_once('.')?.0, 16).ok()?;
    (nonce(shared, at, from) == text).then(|| seconds(shared).saturating_sub(at))
}
