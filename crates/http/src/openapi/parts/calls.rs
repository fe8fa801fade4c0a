//! Calls.

use super::conversations::conversation_filters;
use super::*;

pub(super) fn operations() -> Vec<Operation> {
    use Answer::{List, One};
    let read = Access::Scope(Scope::CallsRead);
    let write = Access::Scope(Scope::CallsWrite);
    let mut key = header(
        "Idempotency-Key",
        "A retry with the same key and body within 24 hours returns the first response.",
        json!({"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[ -~]+$"}),
    );
    key["example"] = json!("order-1042");
    let voice = [Channel::Phone, Channel::WidgetVoice, Channel::Unknown];
    operations! {
        GET "/v1/calls", listCalls, read => List("CallItem"), "List voice conversations"
            .filters(conversation_filters(&voice));
        POST "/v1/calls", placeCall, write => One("CallPlaced"), "Place an outbound call"
            .body("PlaceCall")
            .filters(vec![key])
            .status(201)
            .errors_too(&[
                Code::InvalidIdempotencyKey,
                Code::AgentNotFound,
                Code::AgentDisabled,
                Code::PaymentRequired,
                Code::KeyBudgetExhausted,
                Code::IdempotencyConflict,
                Code::Conflict,
                Code::UpstreamUnreachable,
            ]);
        GET "/v1/calls/{id}", getCall, read => One("Call"), "Read a call";
        POST "/v1/calls/{id}/hangup", hangUpCall, write => One("HangUp"), "End a call"
            .optional_body("Nothing").status(202).errors_too(&[Code::Conflict]);
    }
}
