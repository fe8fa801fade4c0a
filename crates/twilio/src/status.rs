//! Maps Twilio's call statuses to this service's types.

use offhook_domain::FailureReason;

/// Twilio's status of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallStatus {
    /// Queued: an account places one call a second, unless it has a higher limit.
    Queued,
    /// Being placed.
    Initiated,
    Ringing,
    /// A human or a machine answered.
    InProgress,
    /// It was answered, and is over.
    Completed,
    Busy,
    /// It could not be placed.
    Failed,
    NoAnswer,
    /// Canceled before it was answered.
    Canceled,
}

impl CallStatus {
    /// Parses `CallStatus`; `None` if it is unknown.
    pub fn read(text: &str) -> Option<Self> {
        Some(match text {
            "queued" => Self::Queued,
            "initiated" => Self::Initiated,
            "ringing" => Self::Ringing,
            "in-progress" | "answered" => Self::InProgress,
            "completed" => Self::Completed,
            "busy" => Self::Busy,
            "failed" => Self::Failed,
            "no-answer" => Self::NoAnswer,
            "canceled" => Self::Canceled,
            _ => return None,
        })
    }

    /// The order of statuses; a call never goes back.
    pub(crate) const fn rank(self) -> u8 {
        match self {
            Self::Queued | Self::Initiated => 0,
            Self::Ringing => 1,
            Self::InProgress => 2,
            Self::Completed | Self::Busy | Self::Failed | Self::NoAnswer | Self::Canceled => 3,
        }
    }

    pub const fn is_final(self) -> bool {
        self.rank() == 3
    }
}

/// The failure reason of an unanswered call, by its last status and the SIP status of the carrier behind Twilio, if
/// there is one.
pub const fn failure_of_status(status: CallStatus, sip_code: Option<u16>) -> FailureReason {
    match status {
        CallStatus::Busy => FailureReason::Busy,
        CallStatus::NoAnswer | CallStatus::Canceled => FailureReason::NoAnswer,
        CallStatus::Failed => match sip_code {
            Some(486 | 600) => FailureReason::Busy,
            Some(408 | 480 | 487) => FailureReason::NoAnswer,
            Some(404 | 410 | 484 | 604) => FailureReason::InvalidNumber,
            Some(401 | 403 | 407 | 603 | 607 | 608) => FailureReason::Rejected,
            _ => FailureReason::CarrierError,
        },
        // It was reported as answered, but no audio came.
        _ => FailureReason::CarrierError,
    }
}

/// The failure reason of a call that Twilio refused to place, by the HTTP status and Twilio's error code.
pub const fn failure_of_code(status: u16, code: Option<u32>) -> FailureReason {
    match code {
        // The number is invalid, or cannot be called.
        Some(13_223 | 13_224 | 21_201 | 21_211 | 21_214 | 21_217 | 21_401) => {
            FailureReason::InvalidNumber
        }
        // The caller ID does not belong to the account, or the country or the account is not permitted.
        Some(
            10_001..=10_005
            | 13_225
            | 13_227
            | 20_003
            | 21_210
            | 21_212
            | 21_213
            | 21_215
            | 21_216
            | 21_219,
        ) => FailureReason::Rejected,
        _ => match status {
            401 | 403 => FailureReason::Rejected,
            _ => FailureReason::CarrierError,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use FailureReason::{Busy, CarrierError, InvalidNumber, NoAnswer, Rejected};

    #[test]
    fn each_end_has_its_reason() {
        for (status, code, reason) in [
            ("busy", Some(486), Busy),
            ("no-answer", Some(487), NoAnswer),
            ("canceled", None, NoAnswer),
            ("failed", Some(404), InvalidNumber),
            ("failed", Some(484), InvalidNumber),
            ("failed", Some(603), Rejected),
            ("failed", Some(600), Busy),
            ("failed", Some(480), NoAnswer),
            ("failed", Some(503), CarrierError),
            ("failed", None, CarrierError),
            ("completed", Some(200), CarrierError),
        ] {
            let status = CallStatus::read(status).unwrap();
            assert!(status.is_final());
            assert_eq!(
                failure_of_status(status, code),
                reason,
                "{status:?} {code:?}"
            );
        }
    }

    #[test]
    fn each_refusal_has_its_reason() {
        for (status, code, reason) in [
            (400, Some(21_211), InvalidNumber),
            (400, Some(21_217), InvalidNumber),
            (400, Some(21_210), Rejected),
            (400, Some(21_215), Rejected),
            (401, Some(20_003), Rejected),
            (401, None, Rejected),
            (403, None, Rejected),
            (404, Some(20_404), CarrierError),
            (429, Some(20_429), CarrierError),
            (422, None, CarrierError),
        ] {
            assert_eq!(failure_of_code(status, code), reason, "{status} {code:?}");
        }
    }

    #[test]
    fn a_status_that_is_not_known_is_none() {
        for text in ["", "Ringing", "hung-up"] {
            assert_eq!(CallStatus::read(text), None, "{text}");
        }
    }
}
