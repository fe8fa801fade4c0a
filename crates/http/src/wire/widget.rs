//! Widgets and their sessions.

use offhook_services::store::{Moment, WidgetSettings};
use offhook_services::{ChatReply, ChatTranscript, OpenedChat, WidgetDoor};

use super::shown;
use crate::prelude::*;

shown! {
    /// The account's settings of a widget.
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
    /// A new session, with its token, which is shown once.
    SessionBegun(opened: OpenedChat) {
        id,
        token,
        token_expires_at,
        first_message,
    }
}

/// Whether a session accepts messages.
pub(crate) const fn status(is_open: bool) -> &'static str {
    if is_open { "open" } else { "ended" }
}

shown! {
    /// A session, for a page that was reloaded.
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

/// The response to ending a session.
#[derive(Serialize)]
pub(crate) struct SessionEnded {
    pub(crate) id: ConversationId,
    pub(crate) status: &'static str,
}

shown! {
    /// A complete reply of the agent.
    AnswerBody(reply: ChatReply) {
        text,
        interrupted,
        status = status(!reply.is_last),
        usage = UsageBody(reply),
    }
}

shown! {
    /// The totals of the session's replies so far.
    UsageBody(reply: ChatReply) {
        answers,
        credits,
    }
}
