use std::time::Duration;

use offhook_domain::{CallOutcome, FailureReason, TerminationReason};
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
fn a_call_under_way_tells_what_was_said_but_for_what_is_being_said() {
    let progress = told(read(json!({
        "conversation_id": "conv_1", "agent_id": "agent_1", "status": "in-progress",
        "transcript": [
            {"role": "agent", "message": " Hello. ", "time_in_call_secs": 0},
            {"role": "user", "message": "Hi.", "time_in_call_secs": 2, "interrupted": null},
            {"role": "agent", "message": "I would", "time_in_call_secs": 3},
        ],
        "metadata": {"start_time_unix_secs": 1_777_000_000, "call_duration_secs": 3},
        "a_member_of_next_year": {"x": 1},
    })));
    assert_eq!(progress.conversation.as_deref(), Some("conv_1"));
    assert_eq!(progress.answered_at, Some(at(1_777_000_000)));
    assert!(progress.reported && progress.end.is_none());
    let said: Vec<_> = progress
        .turns
        .iter()
        .map(|turn| (turn.role, turn.text.as_str(), turn.started_at))
        .collect();
    let expected = [
        (TurnRole::Agent, "Hello.", at(1_777_000_000)),
        (TurnRole::User, "Hi.", at(1_777_000_002)),
    ];
    assert_eq!(said, expected);
    let lengths = progress.turns.iter().map(|turn| turn.duration_ms);
    assert_eq!(lengths.collect::<Vec<_>>(), [2_000, 1_000]);
}

#[test]
fn a_call_that_is_over_tells_all_of_it() {
    let progress = told(read(json!({
        "conversation_id": "conv_1", "agent_id": "agent_1", "status": "done", "has_audio": true,
        "transcript": [
            {"role": "agent", "message": "Hello.", "time_in_call_secs": 0, "interrupted": true},
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
    assert!(end.recorded && end.is_told);
}

#[test]
fn what_is_processed_is_over_and_not_told_and_what_nobody_answered_costs_nothing() {
    let with = |status: &str, metadata: Value| {
        told(read(
            json!({"conversation_id": "conv_1", "status": status, "metadata": metadata}),
        ))
    };
    let processed = with(
        "processing",
        json!({"start_time_unix_secs": 10, "call_duration_secs": 5}),
    );
    assert!(!processed.end.unwrap().is_told);
    let busy = with(
        "failed",
        json!({"start_time_unix_secs": 10, "call_duration_secs": 5, "phone_call": {"call_result": "busy"}}),
    );
    assert_eq!(busy.answered_at, None);
    assert_eq!(
        busy.end.unwrap().outcome,
        CallOutcome::Failed(FailureReason::Busy)
    );
    let rings = with("initiated", json!({"start_time_unix_secs": 10}));
    assert!(rings.reported && rings.answered_at.is_none() && rings.end.is_none());
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
            told(read(json!({
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
            assert_eq!(progress.answered_at, Some(UNTOLD), "{status} {start}");
            assert_eq!(progress.turns[0].started_at, UNTOLD.plus(second));
        }
        let ended_at = with("done").end.unwrap().ended_at;
        assert_eq!(ended_at, UNTOLD.plus(5 * second), "{start}");
        assert!(UNTOLD.plus(LONGEST).to_string().starts_with("9999-12-31T"));
    }
}

#[test]
fn a_status_that_is_not_known_is_no_end() {
    for status in [json!("ended"), json!(null), json!(7)] {
        let progress = told(read(json!({
            "conversation_id": "conv_1", "status": status,
            "transcript": [{"role": "agent", "message": "Hello."}],
            "metadata": {"call_duration_secs": 9, "termination_reason": "Client disconnected"},
        })));
        assert!(progress.reported && progress.end.is_none(), "{status}");
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
    let places = [
        "/has_audio",
        "/user_id",
        "/transcript",
        "/transcript/0",
        "/transcript/0/role",
        "/transcript/0/message",
        "/transcript/0/time_in_call_secs",
        "/transcript/0/interrupted",
        "/transcript/1/tool_calls",
        "/transcript/1/tool_calls/0",
        "/transcript/1/tool_calls/0/tool_name",
        "/metadata",
        "/metadata/start_time_unix_secs",
        "/metadata/accepted_time_unix_secs",
        "/metadata/call_duration_secs",
        "/metadata/termination_reason",
        "/metadata/error",
        "/metadata/error/code",
        "/metadata/phone_call",
        "/metadata/phone_call/call_result",
        "/analysis",
        "/analysis/transcript_summary",
        "/conversation_initiation_client_data",
        "/conversation_initiation_client_data/user_id",
        "/conversation_initiation_client_data/dynamic_variables",
    ];
    for place in places {
        for odd in [
            json!(null),
            json!(5),
            json!("1008"),
            json!([1]),
            json!({"a": 1}),
            json!(true),
        ] {
            let mut conversation = good.clone();
            *conversation.pointer_mut(place).unwrap() = odd.clone();
            let progress = told(read(conversation));
            assert!(progress.end.is_some(), "{place} {odd}");
        }
    }
    let with = |place: &str, odd: Value| {
        let mut conversation = good.clone();
        *conversation.pointer_mut(place).unwrap() = odd;
        told(read(conversation))
    };
    let texts = |progress: LegacyProgress| {
        let turns = progress.turns.into_iter();
        turns.map(|turn| (turn.role, turn.text)).collect::<Vec<_>>()
    };
    let tools = (TurnRole::Tool, "look, end".to_owned());
    let hello = |role| (role, "Hello.".to_owned());
    assert_eq!(
        texts(with("/transcript/0", json!("x"))),
        std::slice::from_ref(&tools)
    );
    assert_eq!(
        texts(with("/transcript/0/role", json!(null))),
        [hello(TurnRole::Tool), tools]
    );
    assert_eq!(
        texts(with("/transcript/1/tool_calls/0/tool_name", json!(7))),
        [hello(TurnRole::Agent), (TurnRole::Tool, "end".to_owned())]
    );
    let summary = with("/analysis/transcript_summary", json!("a\0b"))
        .end
        .unwrap()
        .summary;
    assert_eq!(summary, "ab");
    let words = texts(with("/transcript/0/message", json!("\0 Hi\0. ")));
    assert_eq!(words[0], (TurnRole::Agent, "Hi.".to_owned()));
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
