//! What is set of an agent beside its configuration.

use offhook_domain::Scope;
use offhook_services::bodies;
use serde_json::Value;

use super::super::body;
use super::super::operations::{Access, Answer, Operation, operations};
use crate::Code;
use crate::openapi::shape::Shape as _;
use crate::wire::agent_settings::AgentSettingsBody;

pub(super) fn operations() -> Vec<Operation> {
    let path = "/v1/agents/{id}/settings";
    operations! {
        GET path, getAgentSettings, Access::Scope(Scope::AgentsRead)
            => Answer::One("AgentSettings"), "Read an agent's settings";
        PUT path, setAgentSettings, Access::Scope(Scope::AgentsWrite)
            => Answer::One("AgentSettings"), "Set an agent's settings"
            .body("SetAgentSettings").errors_too(&[Code::Conflict, Code::UnsupportedRuntime]);
    }
}

pub(super) fn schemas() -> Vec<(&'static str, Value)> {
    vec![
        ("AgentSettings", AgentSettingsBody::shape()),
        (
            "SetAgentSettings",
            body::request::<bodies::SetAgentSettings>(),
        ),
    ]
}
