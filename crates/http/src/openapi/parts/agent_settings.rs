//! What is set of an agent beside its configuration.

use super::*;
use crate::openapi::shape::Shape as _;
use crate::wire::agent_settings::AgentSettingsBody;

pub(super) fn operations() -> Vec<Operation> {
    let path = "/v1/agents/{id}/settings";
    let mut phone = query(
        "phone",
        "The customer's number (E.164); write its `+` as %2B.",
        e164(),
    );
    phone["required"] = true.into();
    phone["example"] = "+14155550123".into();
    operations! {
        GET path, getAgentSettings, Access::Scope(Scope::AgentsRead)
            => Answer::One("AgentSettings"), "Read an agent's settings";
        PUT path, setAgentSettings, Access::Scope(Scope::AgentsWrite)
            => Answer::One("AgentSettings"), "Set an agent's settings"
            .body("SetAgentSettings").errors_too(&[Code::Conflict, Code::UnsupportedRuntime]);
        DELETE "/v1/agents/{id}/memory", forgetCaller, Access::Scope(Scope::AgentsWrite)
            => Answer::One("CallerForgotten"), "Forget a caller".filters(vec![phone]);
    }
}

pub(super) fn schemas() -> Vec<(&'static str, Value)> {
    schemas! {
        AgentSettings => AgentSettingsBody::shape();
        CallerForgotten => object(&[("forgotten", integer())]);
        SetAgentSettings => body::request::<bodies::SetAgentSettings>();
    }
}
