//! An answer as a client reads it.

use offhook_domain::Price;
use offhook_engine::CHAT_BREAK;
use offhook_storage::Moment;

/// A whole answer. A retry of the same message gets the same one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChatReply {
    /// The agent's text: the texts of a stream, joined.
    pub text: String,
    /// Whether it was cut short.
    pub interrupted: bool,
    /// Whether the session ended with it.
    pub is_last: bool,
    /// Charged answers of the session.
    pub answers: i64,
    /// The credits that these cost.
    pub credits: i64,
}

impl ChatReply {
    /// Builds the answer from these moments.
    pub(super) fn of(moments: &[Moment], (answers, price): (i32, Price), is_last: bool) -> Self {
        let turns = moments
            .iter()
            .filter(|moment| moment.role.as_deref() == Some("agent"));
        let texts: Vec<&str> = turns
            .clone()
            .filter_map(|turn| turn.content.as_deref())
            .collect();
        let answers = i64::from(answers);
        Self {
            text: texts.join(CHAT_BREAK),
            interrupted: turns.clone().any(|turn| turn.interrupted == Some(true)),
            is_last,
            answers,
            credits: price.of_answers(answers),
        }
    }
}
