//! Scenarios, their runs, and what came of them.

use crate::prelude::*;

/// A stored scenario.
#[derive(Debug, Clone, PartialEq, Eq, Queryable, Selectable)]
#[diesel(table_name = scenarios)]
pub struct ScenarioRow {
    pub id: ScenarioId,
    pub account_id: AccountId,
    pub agent_id: AgentId,
    /// Unique for its agent.
    pub name: String,
    pub suite: Option<String>,
    /// The whole scenario, as JSON.
    pub definition: String,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

/// A run of scenarios.
#[derive(Debug, Clone, PartialEq, Eq, Queryable, Selectable)]
#[diesel(table_name = test_runs)]
pub struct TestRun {
    pub id: TestRunId,
    pub account_id: AccountId,
    pub agent_id: AgentId,
    pub version: i32,
    pub status: TestStatus,
    /// The number of its scenarios.
    pub total: i32,
    /// Scenarios that passed.
    pub passed: i32,
    /// Scenarios that failed, or could not be held.
    pub failed: i32,
    pub created_at: Timestamp,
    /// The time at which it has ended in any case.
    pub deadline_at: Timestamp,
    pub ended_at: Option<Timestamp>,
}

/// What came of one scenario.
#[derive(Debug, Clone, PartialEq, Eq, Queryable, Selectable)]
#[diesel(table_name = test_results)]
pub struct TestResult {
    pub run_id: TestRunId,
    /// Its place in the run, from 0.
    pub place: i32,
    pub agent_id: AgentId,
    pub name: String,
    /// The fingerprint of the scenario.
    pub scenario: String,
    /// The fingerprint of what was tested.
    pub content: String,
    pub status: TestStatus,
    /// Its conversations, as JSON.
    pub detail: String,
    pub created_at: Timestamp,
}
