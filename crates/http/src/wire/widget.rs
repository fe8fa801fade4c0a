//! Widgets and their sessions.

use offhook_domain::ConversationId;
use offhook_services::store::{Moment, WidgetSettings};
use offhook_services::{ChatReply, ChatTranscript, OpenedChat, WidgetDoor};
use serde::Serialize;

use super::shown;

shown! {
    /// What an account has set for a widget.
    WidgetBody(settings: WidgetSettings) {
        enabled,
        allowed_origins = &settings.origins,
        max_sessions_per_minute,
        daily_credit_cap,
    }
}

shown! {
    /// What a page may do with an agent.
    DoorBody(door: WidgetDoor) {
        name,
        chat = true,
        voice,
    }
}

shown! {
    /// A session that has begun, with its token, which is shown once.
    SessionBegun(opened: OpenedChat) {
        id,
        token,
        token_expires_at,
        first_message,
    }
}

/// Whether a session takes messages.
pub(crate) const fn status(is_open: bool) -> &'static str {
    if is_open { "open" } else { "ended" }
}

shown! {
    /// A session as its page sees it when it is loaded again.
    SessionBody(session: ChatTranscript) {
        id,
        status = status(session.is_open),
        answering = session.is_answering,
        token_expires_at,
        transcript = session.turns.iter().map(SaidBody).collect::<Vec<_>>(),
    }
}

shown! {
    SaidBody(turn: Moment) {
        role = turn.role.as_deref().unwrap_or_default(),
        text = turn.content.as_deref().unwrap_or_default(),
        started_at = turn.at,
        interrupted = turn.interrupted.unwrap_or(false),
    }
}

/// What ending a session answers.
#[derive(Serialize)]
pub(crate) struct SessionEnded {
    pub(crate) id: ConversationId,
    pub(crate) status: &'static str,
}

shown! {
    /// A whole answer of the agent.
    AnswerBody(reply: ChatReply) {
        text,
        interrupted,
        status = status(!reply.is_last),
        usage = UsageBody(reply),
    }
}

shown! {
    /// What the session's answers come to so far.
    UsageBody(reply: ChatReply) {
        answers,
        credits,
    }
}
