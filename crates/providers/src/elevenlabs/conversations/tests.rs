use std::time::Duration;

use offhook_domain::{CallOutcome, TerminationReason};
use offhook_engine::TurnRole;
use serde_json::{Value, json};

use super::*;

const HANDLE: &str = "call_01928f7e-5a3b-7c4d-8e9f-0a1b2c3d4e5f";

fn read(value: Value) -> Conversation {
    serde_json::from_value(value).unwrap()
}

fn at(seconds: u64) -> Timestamp {
    Timestamp::from_micros(0).plus(Duration::from_secs(seconds))
}

#[test]
fn a_call_that_is_over_tells_all_of_it() {
    let progress = progress_of(read(json!({
        "conversation_id": "conv_1", "agent_id": "agent_1", "status": "done", "has_audio": true,
        "transcript": [
            {"role": "agent", "message": " Hello. ", "time_in_call_secs": 0, "interrupted": true},
            {"role": "agent", "message": null, "time_in_call_secs": 4, "tool_calls": [{"tool_name": "end_call"}]},
            {"role": "agent", "message": null, "time_in_call_secs": 4, "tool_results": [{"tool_name": "end_call"}]},
        ],
        "metadata": {
            "start_time_unix_secs": 1_777_000_000, "accepted_time_unix_secs": 1_777_000_005,
            "call_duration_secs": 42, "cost": 390, "termination_reason": "end_call tool was called.",
            "phone_call": {"type": "twilio", "call_result": "answered", "call_sid": "CA1"},
        },
        "analysis": {"call_successful": "success", "transcript_summary": " They spoke. "},
    })));
    assert_eq!(progress.answered_at, Some(at(1_777_000_005)));
    let turns: Vec<_> = progress
        .turns
        .iter()
        .map(|turn| (turn.role, turn.text.as_str(), turn.interrupted))
        .collect();
    assert_eq!(
        turns,
        [
            (TurnRole::Agent, "Hello.", true),
            (TurnRole::Tool, "end_call", false)
        ]
    );
    let end = progress.end.unwrap();
    assert_eq!(
        end.outcome,
        CallOutcome::Completed(TerminationReason::AgentHangup)
    );
    assert_eq!(
        (end.ended_at, end.summary.as_str()),
        (at(1_777_000_047), "They spoke.")
    );
    assert!(end.recorded && end.is_final);
}

#[test]
fn a_beginning_that_is_not_told_in_seconds_is_ahead_of_everything() {
    let milliseconds = 1_777_000_000_000_i64;
    for start in [
        json!(null),
        json!(0),
        json!(-1),
        json!(milliseconds),
        json!(milliseconds * 1_000),
    ] {
        let with = |status: &str| {
            progress_of(read(json!({
                "conversation_id": "conv_1", "status": status,
                "transcript": [
                    {"role": "agent", "message": "Hello.", "time_in_call_secs": 1},
                    {"role": "user", "message": "Hi.", "time_in_call_secs": 2},
                ],
                "metadata": {"start_time_unix_secs": start.clone(), "call_duration_secs": 5},
            })))
        };
        let second = Duration::from_secs(1);
        for status in ["in-progress", "done"] {
            let progress = with(status);
            assert_eq!(progress.answered_at, Some(UNKNOWN_TIME), "{status} {start}");
            assert_eq!(progress.turns[0].started_at, UNKNOWN_TIME.plus(second));
        }
        let ended_at = with("done").end.unwrap().ended_at;
        assert_eq!(ended_at, UNKNOWN_TIME.plus(5 * second), "{start}");
        assert!(
            UNKNOWN_TIME
                .plus(LONGEST)
                .to_string()
                .starts_with("9999-12-31T")
        );
    }
}

#[test]
fn a_status_that_is_not_known_is_no_end() {
    for status in [json!("ended"), json!(null), json!(7)] {
        let progress = progress_of(read(json!({
            "conversation_id": "conv_1", "status": status,
            "transcript": [{"role": "agent", "message": "Hello."}],
            "metadata": {"call_duration_secs": 9, "termination_reason": "Client disconnected"},
        })));
        assert!(progress.reported && progress.end.is_none(), "{status}");
        assert_eq!(
            progress.answered_at,
            Some(UNKNOWN_TIME),
            "{status}: somebody spoke"
        );
    }
}

#[test]
fn an_absurd_value_costs_its_field_and_never_the_end_of_a_call() {
    let good = json!({
        "conversation_id": "conv_1", "status": "done", "has_audio": true, "user_id": HANDLE,
        "transcript": [
            {"role": "agent", "message": "Hello.", "time_in_call_secs": 1, "interrupted": true},
            {"role": "agent", "message": null, "tool_calls": [{"tool_name": "look"}, {"tool_name": "end"}]},
        ],
        "metadata": {
            "start_time_unix_secs": 10, "accepted_time_unix_secs": 20, "call_duration_secs": 4,
            "termination_reason": "end_call", "error": {"code": 1_008},
            "phone_call": {"call_result": "answered"},
        },
        "analysis": {"transcript_summary": "They spoke."},
        "conversation_initiation_client_data": {"user_id": HANDLE, "dynamic_variables": {}},
    });
    let mut places = Vec::new();
    places_in(&good, "", &mut places);
    places.retain(|place| !["/conversation_id", "/status"].contains(&place.as_str()));
    assert!(places.len() > 25, "{places:?}");
    let with = |place: &str, odd: Value| {
        let mut conversation = good.clone();
        *conversation.pointer_mut(place).unwrap() = odd;
        progress_of(read(conversation))
    };
    for place in &places {
        for odd in [
            json!(null),
            json!(5),
            json!("1008"),
            json!([1]),
            json!({"a": 1}),
            json!(true),
        ] {
            assert!(with(place, odd.clone()).end.is_some(), "{place} {odd}");
        }
    }
    let tools = (TurnRole::Tool, "look, end");
    let (agent, tool) = ((TurnRole::Agent, "Hello."), (TurnRole::Tool, "Hello."));
    for (place, odd, expected) in [
        ("/transcript/0", json!("x"), &[tools][..]),
        ("/transcript/0/role", json!(null), &[tool, tools]),
        (
            "/transcript/1/tool_calls/0/tool_name",
            json!(7),
            &[agent, (TurnRole::Tool, "end")],
        ),
        (
            "/transcript/0/message",
            json!("\0 Hi\0. "),
            &[(TurnRole::Agent, "Hi."), tools],
        ),
    ] {
        let turns = with(place, odd).turns;
        let said: Vec<_> = turns
            .iter()
            .map(|turn| (turn.role, turn.text.as_str()))
            .collect();
        assert_eq!(said, expected, "{place}");
    }
    let end = with("/analysis/transcript_summary", json!("a\0b")).end;
    assert_eq!(end.unwrap().summary, "ab");
}

/// The path of every value in `value`.
fn places_in(value: &Value, at: &str, places: &mut Vec<String>) {
    let within: Vec<(String, &Value)> = match value {
        Value::Object(members) => members
            .iter()
            .map(|(name, one)| (name.clone(), one))
            .collect(),
        Value::Array(items) => (0..)
            .zip(items)
            .map(|(n, one): (u8, _)| (n.to_string(), one))
            .collect(),
        _ => return,
    };
    for (name, one) in within {
        let place = format!("{at}/{name}");
        places_in(one, &place, places);
        places.push(place);
    }
}

#[test]
fn a_conversation_is_ours_by_its_user_or_by_its_variable_and_not_by_chance() {
    let call: CallHandle = HANDLE.parse().unwrap();
    let with = |more: Value| {
        let mut conversation = json!({"conversation_id": "conv_1", "status": "initiated"});
        conversation
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        is_of(&read(conversation), call)
    };
    assert!(with(json!({"user_id": HANDLE})));
    assert!(with(
        json!({"conversation_initiation_client_data": {"user_id": HANDLE}})
    ));
    assert!(with(json!({
        "user_id": "somebody",
        "conversation_initiation_client_data": {"dynamic_variables": {"offhook_call_id": HANDLE, "n": 1}},
    })));
    assert!(!with(json!({})));
    assert!(!with(
        json!({"user_id": "call_01928f7e-5a3b-7c4d-8e9f-0a1b2c3d4e50"})
    ));
}
