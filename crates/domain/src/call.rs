//! The lifecycle of a call: states, outcomes and reasons.

use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};

use crate::agent::vocabulary;
use crate::ids::IdError;
use crate::{ConversationId, EventType};

vocabulary! {
    /// The state of a conversation. Clients see fewer states.
    CallState {
        /// Accepted, not yet claimed by a dialer.
        Queued => "queued",
        /// Claimed; the carrier gets one request.
        Dialing => "dialing",
        /// Answered.
        Live => "live",
        /// The media has ended and the outcome is final; summary and settlement follow.
        Closing => "closing",
        /// Ended normally.
        Completed => "completed",
        /// Ended with an error, or never answered.
        Failed => "failed",
    }
}

impl CallState {
    /// Returns whether the state is final.
    #[must_use]
    pub const fn is_terminal(self) -> bool {
        matches!(self, Self::Completed | Self::Failed)
    }

    /// Returns the status in lists: `unknown` while the call lasts.
    #[must_use]
    pub const fn list_status(self) -> ConversationStatus {
        match self {
            Self::Completed => ConversationStatus::Completed,
            Self::Failed => ConversationStatus::Failed,
            Self::Queued | Self::Dialing | Self::Live | Self::Closing => {
                ConversationStatus::Unknown
            }
        }
    }

    /// Returns the status in a response by id: `initiated` while the call lasts.
    #[must_use]
    pub const fn detail_status(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Queued | Self::Dialing | Self::Live | Self::Closing => "initiated",
        }
    }
}

vocabulary! {
    /// The status of a conversation in lists.
    ConversationStatus {
        /// Ended normally.
        Completed => "completed",
        /// Ended with an error, or not answered.
        Failed => "failed",
        /// Not ended yet.
        Unknown => "unknown",
    }
}

vocabulary! {
    /// The speaker of a turn in a transcript.
    TurnRole {
        /// The agent.
        Agent => "agent",
        /// The customer.
        User => "user",
        /// A tool.
        Tool => "tool",
    }
}

vocabulary! {
    /// The channel of a conversation.
    Channel {
        /// A phone call.
        Phone => "phone",
        /// The microphone of a web page.
        WidgetVoice => "widget_voice",
        /// Chat through the API.
        Chat => "chat",
        /// Chat on a web page.
        WidgetChat => "widget_chat",
        /// WhatsApp messages.
        Whatsapp => "whatsapp",
        /// Not recorded.
        Unknown => "unknown",
    }
}

vocabulary! {
    /// How an answered conversation ended.
    TerminationReason {
        /// The agent ended it.
        AgentHangup => "agent_hangup",
        /// The customer ended it.
        CustomerHangup => "customer_hangup",
        /// `max_duration_s` was reached.
        MaxDuration => "max_duration",
        /// The customer stayed silent.
        SilenceTimeout => "silence_timeout",
        /// The customer was transferred to a person.
        Transferred => "transferred",
        /// An answering machine picked up.
        Voicemail => "voicemail",
        /// `POST /v1/calls/{handle}/hangup`.
        ApiHangup => "api_hangup",
        /// An error ended it.
        Error => "error",
    }
}

vocabulary! {
    /// Why a call failed.
    FailureReason {
        /// The call was not answered in time.
        NoAnswer => "no_answer",
        /// The line was busy.
        Busy => "busy",
        /// The callee declined.
        Rejected => "rejected",
        /// The number does not exist.
        InvalidNumber => "invalid_number",
        /// The carrier failed.
        CarrierError => "carrier_error",
        /// The agent could not continue.
        AgentError => "agent_error",
        /// Its node failed.
        Interrupted => "interrupted",
        /// The client canceled it before it was dialed.
        Cancelled => "cancelled",
        /// Not dialed in time.
        Expired => "expired",
        /// A rule of whom the account calls refused it before it was dialed.
        ComplianceBlocked => "compliance_blocked",
        /// The agent's context URL refused it.
        ContextRefused => "context_refused",
    }
}

vocabulary! {
    /// What became of a request to a context URL.
    ContextResult {
        /// The call began with what it answered.
        Answered => "answered",
        /// It refused the call.
        Refused => "refused",
        /// It gave no usable answer.
        Failed => "failed",
    }
}

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallOutcome {
    /// It was answered and ended normally.
    Completed(TerminationReason),
    /// It was not answered, or an error ended it.
    Failed(FailureReason),
}

impl CallOutcome {
    /// Returns the final state of the call.
    #[must_use]
    pub const fn state(self) -> CallState {
        match self {
            Self::Completed(_) => CallState::Completed,
            Self::Failed(_) => CallState::Failed,
        }
    }

    /// Returns the event of this outcome.
    #[must_use]
    pub const fn event(self) -> EventType {
        match self {
            Self::Completed(_) => EventType::CallCompleted,
            Self::Failed(_) => EventType::CallFailed,
        }
    }
}

vocabulary! {
    /// What came of a conversation: whether a person was reached and, if not, why.
    Outcome {
        /// The customer spoke or wrote.
        AnsweredHuman => "answered_human",
        /// It was answered, and the customer never said anything.
        Silent => "silent",
        /// An answering machine picked up.
        Voicemail => "voicemail",
        /// Not answered in time.
        NoAnswer => "no_answer",
        /// The line was busy.
        Busy => "busy",
        /// The callee declined.
        Rejected => "rejected",
        /// The number does not exist.
        InvalidNumber => "invalid_number",
        /// Hung up before the answer, or refused by the agent's context URL.
        Cancelled => "cancelled",
        /// Not dialed in time.
        Expired => "expired",
        /// A rule of whom the account calls refused it.
        Blocked => "blocked",
        /// The carrier, the agent or a process failed.
        Failed => "failed",
    }
}

impl Outcome {
    /// Returns what came of a conversation that ended so.
    #[must_use]
    pub const fn of(end: CallOutcome, customer_spoke: bool) -> Self {
        match end {
            CallOutcome::Completed(TerminationReason::Voicemail) => Self::Voicemail,
            CallOutcome::Completed(_) if customer_spoke => Self::AnsweredHuman,
            CallOutcome::Completed(_) => Self::Silent,
            CallOutcome::Failed(reason) => match reason {
                FailureReason::NoAnswer => Self::NoAnswer,
                FailureReason::Busy => Self::Busy,
                FailureReason::Rejected => Self::Rejected,
                FailureReason::InvalidNumber => Self::InvalidNumber,
                FailureReason::Cancelled | FailureReason::ContextRefused => Self::Cancelled,
                FailureReason::Expired => Self::Expired,
                FailureReason::ComplianceBlocked => Self::Blocked,
                FailureReason::CarrierError
                | FailureReason::AgentError
                | FailureReason::Interrupted => Self::Failed,
            },
        }
    }

    /// Returns whether it counts as a success: a person was reached and spoke.
    #[must_use]
    pub const fn is_success(self) -> bool {
        matches!(self, Self::AnsweredHuman)
    }
}

/// The handle of a call, `call_<conversation_id>`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct CallHandle(pub ConversationId);

impl CallHandle {
    /// The handle in test events.
    pub const TEST: &'static str = "call_00000000-0000-7000-8000-000000000000";
}

impl fmt::Display for CallHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "call_{}", self.0)
    }
}

impl FromStr for CallHandle {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        text.strip_prefix("call_").ok_or(IdError)?.parse().map(Self)
    }
}

impl Serialize for CallHandle {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_person_who_spoke_is_a_success() {
        let ended = |reason| CallOutcome::Completed(reason);
        let (hangup, voicemail) = (TerminationReason::AgentHangup, TerminationReason::Voicemail);
        for (end, spoke, outcome) in [
            (ended(hangup), true, Outcome::AnsweredHuman),
            (ended(hangup), false, Outcome::Silent),
            // A greeting is words, too.
            (ended(voicemail), true, Outcome::Voicemail),
            (ended(voicemail), false, Outcome::Voicemail),
            (
                CallOutcome::Failed(FailureReason::Busy),
                false,
                Outcome::Busy,
            ),
            (
                CallOutcome::Failed(FailureReason::AgentError),
                true,
                Outcome::Failed,
            ),
        ] {
            assert_eq!(Outcome::of(end, spoke), outcome, "{end:?}");
            assert_eq!(outcome.is_success(), outcome == Outcome::AnsweredHuman);
        }
    }
}
