//! Digest authentication of callers (RFC 3261 §22), for trunks without fixed addresses.
//!
//! A challenge needs no memory: its nonce contains its time and is signed for the caller's address.

use std::net::IpAddr;

use ring::hmac;
use rsipstack::dialog::authenticate::verify_digest;
use rsipstack::sip::prelude::HeadersExt;
use rsipstack::sip::{Header, Method, SipMessage, StatusCode, typed};
use rsipstack::transaction::{Transaction, make_tag};
use tokio::time::Instant;

use crate::endpoint::Shared;

/// The realm of our challenges.
const REALM: &str = "offhook";

/// The lifetime of a challenge in seconds.
const NONCE_SECONDS: u64 = 60;

/// The decision about a call from an unknown address.
pub(crate) enum Verdict {
    /// The call belongs to this trunk.
    Trunk(usize),
    /// The call has no credentials and is challenged.
    Challenge,
    /// The credentials are wrong.
    Drop,
}

/// Decides about a call from an unknown address.
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

/// Sends a challenge, and keeps no state of the call.
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

/// The age in seconds of our nonce for this address; `None` if the nonce is not ours.
fn age(shared: &Shared, text: &str, from: IpAddr) -> Option<u64> {
    let at = u64::from_str_radix(text.split_once('.')?.0, 16).ok()?;
    (nonce(shared, at, from) == text).then(|| seconds(shared).saturating_sub(at))
}
