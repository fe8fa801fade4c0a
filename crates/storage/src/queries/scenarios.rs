//! Scenarios of agents, and their runs.

use crate::prelude::*;
use crate::schema::test_results as results;

/// Runs of an agent that are kept.
const KEPT_RUNS: i64 = 50;

/// How long a run is kept.
const KEPT_FOR: Duration = Duration::from_secs(30 * 86_400);

impl Store {
    /// A page of the account's scenarios, newest first, with one more than `limit` if there is a next page.
    pub fn scenarios(
        &self,
        account: AccountId,
        agent: Option<AgentId>,
        after: Option<PageKey<ScenarioId>>,
        limit: i64,
    ) -> Answer<'_, Vec<ScenarioRow>> {
        page!(scenarios as ScenarioRow, account, after, limit)
            .when(agent, |agent| scenarios::agent_id.eq(V(agent)))
            .read_all(self)
    }

    /// The agent's scenarios, or those of one suite, by name.
    pub fn suite(&self, agent: AgentId, suite: Option<String>) -> Answer<'_, Vec<ScenarioRow>> {
        scenarios::table
            .filter(scenarios::agent_id.eq(V(agent)))
            .order(scenarios::name)
            .select(ScenarioRow::as_select())
            .into_boxed::<Db>()
            .when(suite, |suite| scenarios::suite.eq(suite))
            .read_all(self)
    }

    pub fn scenario(&self, account: AccountId, id: ScenarioId) -> Answer<'_, Option<ScenarioRow>> {
        own!(scenarios, account, id)
            .select(ScenarioRow::as_select())
            .read_first(self)
    }

    /// Adds a scenario, unless its agent has `most`. `StoreError::Conflict` if the name is taken.
    pub fn add_scenario(&self, new: ScenarioRow, most: i64) -> Answer<'_, bool> {
        transact!(self, |conn| {
            // The lock on the account keeps scenarios from being counted twice.
            locks::lock_account(conn, new.account_id).await?;
            let made = scenarios::table.filter(scenarios::agent_id.eq(V(new.agent_id)));
            ensure!(made.counted(conn).await? < most, Rollback(false));
            insert! {
                conn, scenarios of new: id, account_id, agent_id, name, suite, definition, created_at, updated_at
            }?;
            Ok(Commit(true))
        })
    }

    /// Replaces a scenario. Returns `false` if it is gone. `StoreError::Conflict` if the name is taken.
    pub fn replace_scenario(&self, new: ScenarioRow) -> Answer<'_, bool> {
        diesel::update(own!(scenarios, new.account_id, new.id))
            .set(row! { scenarios of new: name, suite, definition, updated_at })
            .commit_change(self)
    }

    pub fn delete_scenario(&self, account: AccountId, id: ScenarioId) -> Answer<'_, bool> {
        diesel::delete(own!(scenarios, account, id)).commit_change(self)
    }

    /// Begins a run. The agent's oldest ones make room for it.
    pub fn begin_test_run(&self, run: TestRun) -> Answer<'_, ()> {
        keep!(self, |conn| {
            let of_agent = || test_runs::table.filter(test_runs::agent_id.eq(V(run.agent_id)));
            let old: Vec<TestRunId> = of_agent()
                .filter(test_runs::status.ne(V(TestStatus::Running)))
                .order((test_runs::created_at.desc(), test_runs::id.desc()))
                .offset(KEPT_RUNS - 1)
                .limit(KEPT_RUNS)
                .select(test_runs::id)
                .load(conn)
                .await?;
            for id in old {
                diesel::delete(test_runs::table.find(V(id)))
                    .run(conn)
                    .await?;
            }
            insert! {
                conn, test_runs of run: id, account_id, agent_id, version, status, total, passed, failed, created_at,
                deadline_at, ended_at
            }
        })
    }

    /// Deletes runs that began more than 30 days ago; `false` once there are none.
    pub fn delete_old_test_runs(&self, now: Timestamp) -> Answer<'_, bool> {
        keep!(self, |conn| {
            let old: Option<TestRunId> = test_runs::table
                .filter(test_runs::created_at.lt(V(now.minus(KEPT_FOR))))
                .order(test_runs::created_at)
                .select(test_runs::id)
                .found(conn)
                .await?;
            let old = some_or!(old, false);
            diesel::delete(test_runs::table.find(V(old)))
                .changes(conn)
                .await
        })
    }

    /// Adds what came of a scenario.
    pub fn add_test_result(&self, result: TestResult) -> Answer<'_, ()> {
        keep!(self, |conn| {
            let passed = i32::from(result.status == TestStatus::Passed);
            diesel::update(test_runs::table.find(V(result.run_id)))
                .set(row! { test_runs: passed += passed, failed += 1 - passed })
                .run(conn)
                .await?;
            insert! {
                conn, results of result: run_id, place, agent_id, name, scenario, content, status, detail, created_at
            }
        })
    }

    /// Ends a run, unless it has ended.
    pub fn end_test_run(
        &self,
        id: TestRunId,
        status: TestStatus,
        at: Timestamp,
    ) -> Answer<'_, bool> {
        diesel::update(test_runs::table.find(V(id)))
            .filter(test_runs::status.eq(V(TestStatus::Running)))
            .set(row! { test_runs: status, ended_at = at })
            .commit_change(self)
    }

    /// A page of an agent's runs, newest first, with one more than `limit` if there is a next page.
    pub fn test_runs(
        &self,
        (account, agent): (AccountId, AgentId),
        after: Option<PageKey<TestRunId>>,
        limit: i64,
    ) -> Answer<'_, Vec<TestRun>> {
        page!(test_runs as TestRun, account, after, limit)
            .filter(test_runs::agent_id.eq(V(agent)))
            .read_all(self)
    }

    pub fn test_run(&self, account: AccountId, id: TestRunId) -> Answer<'_, Option<TestRun>> {
        own!(test_runs, account, id)
            .select(TestRun::as_select())
            .read_first(self)
    }

    /// The results of a run so far, in the order of its scenarios. The caller has looked the run up for its account.
    pub fn test_results(&self, run: TestRunId) -> Answer<'_, Vec<TestResult>> {
        results::table
            .filter(results::run_id.eq(V(run)))
            .order(results::place)
            .select(TestResult::as_select())
            .read_all(self)
    }

    /// The fingerprints of the scenarios that this content was tested with, each with what came of it, oldest first.
    pub fn tested(&self, agent: AgentId, content: String) -> Answer<'_, Vec<(String, TestStatus)>> {
        results::table
            .filter(results::agent_id.eq(V(agent)))
            .filter(results::content.eq(content))
            .order((results::created_at, results::place))
            .select((results::scenario, results::status))
            .read_all(self)
    }
}
