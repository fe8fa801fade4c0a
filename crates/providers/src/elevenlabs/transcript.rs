//! Converts the provider's transcript to turns.

use std::time::Duration;

use offhook_domain::Timestamp;
use offhook_engine::{Turn, TurnRole};
use serde::Deserialize;

use crate::lenient::{Lenient, List, Text};

/// The longest call.
pub(super) const LONGEST: Duration = Duration::from_secs(24 * 3_600);

#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct Entry {
    role: Text,
    message: Text,
    tool_calls: List<ToolCall>,
    time_in_call_secs: Lenient<Option<f64>>,
    interrupted: Lenient<bool>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct ToolCall {
    tool_name: Text,
}

/// Converts a transcript. The provider reports the second in which each turn began, but no duration: a turn lasts until
/// the next one begins, or the call ends; a tool call has no duration. If the call goes on (`lasted` is `None`), the
/// last turn is left out, because it may still be spoken.
pub(super) fn turns(
    transcript: Vec<Entry>,
    answered_at: Timestamp,
    lasted: Option<Duration>,
) -> Vec<Turn> {
    // A finished call without a duration sets no limit.
    let most = lasted.filter(|lasted| !lasted.is_zero()).unwrap_or(LONGEST);
    let mut second = Duration::ZERO;
    let mut turns_so_far: Vec<(Duration, Turn)> = Vec::with_capacity(transcript.len());
    for entry in transcript {
        let at = seconds(entry.time_in_call_secs.0.unwrap_or(0.0));
        let interrupted = entry.interrupted.0;
        let Some((role, text)) = words(entry) else {
            continue;
        };
        second = at.clamp(second, most);
        let turn = Turn {
            role,
            text,
            started_at: answered_at.plus(second),
            duration_ms: 0,
            interrupted,
            source: None,
        };
        turns_so_far.push((second, turn));
    }
    let is_spoken = |turn: &Turn| turn.role != TurnRole::Tool;
    let mut next = lasted.unwrap_or_default().max(second);
    if lasted.is_none()
        && let Some(last) = turns_so_far.iter().rposition(|(_, turn)| is_spoken(turn))
    {
        next = turns_so_far[last].0;
        turns_so_far.truncate(last);
    }
    for (began, turn) in turns_so_far
        .iter_mut()
        .rev()
        .filter(|(_, turn)| is_spoken(turn))
    {
        let length = next.saturating_sub(*began).as_millis();
        turn.duration_ms = u32::try_from(length).unwrap_or(u32::MAX);
        next = *began;
    }
    turns_so_far.into_iter().map(|(_, turn)| turn).collect()
}

/// The role and text of a turn; `None` if it is empty.
fn words(entry: Entry) -> Option<(TurnRole, String)> {
    let role = match entry.role.0.as_deref() {
        Some("agent") => TurnRole::Agent,
        Some("user") => TurnRole::User,
        _ => TurnRole::Tool,
    };
    match entry.message.0 {
        Some(text) => Some((role, text)),
        None => Some((TurnRole::Tool, tools(&entry.tool_calls.0)?)),
    }
}

/// The names of the tools in a turn without text.
fn tools(calls: &[ToolCall]) -> Option<String> {
    let names = calls.iter().filter_map(|call| call.tool_name.0.as_deref());
    let names: Vec<&str> = names.collect();
    (!names.is_empty()).then(|| names.join(", "))
}

/// Parses seconds as the provider writes them; invalid values become zero.
pub(super) fn seconds(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds.max(0.0)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn at(seconds: u64) -> Timestamp {
        Timestamp::from_micros(0).plus(Duration::from_secs(seconds))
    }

    /// The second and the milliseconds of each turn; `lasted` is `None` for a call that goes on.
    fn times(transcript: Value, lasted: Option<u64>) -> Vec<(u64, u32)> {
        let transcript = serde_json::from_value(transcript).unwrap();
        let turns_so_far = turns(transcript, at(100), lasted.map(Duration::from_secs));
        turns_so_far
            .iter()
            .map(|turn| (turn.started_at.since(at(100)).as_secs(), turn.duration_ms))
            .collect()
    }

    #[test]
    fn a_turn_lasts_until_somebody_speaks_next_or_the_call_is_over() {
        let entry = json!([
            {"role": "agent", "message": "Hello.", "time_in_call_secs": 0},
            {"role": "user", "message": "Hi.", "time_in_call_secs": 3.5},
            {"role": "agent", "message": "I look.", "time_in_call_secs": 5},
            {"role": "agent", "message": null, "time_in_call_secs": 6, "tool_calls": [{"tool_name": "look"}]},
            {"role": "agent", "message": "Bye.", "time_in_call_secs": 9},
            {"role": "agent", "message": null, "time_in_call_secs": 9, "tool_calls": [{"tool_name": "end_call"}]},
        ]);
        let begun = [(0, 3_500), (3, 1_500), (5, 4_000), (6, 0)];
        assert_eq!(times(entry.clone(), None), begun);
        let whole = [
            (0, 3_500),
            (3, 1_500),
            (5, 4_000),
            (6, 0),
            (9, 3_000),
            (9, 0),
        ];
        assert_eq!(times(entry, Some(12)), whole);
    }

    #[test]
    fn no_turn_begins_before_the_one_before_it_or_ends_behind_the_call() {
        let entry = json!([
            {"role": "agent", "message": "Hello.", "time_in_call_secs": 4},
            {"role": "user", "message": "Hi.", "time_in_call_secs": 2},
            {"role": "agent", "message": "So.", "time_in_call_secs": null},
            {"role": "user", "message": "What?", "time_in_call_secs": 99},
        ]);
        assert_eq!(
            times(entry.clone(), Some(10)),
            [(4, 0), (4, 0), (4, 6_000), (10, 0)]
        );
        // Finished without a duration: the turns keep their times.
        let entry = json!([
            {"role": "agent", "message": "Hello.", "time_in_call_secs": 1},
            {"role": "user", "message": "Hi.", "time_in_call_secs": 4},
        ]);
        assert_eq!(times(entry, Some(0)), [(1, 3_000), (4, 0)]);
    }
}
