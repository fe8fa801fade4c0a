//! Maps the provider's end of a call to a `CallOutcome`.

use offhook_domain::{CallOutcome, FailureReason, TerminationReason};

/// The state of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Line {
    /// Requested, not answered.
    Rings,
    /// Answered.
    Talks,
    Over,
    /// An error ended it, or prevented it.
    Failed,
}

/// What the provider reports about a call's end.
pub(super) struct Ending<'a> {
    pub(super) line: Line,
    /// `phone_call.call_result`, if present.
    pub(super) result: Option<&'a str>,
    /// `termination_reason`: text for people, which may change.
    pub(super) reason: &'a str,
    /// `error.code`; for a SIP trunk the SIP status.
    pub(super) error: Option<i64>,
    /// Whether it had a duration or a turn.
    pub(super) was_spoken: bool,
}

impl Ending<'_> {
    /// Whether a human or a machine answered.
    pub(super) fn is_answered(&self) -> bool {
        match (self.result, self.line) {
            (_, Line::Rings) | (Some("busy" | "no_answer" | "no-answer" | "failed"), _) => false,
            (Some("answered" | "voicemail"), _) | (_, Line::Talks) => true,
            (_, Line::Over | Line::Failed) => self.was_spoken,
        }
    }
}

/// The outcome of a call; `None` while it goes on.
pub(super) fn outcome(ending: &Ending<'_>) -> Option<CallOutcome> {
    match ending.line {
        Line::Rings | Line::Talks => return None,
        Line::Over | Line::Failed => {}
    }
    let reason = ending.reason.to_lowercase();
    if !ending.is_answered() {
        return Some(CallOutcome::Failed(unanswered(ending, &reason)));
    }
    Some(match ending.line {
        Line::Failed => CallOutcome::Failed(FailureReason::AgentError),
        _ if ending.result == Some("voicemail") => {
            CallOutcome::Completed(TerminationReason::Voicemail)
        }
        _ => CallOutcome::Completed(termination(&reason)),
    })
}

fn unanswered(ending: &Ending<'_>, reason: &str) -> FailureReason {
    match ending.result {
        Some("busy") => return FailureReason::Busy,
        Some("no_answer" | "no-answer") => return FailureReason::NoAnswer,
        _ => {}
    }
    match ending.error {
        Some(486 | 600) => FailureReason::Busy,
        Some(408 | 480 | 487) => FailureReason::NoAnswer,
        Some(401 | 403 | 407 | 603 | 607 | 608) => FailureReason::Rejected,
        Some(404 | 410 | 484 | 604) => FailureReason::InvalidNumber,
        _ if reason.contains("busy") => FailureReason::Busy,
        _ if ["no answer", "no-answer", "no_answer", "not answered"]
            .iter()
            .any(|words| reason.contains(words)) =>
        {
            FailureReason::NoAnswer
        }
        // A regular end without any speech.
        _ if ending.line == Line::Over && ending.result.is_none() => FailureReason::NoAnswer,
        _ => FailureReason::CarrierError,
    }
}

/// Who ended the call, from text for people. Unknown text means that the customer hung up, because the provider has
/// text for every end of its own.
fn termination(reason: &str) -> TerminationReason {
    let says = |words: &[&str]| words.iter().any(|word| reason.contains(word));
    if says(&["voicemail"]) {
        TerminationReason::Voicemail
    } else if says(&["transfer"]) {
        TerminationReason::Transferred
    } else if says(&[
        "max_duration",
        "max duration",
        "maximum duration",
        "exceeded",
    ]) {
        TerminationReason::MaxDuration
    } else if says(&["silence", "inactiv", "no user input", "idle"]) {
        TerminationReason::SilenceTimeout
    } else if says(&["end_call", "end call", "agent", "tool"]) {
        TerminationReason::AgentHangup
    } else {
        TerminationReason::CustomerHangup
    }
}

#[cfg(test)]
mod tests {
    use offhook_domain::CallOutcome::{Completed, Failed};

    use super::*;

    fn end(
        line: Line,
        result: Option<&str>,
        reason: &str,
        error: Option<i64>,
        was_spoken: bool,
    ) -> Option<CallOutcome> {
        let ending = Ending {
            line,
            result,
            reason,
            error,
            was_spoken,
        };
        outcome(&ending)
    }

    #[test]
    fn every_result_has_its_reason() {
        use FailureReason as F;
        for (line, result, error, expected) in [
            (Line::Failed, Some("busy"), None, F::Busy),
            (Line::Over, Some("no_answer"), None, F::NoAnswer),
            (Line::Failed, Some("failed"), None, F::CarrierError),
            (Line::Failed, Some("failed"), Some(486), F::Busy),
            (Line::Failed, None, Some(480), F::NoAnswer),
            (Line::Failed, None, Some(603), F::Rejected),
            (Line::Failed, None, Some(404), F::InvalidNumber),
            (Line::Failed, None, Some(503), F::CarrierError),
            (Line::Failed, None, None, F::CarrierError),
            (Line::Over, None, None, F::NoAnswer),
        ] {
            let got = end(line, result, "", error, false);
            assert_eq!(got, Some(Failed(expected)), "{line:?} {result:?} {error:?}");
        }
        assert_eq!(
            end(Line::Failed, None, "Line busy", None, false),
            Some(Failed(F::Busy))
        );
        assert_eq!(
            end(Line::Failed, None, "", Some(1011), true),
            Some(Failed(F::AgentError))
        );
        assert_eq!(
            end(Line::Failed, Some("answered"), "", None, false),
            Some(Failed(F::AgentError))
        );
    }

    #[test]
    fn every_end_after_an_answer_has_its_reason() {
        use TerminationReason as T;
        for (reason, expected) in [
            ("end_call tool was called.", T::AgentHangup),
            ("Agent ended the conversation", T::AgentHangup),
            ("Call ended by remote party", T::CustomerHangup),
            ("Client disconnected: 1000", T::CustomerHangup),
            ("", T::CustomerHangup),
            (
                "Conversation exceeded maximum duration: 600 seconds",
                T::MaxDuration,
            ),
            ("Silence end call timeout reached", T::SilenceTimeout),
            ("transfer_to_number tool was called", T::Transferred),
            ("voicemail_detection tool was called", T::Voicemail),
        ] {
            assert_eq!(
                end(Line::Over, None, reason, None, true),
                Some(Completed(expected)),
                "{reason}"
            );
        }
        assert_eq!(
            end(Line::Over, Some("voicemail"), "", None, false),
            Some(Completed(T::Voicemail))
        );
    }

    #[test]
    fn a_call_that_goes_on_has_no_end_and_one_that_rings_is_not_answered() {
        assert_eq!(end(Line::Rings, None, "", None, false), None);
        assert_eq!(end(Line::Talks, Some("answered"), "", None, true), None);
        let rings = Ending {
            line: Line::Rings,
            result: None,
            reason: "",
            error: None,
            was_spoken: true,
        };
        assert!(!rings.is_answered());
    }
}
