//! Maps a carrier's responses to call outcomes.

use offhook_domain::FailureReason;
use rsipstack::sip::{HasHeaders, Header};

/// Why a call was not answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Failure {
    /// The reason for the conversation's outcome.
    pub reason: FailureReason,
    /// The carrier's SIP status; `None` if it sent none, or we gave up first.
    pub code: Option<u16>,
    /// The Q.850 cause, if the carrier sent one.
    pub cause: Option<u8>,
}

impl Failure {
    /// A failure that we detected, not the carrier.
    pub(crate) const fn local(reason: FailureReason) -> Self {
        Self {
            reason,
            code: None,
            cause: None,
        }
    }

    /// The failure that a final response means.
    pub(crate) fn from_response(code: u16, response: &impl HasHeaders) -> Self {
        Self {
            reason: failure_reason(code),
            code: Some(code),
            cause: q850_cause(response),
        }
    }
}

/// Returns the failure reason for a final status other than 2xx.
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

/// The Q.850 cause of a `Reason` header (RFC 3326). Its text is ignored, because carriers write numbers in it.
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
