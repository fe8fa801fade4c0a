//! What a carrier's answers mean to a call.

use offhook_domain::FailureReason;
use rsipstack::sip::{HasHeaders, Header};

/// Why a call was not answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Failure {
    /// What the conversation tells as its reason.
    pub reason: FailureReason,
    /// The carrier's answer; `None` if it gave none, or ours came first.
    pub code: Option<u16>,
    /// The cause in the phone network (Q.850), if the carrier named one.
    pub cause: Option<u8>,
}

impl Failure {
    /// A failure that is told by us, not by the carrier.
    pub(crate) const fn ours(reason: FailureReason) -> Self {
        Self {
            reason,
            code: None,
            cause: None,
        }
    }

    /// What this final answer says.
    pub(crate) fn told(code: u16, response: &impl HasHeaders) -> Self {
        Self {
            reason: failure_reason(code),
            code: Some(code),
            cause: q850_cause(response),
        }
    }
}

/// What a final answer other than a 2xx says of the call.
#[must_use]
pub const fn failure_reason(code: u16) -> FailureReason {
    match code {
        486 | 600 => FailureReason::Busy,
        408 | 480 | 487 => FailureReason::NoAnswer,
        404 | 410 | 484 | 604 => FailureReason::InvalidNumber,
        401 | 403 | 407 | 603 | 607 | 608 => FailureReason::Rejected,
        _ => FailureReason::CarrierError,
    }
}

/// The cause of a `Reason` header (RFC 3326) that speaks of Q.850. Its text is not read: carriers write numbers there.
pub(crate) fn q850_cause(message: &impl HasHeaders) -> Option<u8> {
    message
        .headers()
        .iter()
        .filter_map(|header| match header {
            Header::Reason(reason) => Some(reason.value()),
            _ => None,
        })
        .flat_map(|value| value.split(','))
        .find_map(|reason| {
            let mut parts = reason.split(';').map(str::trim);
            if !parts.next()?.eq_ignore_ascii_case("Q.850") {
                return None;
            }
            parts
                .filter_map(|part| part.split_once('='))
                .find(|(name, _)| name.trim().eq_ignore_ascii_case("cause"))
                .and_then(|(_, cause)| cause.trim().parse().ok())
        })
}

#[cfg(test)]
mod tests {
    use rsipstack::sip::{Headers, Response};

    use super::*;

    #[test]
    fn each_answer_has_its_reason() {
        use FailureReason::{Busy, CarrierError, InvalidNumber, NoAnswer, Rejected};
        for (codes, reason) in [
            (&[486, 600][..], Busy),
            (&[408, 480, 487], NoAnswer),
            (&[603, 607, 608, 401, 403, 407], Rejected),
            (&[404, 410, 484, 604], InvalidNumber),
            (&[402, 488, 500, 502, 503, 504, 302, 400, 606], CarrierError),
        ] {
            for code in codes {
                assert_eq!(failure_reason(*code), reason, "{code}");
            }
        }
    }

    #[test]
    fn the_cause_is_that_of_the_phone_network() {
        for (value, cause) in [
            ("Q.850;cause=17;text=\"User busy +15551234567\"", Some(17)),
            ("SIP;cause=200", None),
            ("SIP;cause=200, Q.850 ; cause=16", Some(16)),
            ("q.850;text=\"x\"", None),
            ("Q.850;cause=999", None),
            ("", None),
        ] {
            let response = Response {
                headers: Headers(vec![Header::Reason(value.into())]),
                ..Response::default()
            };
            assert_eq!(q850_cause(&response), cause, "{value}");
        }
    }
}
