//! Conversations, and the schemas of calls.

use super::*;
use crate::wire::conversation::{AgentRef, TurnBody};

pub(super) fn conversation_filters(channels: &[Channel]) -> Vec<Value> {
    let uuid = json!({"type": "string", "format": "uuid"});
    let phone = json!({"type": "string", "pattern": r"^\+[1-9]\d{6,14}$"});
    let mut filters = Vec::from(period());
    filters.extend([
        query("agent_id", "Only of this agent.", uuid),
        query(
            "status",
            "Only in this status.",
            words(ConversationStatus::ALL),
        ),
        query("channel", "Only on this channel.", words(channels)),
        query(
            "phone",
            "Only with this customer's or dialed number, E.164; in a URL the `+` is `%2B`.",
            phone,
        ),
    ]);
    filters
}

pub(super) fn operations() -> Vec<Operation> {
    use Answer::{Audio, Events, List, One};
    let read = Access::Scope(Scope::ConversationsRead);
    let list = "/v1/conversations";
    operations! {
        GET list, listConversations, read => List("ConversationItem"), "List conversations"
            .filters(conversation_filters(Channel::ALL));
        GET "/v1/conversations/{id}", getConversation, read
            => One("Conversation"), "Read a conversation with its first 1,000 turns";
        GET "/v1/conversations/{id}/turns", listTurns, read => List("Turn"), "List all turns, oldest first";
        GET "/v1/conversations/{id}/audio", getRecording, read
            => Audio, "Download the recording, whole or a range (206); 404 without one"
            .filters(vec![
                header("Range", "One range of bytes.", json!({"type": "string"})),
                header("If-Range", "The ETag that the range is of.", json!({"type": "string"})),
            ])
            .errors_too(&[Code::RangeNotSatisfiable]);
        GET "/v1/conversations/{id}/events", followConversation, read
            => Events, "Follow a conversation live, from its start"
            .filters(vec![last_event_id()])
            .errors_too(&[Code::Conflict]);
    }
}

pub(super) fn schemas() -> Vec<(&'static str, Value)> {
    let item = |status: Value| {
        vec![
            ("id", uuid()),
            ("call_id", string()),
            ("runtime", words(Runtime::ALL)),
            ("channel", words(Channel::ALL)),
            ("agent", AgentRef::shape()),
            ("status", status),
            ("from", nullable(e164())),
            ("to", nullable(e164())),
            ("customer_phone", nullable(e164())),
            ("started_at", instant()),
            ("ended_at", nullable(instant())),
            ("duration_seconds", nullable(integer())),
            ("credits", nullable(integer())),
            ("summary", nullable(string())),
            ("has_audio", boolean()),
            (
                "termination_reason",
                nullable(words(TerminationReason::ALL)),
            ),
        ]
    };
    let latency = [
        ("turns", integer()),
        ("p50_ms", nullable(integer())),
        ("p95_ms", nullable(integer())),
    ];
    let detail = vec![
        ("metadata", map(variable())),
        ("failure_reason", nullable(words(FailureReason::ALL))),
        ("outcome", nullable(words(Outcome::ALL))),
        ("conversation_id", uuid()),
        ("latency", nullable(object(&latency))),
        ("simulated", boolean()),
        ("opted_out", boolean()),
        ("consent", nullable(super::gate::consent())),
        ("compliance_rule", nullable(words(DialRule::ALL))),
    ];
    let whole = vec![
        ("recording_url", nullable(string())),
        ("analysis", nullable(super::analyses::analysis())),
        ("transcript", array(reference("Turn"))),
    ];
    let messages = vec![("messages_count", integer())];
    let listed = item(words(ConversationStatus::ALL));
    let read = item(words(&["initiated", "completed", "failed", "unknown"]));
    let turn = [
        ("role", words(&["agent", "user", "tool"])),
        ("text", string()),
    ];
    let placed = [
        ("id", string()),
        ("agent_id", string()),
        ("to", e164()),
        ("status", words(&["initiated"])),
        ("created_at", instant()),
    ];
    schemas! {
        CallItem => object(&listed);
        ConversationItem => object(&[listed.clone(), messages.clone()].concat());
        Call => object(&[read.clone(), detail.clone()].concat());
        Conversation => object(&[read, messages, detail, whole].concat());
        Turn => with(TurnBody::shape(), &turn);
        PlaceCall => body::request_with::<bodies::CallRequest>(&|_| metadata());
        CallPlaced => object(&placed);
        HangUp => object(&[("id", string()), ("status", string())]);
    }
}
