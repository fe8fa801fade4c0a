//! Turns as they are stored, and read back.

use offhook_engine::{Turn, TurnRole};
use offhook_storage::{Moment, NewTurn};

/// A turn as it is stored, with the stages of the reply.
pub(crate) fn stored(turn: Turn, latency: Option<String>) -> NewTurn {
    NewTurn {
        role: turn.role.as_str(),
        text: turn.text,
        started_at: turn.started_at,
        duration_ms: i32::try_from(turn.duration_ms).unwrap_or(i32::MAX),
        interrupted: turn.interrupted,
        latency,
        seq: None,
    }
}

/// Turns in the form that a dialogue takes as history.
pub(crate) fn recalled(history: Vec<Moment>) -> impl Iterator<Item = (TurnRole, String)> {
    history.into_iter().filter_map(|moment| {
        let role = moment.role.as_deref()?.parse();
        Some((role.unwrap_or(TurnRole::Tool), moment.content?))
    })
}
