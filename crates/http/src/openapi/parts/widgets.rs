//! Widgets of agents.

use super::*;

pub(super) fn operations() -> Vec<Operation> {
    let path = "/v1/agents/{id}/widget";
    operations! {
        GET path, getWidget, Access::Scope(Scope::AgentsRead) => Answer::One("Widget"), "Read an agent's widget";
        PUT path, setWidget, Access::Scope(Scope::AgentsWrite)
            => Answer::One("Widget"), "Set an agent's widget"
            .body("SetWidget").errors_too(&[Code::Conflict, Code::UnsupportedRuntime]);
    }
}

pub(super) fn schemas() -> Vec<(&'static str, Value)> {
    let mut origins = array(text(270));
    origins["maxItems"] = json!(20);
    let members = [
        ("enabled", boolean()),
        ("allowed_origins", origins.clone()),
        (
            "max_sessions_per_minute",
            json!({"type": "integer", "minimum": 1, "maximum": 600, "default": 10}),
        ),
        (
            "daily_credit_cap",
            nullable(json!({"type": "integer", "minimum": 0, "maximum": 1_000_000_000})),
        ),
    ];
    schemas! {
        Widget => object(&members);
        SetWidget => body::request_with::<bodies::SetWidget>(&|_| nullable(origins.clone()));
    }
}
