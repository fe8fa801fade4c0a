//! The messages between the simulator process and its clients: JSON, one object per request or line.

use offhook_domain::{CallHandle, E164, FailureReason, NodeId};
use offhook_engine::ports::{DialRequest, LegEvent, Spoken};
use serde::{Deserialize, Serialize};

/// The header with the network's speed.
pub(crate) const SPEED_HEADER: &str = "x-simulator-speed";

/// The body of `POST /dial`.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct DialBody {
    handle: String,
    from: String,
    to: String,
    node: String,
}

impl From<&DialRequest> for DialBody {
    fn from(request: &DialRequest) -> Self {
        Self {
            handle: request.handle.to_string(),
            from: request.from.to_string(),
            to: request.to.to_string(),
            node: request.node.to_string(),
        }
    }
}

impl DialBody {
    /// `None` if a field is invalid.
    pub(crate) fn request(&self) -> Option<DialRequest> {
        Some(DialRequest {
            handle: self.handle.parse::<CallHandle>().ok()?,
            from: self.from.parse::<E164>().ok()?,
            to: self.to.parse::<E164>().ok()?,
            node: self.node.parse::<NodeId>().ok()?,
            screens: false,
            longest: None,
        })
    }
}

/// The body of `POST /calls/{handle}/say`.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct SayBody {
    pub(crate) id: u64,
    pub(crate) text: String,
}

/// The body of `POST /calls/{handle}/stop`.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct StopBody {
    pub(crate) id: u64,
}

/// The body of `POST /calls/{handle}/transfer`.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct TransferBody {
    pub(crate) to: String,
}

/// The body of `POST /calls/{handle}/digits`.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct DigitsBody {
    pub(crate) digits: String,
}

/// A line of a call's events.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub(crate) enum EventLine {
    Ringing,
    Answered {
        machine: bool,
    },
    CustomerStarted,
    Heard {
        text: String,
        duration_ms: u32,
    },
    Hangup,
    Failed {
        reason: String,
    },
    Spoken {
        id: u64,
        heard_text: String,
        complete: bool,
        duration_ms: u32,
    },
}

impl EventLine {
    /// `None` for events that the simulated network does not have.
    pub(crate) fn of_leg(event: LegEvent) -> Option<Self> {
        Some(match event {
            LegEvent::Ringing => Self::Ringing,
            LegEvent::Answered { machine } => Self::Answered { machine },
            LegEvent::CustomerStarted => Self::CustomerStarted,
            LegEvent::Heard { text, duration_ms } => Self::Heard { text, duration_ms },
            LegEvent::Hangup => Self::Hangup,
            LegEvent::Failed(reason) => Self::Failed {
                reason: reason.to_string(),
            },
            _ => return None,
        })
    }

    pub(crate) fn of_speech(id: u64, spoken: Spoken) -> Self {
        Self::Spoken {
            id,
            heard_text: spoken.heard_text,
            complete: spoken.complete,
            duration_ms: spoken.duration_ms,
        }
    }

    /// The JSON text with a line end.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = serde_json::to_vec(self).unwrap_or_default();
        bytes.push(b'\n');
        bytes
    }
}

/// What a line means for the client.
pub(crate) enum ClientEvent {
    Leg(LegEvent),
    Spoken(u64, Spoken),
}

impl From<EventLine> for ClientEvent {
    fn from(line: EventLine) -> Self {
        Self::Leg(match line {
            EventLine::Ringing => LegEvent::Ringing,
            EventLine::Answered { machine } => LegEvent::Answered { machine },
            EventLine::CustomerStarted => LegEvent::CustomerStarted,
            EventLine::Heard { text, duration_ms } => LegEvent::Heard { text, duration_ms },
            EventLine::Hangup => LegEvent::Hangup,
            EventLine::Failed { reason } => {
                LegEvent::Failed(reason.parse().unwrap_or(FailureReason::CarrierError))
            }
            EventLine::Spoken {
                id,
                heard_text,
                complete,
                duration_ms,
            } => {
                return Self::Spoken(
                    id,
                    Spoken {
                        heard_text,
                        complete,
                        duration_ms,
                        sound: None,
                    },
                );
            }
        })
    }
}
