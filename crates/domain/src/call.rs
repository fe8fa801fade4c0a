//! The life of a call: states, outcomes and reasons.

use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};

use crate::ConversationId;
use crate::agent::vocabulary;
use crate::ids::IdError;

vocabulary! {
    /// Where a conversation is in its life. What a client sees of it is narrower.
    CallState {
        /// Accepted, not yet claimed by a dialer.
        Queued => "queued",
        /// Claimed; the carrier is asked once.
        Dialing => "dialing",
        /// Answered.
        Live => "live",
        /// The media has ended, the outcome is fixed; summary and settlement follow.
        Closing => "closing",
        /// Ended well.
        Completed => "completed",
        /// Ended with an error, or never answered.
        Failed => "failed",
    }
}

impl CallState {
    /// Whether nothing can change any more.
    #[must_use]
    pub const fn is_terminal(self) -> bool {
        matches!(self, Self::Completed | Self::Failed)
    }

    /// What lists say of it: `unknown` while it lasts.
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

    /// What a read by id says of it: `initiated` while it lasts.
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
        /// Ended well.
        Completed => "completed",
        /// Ended with an error or unanswered.
        Failed => "failed",
        /// Still going on.
        Unknown => "unknown",
    }
}

vocabulary! {
    /// Who speaks in a transcript.
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
    /// Where a conversation takes place.
    Channel {
        /// A phone call.
        Phone => "phone",
        /// The microphone of a web page.
        WidgetVoice => "widget_voice",
        /// Chat by API.
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
    /// How a conversation that was answered ended.
    TerminationReason {
        /// The agent ended it.
        AgentHangup => "agent_hangup",
        /// The customer ended it.
        CustomerHangup => "customer_hangup",
        /// `max_duration_s` was reached.
        MaxDuration => "max_duration",
        /// The customer stayed silent.
        SilenceTimeout => "silence_timeout",
        /// Handed to a person.
        Transferred => "transferred",
        /// A machine answered.
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
        /// It rang out.
        NoAnswer => "no_answer",
        /// The line was engaged.
        Busy => "busy",
        /// The other side declined.
        Rejected => "rejected",
        /// No such number.
        InvalidNumber => "invalid_number",
        /// The carrier failed.
        CarrierError => "carrier_error",
        /// The agent could not go on.
        AgentError => "agent_error",
        /// Its node died.
        Interrupted => "interrupted",
        /// Ended by the client before it was dialed.
        Cancelled => "cancelled",
        /// Not dialed in time.
        Expired => "expired",
    }
}

vocabulary! {
    /// The events that webhooks carry.
    EventType {
        /// A call was triggered through `POST /v1/calls`.
        CallInitiated => "call.initiated",
        /// A call ended successfully.
        CallCompleted => "call.completed",
        /// A call ended with an error or was not answered.
        CallFailed => "call.failed",
    }
}

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallOutcome {
    /// It was answered and ended in an orderly way.
    Completed(TerminationReason),
    /// It was not answered, or an error ended it.
    Failed(FailureReason),
}

impl CallOutcome {
    /// The state that the call ends in.
    #[must_use]
    pub const fn state(self) -> CallState {
        match self {
            Self::Completed(_) => CallState::Completed,
            Self::Failed(_) => CallState::Failed,
        }
    }

    /// The event that tells of it.
    #[must_use]
    pub const fn event(self) -> EventType {
        match self {
            Self::Completed(_) => EventType::CallCompleted,
            Self::Failed(_) => EventType::CallFailed,
        }
    }
}

/// The handle of a call, `call_<conversation_id>`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct CallHandle(pub ConversationId);

impl CallHandle {
    /// The handle that test events carry.
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
