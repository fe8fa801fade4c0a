//! Requests of the other side during a call: new session offers, session refreshes, DTMF digits, and transfer progress.

use futures_util::FutureExt as _;
use std::sync::Arc;
use std::time::Duration;

use rsipstack::dialog::dialog::{DialogState, TransactionHandle};
use rsipstack::sip::{HasHeaders, Header, HeadersExt, Method, Request, StatusCode};
use tokio::sync::oneshot;
use tokio::time::timeout;

use crate::call::{Live, Reply, SipEvent};
use crate::endpoint::ALLOW;

/// How long a call's owner may take to answer an offer.
const OFFER_PATIENCE: Duration = Duration::from_secs(8);

/// The media type of session descriptions.
pub(crate) const SDP: &str = "application/sdp";

impl Live {
    /// Handles one request of the other side; `false` if the call's owner is gone.
    pub(crate) fn handle(&mut self, state: DialogState) -> bool {
        match state {
            DialogState::Updated(_, request, handle) => return self.renegotiate(&request, handle),
            DialogState::Info(_, request, handle) => match digit(&request) {
                Ok(digit) => {
                    answer(handle, StatusCode::OK, Vec::new());
                    return digit.is_none_or(|digit| self.report(SipEvent::Digit(digit)));
                }
                Err(UnknownBody) => answer(handle, StatusCode::UnsupportedMediaType, Vec::new()),
            },
            DialogState::Options(_, _, handle) => answer(handle, StatusCode::OK, capabilities()),
            DialogState::Notify(_, request, handle) => {
                answer(handle, StatusCode::OK, Vec::new());
                if let Some(code) = sipfrag(&request) {
                    self.transfer_progress(code);
                }
            }
            // The other side must not redirect our calls.
            DialogState::Refer(_, _, handle) => answer(handle, StatusCode::Decline, Vec::new()),
            DialogState::Message(_, _, handle) | DialogState::Publish(_, _, handle) => {
                answer(handle, StatusCode::MethodNotAllowed, capabilities());
            }
            DialogState::Calling(_)
            | DialogState::Trying(_)
            | DialogState::Early(..)
            | DialogState::WaitAck(..)
            | DialogState::Confirmed(..)
            | DialogState::Terminated(..) => {}
        }
        true
    }

    /// Handles a re-INVITE or an UPDATE. One that changes nothing is answered here; an offer goes to the call's owner.
    fn renegotiate(&mut self, request: &Request, handle: TransactionHandle) -> bool {
        self.admit_route(request);
        let mut headers = vec![Header::Allow(ALLOW.into())];
        headers.extend(session_timer(request));
        let offer = sdp(request, &request.body);
        let ours = {
            let known = self.descriptions.lock();
            let unchanged = offer.is_none() || known.theirs == offer;
            unchanged.then(|| known.ours.clone())
        };
        match (offer, ours) {
            // A session refresh (RFC 4028) without a session description.
            (None, Some(_)) if request.method == Method::Update => {
                answer(handle, StatusCode::OK, headers);
            }
            // The same offer as before, or none: our last description stays valid, and is sent.
            (_, Some(Some(ours))) => answer_with(handle, headers, ours),
            (None, _) => answer(handle, StatusCode::NotAcceptableHere, Vec::new()),
            (Some(offer), _) => {
                let (reply, answered) = oneshot::channel::<String>();
                let descriptions = Arc::clone(&self.descriptions);
                let theirs = offer.clone();
                tokio::spawn(
                    async move {
                        match timeout(OFFER_PATIENCE, answered).await {
                            Ok(Ok(ours)) => {
                                {
                                    let mut known = descriptions.lock();
                                    known.ours = Some(ours.clone());
                                    known.theirs = Some(theirs);
                                }
                                answer_with(handle, headers, ours);
                            }
                            Ok(Err(_)) | Err(_) => {
                                answer(handle, StatusCode::NotAcceptableHere, Vec::new());
                            }
                        }
                    }
                    .boxed(),
                );
                return self.report(SipEvent::Renegotiated {
                    offer,
                    reply: Reply(reply),
                });
            }
        }
        true
    }
}

/// Answers without a body. The stack's channel takes exactly one answer without waiting.
fn answer(handle: TransactionHandle, status: StatusCode, headers: Vec<Header>) {
    tokio::spawn(async move { handle.respond(status, Some(headers), None).await }.boxed());
}

fn answer_with(handle: TransactionHandle, mut headers: Vec<Header>, sdp: String) {
    headers.push(Header::ContentType(SDP.into()));
    tokio::spawn(
        async move {
            handle
                .respond(StatusCode::OK, Some(headers), Some(sdp.into_bytes()))
                .await
        }
        .boxed(),
    );
}

/// The headers of an answer to OPTIONS.
pub(crate) fn capabilities() -> Vec<Header> {
    vec![Header::Allow(ALLOW.into()), Header::Accept(SDP.into())]
}

/// The session description of a message.
pub(crate) fn sdp(message: &impl HasHeaders, body: &[u8]) -> Option<String> {
    let media_type = message.headers().iter().find_map(|header| match header {
        Header::ContentType(media_type) => Some(media_type.value()),
        _ => None,
    });
    let is_sdp = match media_type {
        Some(media_type) => media_type
            .split(';')
            .next()
            .is_some_and(|name| name.trim().eq_ignore_ascii_case(SDP)),
        None => body.starts_with(b"v=0"),
    };
    (is_sdp && !body.is_empty()).then(|| String::from_utf8_lossy(body).into_owned())
}

/// A body that is neither a digit nor empty.
struct UnknownBody;

/// Parses the key of an INFO, as `application/dtmf-relay` (`Signal=5`) or `application/dtmf` (`5`). An empty body is a
/// keep-alive.
fn digit(request: &Request) -> Result<Option<char>, UnknownBody> {
    let body = String::from_utf8_lossy(&request.body);
    let body = body.trim();
    if body.is_empty() {
        return Ok(None);
    }
    let media_type = request
        .header_value("Content-Type")
        .unwrap_or_default()
        .to_ascii_lowercase();
    let signal = match media_type.split(';').next().map(str::trim) {
        Some("application/dtmf-relay") => body
            .lines()
            .filter_map(|line| line.split_once('='))
            .find(|(name, _)| name.trim().eq_ignore_ascii_case("signal"))
            .map(|(_, value)| value.trim()),
        Some("application/dtmf") => Some(body),
        _ => return Err(UnknownBody),
    };
    let key = match signal {
        Some("10") => '*',
        Some("11") => '#',
        Some(signal) if signal.chars().count() == 1 => signal
            .chars()
            .next()
            .map_or(' ', |key| key.to_ascii_uppercase()),
        Some(_) | None => return Err(UnknownBody),
    };
    match key {
        '0'..='9' | '*' | '#' | 'A'..='D' => Ok(Some(key)),
        _ => Err(UnknownBody),
    }
}

/// Parses the status in a transfer's NOTIFY (RFC 3515 §2.4.5).
fn sipfrag(request: &Request) -> Option<u16> {
    let event = request.header_value("Event")?;
    if !event.to_ascii_lowercase().starts_with("refer") {
        return None;
    }
    let body = String::from_utf8_lossy(&request.body);
    body.lines()
        .find_map(|line| line.strip_prefix("SIP/2.0 "))?
        .split(' ')
        .next()?
        .parse()
        .ok()
}

/// The headers that agree to a session timer which the other side refreshes. If it wants us to refresh, the answer
/// omits them, which leaves the session without a timer (RFC 4028 §9).
fn session_timer(request: &Request) -> Vec<Header> {
    let Some(expires) = request.header_value("Session-Expires") else {
        return Vec::new();
    };
    let mut parts = expires.split(';').map(str::trim);
    let Some(Ok(seconds)) = parts.next().map(str::parse::<u32>) else {
        return Vec::new();
    };
    if parts.any(|part| part.eq_ignore_ascii_case("refresher=uas"))
        || !request.header_contains_token("Supported", "timer")
    {
        return Vec::new();
    }
    vec![
        Header::SessionExpires(format!("{seconds};refresher=uac").into()),
        Header::Require("timer".into()),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(headers: &str, body: &str) -> Request {
        Request::try_from(format!(
            "INFO sip:a@h SIP/2.0\r\nVia: SIP/2.0/UDP h;branch=z9hG4bK1\r\nFrom: <sip:a@h>;tag=1\r\n\
             To: <sip:b@h>;tag=2\r\nCall-ID: 1\r\nCSeq: 2 INFO\r\n{headers}Content-Length: {}\r\n\r\n{body}",
            body.len()
        ))
        .unwrap()
    }

    #[test]
    fn keys_are_read_from_both_forms() {
        let relay = "Content-Type: application/dtmf-relay\r\n";
        let plain = "Content-Type: application/dtmf; charset=x\r\n";
        for (headers, body, key) in [
            (relay, "Signal=5\r\nDuration=160\r\n", Some(Some('5'))),
            (relay, "Duration=160\r\nsignal = #\r\n", Some(Some('#'))),
            (relay, "Signal=11", Some(Some('#'))),
            (relay, "Signal=a", Some(Some('A'))),
            (plain, "*", Some(Some('*'))),
            (plain, " 10\r\n", Some(Some('*'))),
            ("", "", Some(None)),
            (relay, "Signal=\r\n", None),
            (relay, "Signal=é", None),
            (relay, "Duration=160", None),
            ("Content-Type: application/xml\r\n", "<x/>", None),
        ] {
            assert_eq!(digit(&request(headers, body)).ok(), key, "{body:?}");
        }
    }

    #[test]
    fn news_of_a_transfer_is_the_code_in_its_fragment() {
        for (headers, body, code) in [
            ("Event: refer\r\n", "SIP/2.0 200 OK\r\n", Some(200)),
            ("Event: refer;id=2\r\n", "SIP/2.0 486 Busy Here", Some(486)),
            ("Event: presence\r\n", "SIP/2.0 200 OK", None),
            ("", "SIP/2.0 200 OK", None),
            ("Event: refer\r\n", "200 OK", None),
            ("Event: refer\r\n", "SIP/2.0 many", None),
        ] {
            assert_eq!(sipfrag(&request(headers, body)), code, "{headers}{body}");
        }
    }

    #[test]
    fn a_session_timer_is_kept_by_whoever_asks_for_it() {
        let named = |headers: &str| -> Vec<String> {
            session_timer(&request(headers, ""))
                .iter()
                .map(ToString::to_string)
                .collect()
        };
        let agreed = ["Session-Expires: 1800;refresher=uac", "Require: timer"];
        assert_eq!(
            named("Supported: timer\r\nSession-Expires: 1800\r\n"),
            agreed
        );
        let theirs = "Supported: 100rel, timer\r\nSession-Expires: 1800;refresher=uac\r\n";
        assert_eq!(named(theirs), agreed);
        let ours = "Supported: timer\r\nSession-Expires: 1800;refresher=uas\r\n";
        assert!(named(ours).is_empty());
        assert!(named("Session-Expires: 1800\r\n").is_empty());
        assert!(named("Supported: timer\r\nSession-Expires: soon\r\n").is_empty());
    }

    #[test]
    fn only_a_session_description_is_taken_for_one() {
        for (media_type, body, is) in [
            ("Content-Type: application/sdp\r\n", "v=0\r\n", true),
            (
                "Content-Type: Application/SDP;charset=utf-8\r\n",
                "v=0\r\n",
                true,
            ),
            ("", "v=0\r\n", true),
            ("", "<x/>", false),
            (
                "Content-Type: multipart/mixed;boundary=b\r\n",
                "v=0\r\n",
                false,
            ),
            ("Content-Type: application/sdp\r\n", "", false),
        ] {
            let request = request(media_type, body);
            assert_eq!(
                sdp(&request, &request.body).is_some(),
                is,
                "{media_type}{body}"
            );
        }
    }
}
