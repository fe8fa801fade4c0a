//! Scenarios, and what came of them.

use offhook_domain::AgentId;
use offhook_services::store::{TestResult, TestRun};
use offhook_services::{Progress, Scenario, ScenarioView};
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use super::{raw, shown};

shown! {
    ScenarioBody(view: ScenarioView) {
        id = view.row.id,
        agent_id = view.row.agent_id,
        name = &view.scenario.name,
        suite = &view.scenario.suite,
        turns = &view.scenario.turns,
        persona = &view.scenario.persona,
        goal = &view.scenario.goal,
        recording = view.scenario.recording,
        noise_db = view.scenario.noise_db,
        max_turns = view.scenario.max_turns,
        variables = raw(view.scenario.variables.as_json_text()).ok(),
        tools = &view.scenario.tools,
        checks = &view.scenario.checks,
        runs = view.scenario.runs,
        budget_s = view.scenario.budget_s,
        created_at = view.row.created_at,
        updated_at = view.row.updated_at,
    }
}

/// A scenario that is not stored, as POST /v1/scenarios takes it.
#[derive(Serialize)]
pub(crate) struct DraftedScenario {
    pub(crate) agent_id: AgentId,
    #[serde(flatten)]
    pub(crate) scenario: Scenario,
}

shown! {
    TestRunView(run: TestRun) {
        id,
        agent_id,
        version,
        status,
        total,
        passed,
        failed,
        created_at,
        ended_at,
    }
}

shown! {
    TestRunDetail(progress: Progress) {
        id = progress.run.id,
        agent_id = progress.run.agent_id,
        version = progress.run.version,
        status = progress.run.status,
        total = progress.run.total,
        passed = progress.run.passed,
        failed = progress.run.failed,
        created_at = progress.run.created_at,
        ended_at = progress.run.ended_at,
        results = progress.results.iter().map(TestResultBody).collect::<Vec<_>>(),
    }
}

shown! {
    TestResultBody(result: TestResult) {
        place,
        name,
        status,
        conversations = Conversations(&result.detail),
        created_at,
    }
}

/// The conversations of a scenario.
pub(crate) struct Conversations<'a>(&'a str);

impl Serialize for Conversations<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let json: &RawValue = serde_json::from_str(self.0).map_err(serde::ser::Error::custom)?;
        json.serialize(serializer)
    }
}
