//! Scenarios of agents, and their runs.

use super::*;
use crate::wire::scenario::{Conversations, ScenarioBody, TestRunDetail, TestRunView};

pub(super) fn operations() -> Vec<Operation> {
    use Answer::{Events, List, One};
    let read = Access::Scope(Scope::AgentsRead);
    let write = Access::Scope(Scope::AgentsWrite);
    let (all, one) = ("/v1/scenarios", "/v1/scenarios/{id}");
    let runs = "/v1/agents/{id}/test-runs";
    operations! {
        GET all, listScenarios, read => List("Scenario"), "List scenarios"
            .filters(vec![query("agent_id", "Only of this agent.", uuid())]);
        POST all, createScenario, write => One("Scenario"), "Create a scenario of an engine agent"
            .body("CreateScenario").status(201).errors_too(&[Code::Conflict, Code::UnsupportedRuntime]);
        GET one, getScenario, read => One("Scenario"), "Read a scenario";
        PATCH one, updateScenario, write => One("Scenario"), "Change a scenario, by a merge patch"
            .body("UpdateScenario").errors_too(&[Code::Conflict]);
        DELETE one, deleteScenario, write => One("Deleted"), "Delete a scenario";
        GET runs, listTestRuns, read => List("TestRun"), "List an agent's test runs"
            .errors_too(&[Code::UnsupportedRuntime]);
        POST runs, createTestRun, write => One("TestRun"), "Test a version of an agent with scenarios"
            .optional_body("RunScenarios").status(201).errors_too(&[Code::Conflict, Code::UnsupportedRuntime]);
        GET "/v1/agents/{id}/test-runs/{run}", getTestRun, read => One("TestRunDetail"), "Read a test run with what came of each scenario";
        GET "/v1/agents/{id}/test-runs/{run}/events", followTestRun, read => Events, "Follow a test run until it has ended"
            .errors_too(&[Code::Conflict]);
        POST "/v1/agents/{id}/test-runs/{run}/cancel", cancelTestRun, write => One("TestRun"), "Cancel a test run"
            .errors_too(&[Code::Conflict]);
        GET "/v1/conversations/{id}/scenario", draftScenario, Access::Scope(Scope::ConversationsRead)
            => One("DraftedScenario"), "Make a scenario of a conversation, which is not stored"
            .errors_too(&[Code::Conflict, Code::UnsupportedRuntime]);
    }
}

impl Shape for bodies::CallerLine {
    fn shape() -> Value {
        reference("CallerLine")
    }
}

impl Shape for bodies::Mock {
    fn shape() -> Value {
        reference("MockedTool")
    }
}

impl Shape for bodies::ScenarioCheck {
    fn shape() -> Value {
        reference("ScenarioCheck")
    }
}

impl Shape for Conversations<'_> {
    fn shape() -> Value {
        let line = object(&[
            ("role", words(TurnRole::ALL)),
            ("text", string()),
            ("turn", integer()),
            ("at_ms", nullable(integer())),
            ("interrupted", boolean()),
        ]);
        let used = object(&[
            ("turn", integer()),
            ("name", string()),
            ("arguments", string()),
            ("answer", string()),
            ("failed", boolean()),
        ]);
        let answer = object(&[
            ("turn", integer()),
            ("first_text_ms", nullable(integer())),
            ("ms", integer()),
        ]);
        let played = object(&[
            ("transcript", array(line.clone())),
            ("tools", array(used)),
            ("answers", array(answer)),
            ("ended_by", words(EndedBy::ALL)),
            ("lines", integer()),
            ("claims_replaced", integer()),
            ("no_reply", boolean()),
            ("before", nullable(array(line))),
        ]);
        let check = object(&[
            ("kind", words(CheckKind::ALL)),
            ("result", words(CheckResult::ALL)),
            ("detail", string()),
        ]);
        array(object(&[
            ("status", words(TestStatus::ALL)),
            ("checks", array(check)),
            ("error", nullable(string())),
            ("recording", nullable(uuid())),
            ("played", nullable(played)),
        ]))
    }
}

/// The members that have readers of their own.
fn own(name: &str) -> Value {
    let some = |schema: &str, least: usize, most: usize| json!({"type": "array", "minItems": least, "maxItems": most, "items": reference(schema)});
    match name {
        "turns" => some("CallerLine", 1, 50),
        "variables" => metadata(),
        "tools" => some("MockedTool", 0, 32),
        "checks" => some("ScenarioCheck", 1, 32),
        "scenarios" => some("GivenScenario", 1, 200),
        _ => any_object(),
    }
}

fn own_of_check(name: &str) -> Value {
    match name {
        "tools" => array(string()),
        _ => any_object(),
    }
}

pub(super) fn schemas() -> Vec<(&'static str, Value)> {
    let create = {
        let mut schema = body::request_with::<bodies::Scenario>(&own);
        schema["properties"]["agent_id"] = uuid();
        if let Some(required) = schema["required"].as_array_mut() {
            required.insert(0, "agent_id".into());
        }
        schema
    };
    let update = {
        let mut schema = body::request_with::<bodies::Scenario>(&own);
        schema["required"] = json!([]);
        schema
    };
    let mut drafted = body::request_with::<bodies::Scenario>(&own);
    drafted["properties"]["agent_id"] = uuid();
    let line = json!({"anyOf": [string(), body::request::<bodies::CallerLine>()]});
    schemas! {
        CallerLine => line;
        MockedTool => body::request::<bodies::Mock>();
        ScenarioCheck => body::request_with::<bodies::ScenarioCheck>(&own_of_check);
        GivenScenario => body::request_with::<bodies::Scenario>(&own);
        Scenario => ScenarioBody::shape();
        CreateScenario => create;
        UpdateScenario => update;
        DraftedScenario => drafted;
        RunScenarios => body::request_with::<bodies::RunScenarios>(&own);
        TestRun => TestRunView::shape();
        TestRunDetail => TestRunDetail::shape();
    }
}
