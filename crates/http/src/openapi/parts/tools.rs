//! Tools, and an agent's versions.

use offhook_domain::tool::{HttpMethod, ToolKind};

use super::*;
use crate::wire::agent::VersionBody;

pub(super) fn operations() -> Vec<Operation> {
    use Answer::{List, One};
    let read = Access::Scope(Scope::AgentsRead);
    let write = Access::Scope(Scope::AgentsWrite);
    let (all, one) = ("/v1/agents/tools", "/v1/agents/tools/{id}");
    let versions = "/v1/agents/{id}/versions";
    operations! {
        GET all, listTools, read => List("Tool"), "List tools";
        POST all, createTool, write => One("Tool"), "Create a tool"
            .body("CreateTool").status(201).errors_too(&[Code::Conflict]);
        GET one, getTool, read => One("Tool"), "Read a tool";
        PATCH one, updateTool, write => One("Tool"), "Update a tool; published versions keep the old one"
            .optional_body("UpdateTool").errors_too(&[Code::Conflict]);
        DELETE one, deleteTool, write => One("ToolDeleted"), "Delete a tool; published versions keep it";
        GET versions, listAgentVersions, read => List("AgentVersion"), "List an agent's versions, highest first"
            .errors_too(&[Code::UnsupportedRuntime]);
        GET "/v1/agents/{id}/versions/{version}", getAgentVersion, read
            => One("AgentVersionWithConfig"), "Read a version of an agent"
            .errors_too(&[Code::UnsupportedRuntime]);
    }
}

pub(super) fn schemas() -> Vec<(&'static str, Value)> {
    let name = json!({"type": "string", "pattern": "^[a-z][a-z0-9_]{0,63}$"});
    let timeout = json!({"type": "integer", "minimum": 100, "maximum": 10_000});
    let http = |headers: Value| {
        [
            ("method", words(HttpMethod::ALL)),
            ("url", text(2_048)),
            ("headers", headers),
            ("timeout_ms", timeout.clone()),
        ]
    };
    let mcp = |headers: Value, functions: Value| {
        [
            ("url", text(2_048)),
            ("headers", headers),
            ("timeout_ms", timeout.clone()),
            ("functions", array(functions)),
        ]
    };
    let target = [("name", text(64)), ("to", e164())];
    let values = map(string());
    let shown = [
        ("id", uuid()),
        ("name", string()),
        ("description", string()),
        ("kind", words(ToolKind::ALL)),
        ("parameters", any_object()),
        ("http", nullable(object(&http(values.clone())))),
        (
            "transfer",
            nullable(object(&[("targets", array(object(&target)))])),
        ),
        ("mcp", nullable(object(&mcp(values.clone(), string())))),
        ("created_at", instant()),
        ("updated_at", instant()),
    ];
    let http = http(nullable(values.clone()));
    let mcp = mcp(nullable(values), text(128));
    let sent = |http: Value, transfer: Value, mcp: Value| {
        [
            ("name", name.clone()),
            ("description", text(1_024)),
            ("kind", words(ToolKind::ALL)),
            ("parameters", nullable(any_object())),
            ("http", nullable(http)),
            ("transfer", nullable(transfer)),
            ("mcp", nullable(mcp)),
        ]
    };
    let targets = request(
        &["targets"],
        &[("targets", array(request(&["name", "to"], &target)))],
    );
    let config = [("config", reference("AgentConfig"))];
    let tool_deleted = [("id", uuid()), ("deleted", boolean())];
    let agent_archived = [("id", uuid()), ("archived", boolean())];
    let created = sent(
        request(&["method", "url"], &http),
        targets.clone(),
        request(&["url", "functions"], &mcp),
    );
    schemas! {
        Tool => object(&shown);
        CreateTool => request(&["name", "description", "kind"], &created);
        UpdateTool => request(&[], &sent(request(&[], &http), targets, request(&[], &mcp)));
        ToolDeleted => object(&tool_deleted);
        AgentVersion => VersionBody::shape();
        AgentVersionWithConfig => with(VersionBody::shape(), &config);
        AgentArchived => object(&agent_archived);
    }
}
