//! Agents.

use offhook_domain::body::Body as _;

use super::*;
use crate::openapi::shape::Shape as _;
use crate::wire::agent::AgentNumber;

pub(super) fn operations() -> Vec<Operation> {
    use Answer::{List, One};
    let read = Access::Scope(Scope::AgentsRead);
    let write = Access::Scope(Scope::AgentsWrite);
    let one = "/v1/agents/{id}";
    let q = json!({"type": "string", "maxLength": 100});
    operations! {
        GET "/v1/agents", listAgents, read => List("AgentItem"), "List agents"
            .filters(vec![
                query("runtime", "Only of this runtime.", words(Runtime::ALL)),
                query("status", "Only in this status.", words(AgentStatus::ALL)),
                query("q", "Only with this text in the name, regardless of case.", q),
            ]);
        POST "/v1/agents", createAgent, write => One("Agent"), "Create an engine agent as a draft"
            .body("CreateAgent").status(201);
        GET one, getAgent, read => One("Agent"), "Read an agent";
        PATCH one, updateAgent, write => One("Agent"), "Update an agent"
            .optional_body("UpdateAgent").errors_too(&[Code::Conflict, Code::UnsupportedRuntime, Code::UpstreamError]);
        DELETE one, archiveAgent, write => One("AgentArchived"), "Archive an agent and keep its conversations"
            .errors_too(&[Code::UnsupportedRuntime]);
        POST "/v1/agents/{id}/publish", publishAgent, write
            => One("Agent"), "Publish a version, or roll back to an older one"
            .optional_body("PublishAgent").errors_too(&[Code::Conflict, Code::UnsupportedRuntime, Code::UpstreamError]);
    }
}

pub(super) fn schemas() -> Vec<(&'static str, Value)> {
    let item = [
        ("id", uuid()),
        ("runtime", words(Runtime::ALL)),
        ("name", string()),
        ("status", words(AgentStatus::ALL)),
        ("language", string()),
        ("created_at", instant()),
        ("updated_at", instant()),
        ("phone_numbers", array(AgentNumber::shape())),
    ];
    let by_runtime = [
        ("provider_agent_id", nullable(string())),
        ("current_version", integer()),
        ("published_version", integer()),
    ];
    let agent = |with_config: bool| {
        let mut schema = object(&item);
        if with_config {
            schema = object(&[&item[..], &[("config", nullable(any_object()))]].concat());
        }
        if let Some(Value::Object(members)) = schema.get_mut("properties") {
            members.extend(properties(&by_runtime));
        }
        schema["description"] = json!(
            "`provider_agent_id` only on legacy agents; `current_version` and `published_version` only on engine agents."
        );
        schema
    };
    let mut full = agent(true);
    full["properties"]["config"] = nullable(reference("AgentConfig"));
    let config_sent = |_: &str| reference("AgentConfig");
    schemas! {
        AgentItem => agent(false);
        Agent => full;
        AgentConfig => config();
        CreateAgent => body::request_with::<bodies::CreateAgent>(&config_sent);
        UpdateAgent => body::request_with::<bodies::UpdateAgent>(&config_sent);
        PublishAgent => body::request::<bodies::PublishAgent>();
    }
}

/// The agent config object. A write may omit any member, so none is required.
fn config() -> Value {
    let mut config = properties(&[("version", integer())]);
    config.extend(body::properties(AgentConfig::members(), &rows));
    json!({"type": "object", "properties": config})
}

/// The members with a reader of their own.
fn rows(name: &str) -> Value {
    let open = |members: Members<'_>| json!({"type": "object", "properties": properties(members)});
    match name {
        "fallback" => array(object(&[("provider", string()), ("model", string())])),
        "fallback_voices" => map(nullable(string())),
        "dynamic_variables" => map(nullable(open(&[("default", variable())]))),
        "pronunciation" => array(open(&[
            ("term", string()),
            ("say", string()),
            ("match_case", boolean()),
        ])),
        _ => nullable(open(&[
            ("timezone", string()),
            ("days", array(integer())),
            ("start", string()),
            ("end", string()),
        ])),
    }
}
