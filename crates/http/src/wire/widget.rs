//! Widgets and their sessions.

use offhook_domain::{ConversationId, Timestamp};
use offhook_services::store::{Moment, WidgetSettings};
use offhook_services::{ChatReply, ChatTranscript, OpenedChat, WidgetDoor};
use serde::Serialize;

/// What an account has set for a widget.
#[derive(Serialize)]
pub(crate) struct WidgetBody<'a> {
    enabled: bool,
    allowed_origins: &'a [String],
    max_sessions_per_minute: i32,
    daily_credit_cap: Option<i64>,
}

impl<'a> From<&'a WidgetSettings> for WidgetBody<'a> {
    fn from(settings: &'a WidgetSettings) -> Self {
        Self {
            enabled: settings.enabled,
            allowed_origins: &settings.origins,
            max_sessions_per_minute: settings.max_sessions_per_minute,
            daily_credit_cap: settings.daily_credit_cap,
        }
    }
}

/// What a page may do with an agent.
#[derive(Serialize)]
pub(crate) struct DoorBody<'a> {
    name: &'a str,
    chat: bool,
    voice: bool,
}

impl<'a> From<&'a WidgetDoor> for DoorBody<'a> {
    fn from(door: &'a WidgetDoor) -> Self {
        Self {
            name: &door.name,
            chat: true,
            voice: door.voice,
        }
    }
}

/// A session that has begun, with its token, which is shown once.
#[derive(Serialize)]
pub(crate) struct SessionBegun<'a> {
    id: ConversationId,
    token: &'a str,
    token_expires_at: Timestamp,
    first_message: Option<&'a str>,
}

impl<'a> From<&'a OpenedChat> for SessionBegun<'a> {
    fn from(opened: &'a OpenedChat) -> Self {
        Self {
            id: opened.id,
            token: &opened.token,
            token_expires_at: opened.token_expires_at,
            first_message: opened.first_message.as_deref(),
        }
    }
}

/// Whether a session takes messages.
pub(crate) const fn status(is_open: bool) -> &'static str {
    if is_open { "open" } else { "ended" }
}

/// A session as its page sees it when it is loaded again.
#[derive(Serialize)]
pub(crate) struct SessionBody<'a> {
    id: ConversationId,
    status: &'static str,
    answering: bool,
    token_expires_at: Timestamp,
    transcript: Vec<SaidBody<'a>>,
}

#[derive(Serialize)]
struct SaidBody<'a> {
    role: &'a str,
    text: &'a str,
    started_at: Timestamp,
    interrupted: bool,
}

impl<'a> From<&'a ChatTranscript> for SessionBody<'a> {
    fn from(session: &'a ChatTranscript) -> Self {
        Self {
            id: session.id,
            status: status(session.is_open),
            answering: session.is_answering,
            token_expires_at: session.token_expires_at,
            transcript: session.turns.iter().map(SaidBody::from).collect(),
        }
    }
}

impl<'a> From<&'a Moment> for SaidBody<'a> {
    fn from(turn: &'a Moment) -> Self {
        Self {
            role: turn.role.as_deref().unwrap_or_default(),
            text: turn.content.as_deref().unwrap_or_default(),
            started_at: turn.at,
            interrupted: turn.interrupted.unwrap_or(false),
        }
    }
}

/// What ending a session answers.
#[derive(Serialize)]
pub(crate) struct SessionEnded {
    pub(crate) id: ConversationId,
    pub(crate) status: &'static str,
}

/// A whole answer of the agent.
#[derive(Serialize)]
pub(crate) struct AnswerBody<'a> {
    text: &'a str,
    interrupted: bool,
    status: &'static str,
    usage: UsageBody,
}

/// What the session's answers come to so far.
#[derive(Serialize)]
struct UsageBody {
    answers: i64,
    credits: i64,
}

impl<'a> From<&'a ChatReply> for AnswerBody<'a> {
    fn from(reply: &'a ChatReply) -> Self {
        Self {
            text: &reply.text,
            interrupted: reply.interrupted,
            status: status(!reply.is_last),
            usage: UsageBody {
                answers: reply.answers,
                credits: reply.credits,
            },
        }
    }
}
