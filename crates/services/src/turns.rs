//! Turns as they are stored, and read back.

use offhook_domain::json::Json;
use offhook_engine::{ReplySource, Turn, TurnRole};
use offhook_metrics::metrics;
use offhook_storage::{Moment, NewTurn};

/// Passages that are kept with a turn.
const KEPT_PASSAGES: usize = 8;

/// Characters that are kept of each, and of its document's name.
const EXCERPT_CHARS: usize = 200;

/// A turn as it is stored, with the stages of the reply.
pub(crate) fn stored(turn: Turn, latency: Option<String>) -> NewTurn {
    let unproven = turn.source.as_ref().map_or(0, |source| source.unproven);
    metrics().calls.claims_replaced(unproven);
    NewTurn {
        role: turn.role.as_str(),
        text: turn.text,
        started_at: turn.started_at,
        duration_ms: i32::try_from(turn.duration_ms).unwrap_or(i32::MAX),
        interrupted: turn.interrupted,
        latency,
        source: turn.source.as_deref().map(source),
        seq: None,
    }
}

/// The model that answered, the tokens it used, the beginnings of the passages that it was shown, and how many of its
/// claims were replaced.
fn source(source: &ReplySource) -> String {
    let cut = |text: &str| {
        let text = text.trim().replace('\0', "");
        Json::String(match text.char_indices().nth(EXCERPT_CHARS - 1) {
            Some((end, last)) if end + last.len_utf8() < text.len() => format!("{}…", &text[..end]),
            _ => text,
        })
    };
    let passages = source.passages.iter().take(KEPT_PASSAGES);
    let passages = passages.map(|passage| {
        let (document, excerpt) = (cut(&passage.document), cut(&passage.text));
        Json::object([("document", document), ("excerpt", excerpt)])
    });
    let tokens = source.tokens.map(|tokens| [tokens.input, tokens.output]);
    let [input, output] = tokens.map_or([Json::Null, Json::Null], |each| {
        each.map(|count| Json::from(i64::from(count)))
    });
    let mut members = vec![
        ("provider", cut(&source.provider)),
        ("model", cut(&source.model)),
        ("tokens_in", input),
        ("tokens_out", output),
        ("passages", Json::Array(passages.collect())),
    ];
    if source.unproven > 0 {
        members.push(("replaced_claims", Json::from(i64::from(source.unproven))));
    }
    Json::object(members).to_compact()
}

/// Turns in the form that a dialogue takes as history.
pub(crate) fn recalled(history: Vec<Moment>) -> impl Iterator<Item = (TurnRole, String)> {
    history.into_iter().filter_map(|moment| {
        let role = moment.role.as_deref()?.parse();
        Some((role.unwrap_or(TurnRole::Tool), moment.content?))
    })
}
