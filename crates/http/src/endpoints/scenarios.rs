//! `/v1/scenarios` and `/v1/agents/{id}/test-runs`: conversations that agents are tested with.

use actix_web::dev::{Path, Url};

use crate::prelude::*;
use crate::request::ask::{AgentsRead, AgentsWrite, ConversationsRead, FromPath};
use crate::request::body::Nothing;
use crate::streams::{self, Resume};
use crate::wire::Deleted;
use crate::wire::scenario::{DraftedScenario, ScenarioBody, TestRunDetail, TestRunView};

pub(crate) fn routes() -> Vec<Endpoint> {
    let at = Endpoint::at;
    vec![
        at("/v1/scenarios").get(list).post(create),
        at("/v1/scenarios/{id}")
            .get(get)
            .patch(update)
            .delete(delete),
        at("/v1/agents/{id}/test-runs").get(runs).post(run),
        at("/v1/agents/{id}/test-runs/{run}").get(progress),
        at("/v1/agents/{id}/test-runs/{run}/events").get(events),
        at("/v1/agents/{id}/test-runs/{run}/cancel").post(cancel),
        at("/v1/conversations/{id}/scenario").get(of_conversation),
    ]
}

pub(crate) struct OfAgent(Option<AgentId>);

impl FromQuery for OfAgent {
    fn read(query: &mut QueryReader) -> Result<Self, FieldError> {
        Ok(Self(query.id("agent_id")?))
    }
}

/// A run of an agent's scenarios.
struct RunPath {
    agent: AgentId,
    run: TestRunId,
}

impl FromPath for RunPath {
    fn read(id: &str) -> Self {
        Self {
            agent: AgentId::read(id),
            run: TestRunId::nil(),
        }
    }

    fn of(path: &Path<Url>) -> Self {
        Self {
            run: TestRunId::read(path.get("run").unwrap_or_default()),
            ..Self::read(path.get("id").unwrap_or_default())
        }
    }
}

/// `GET /v1/scenarios`
async fn list(ask: Ask<AgentsRead, (), Listing<OfAgent>>) -> Reply {
    let page = ask.query.page_request(ScenarioId::from_uuid);
    let scenarios = ask.services().scenarios();
    let found = scenarios.list(ask.account(), ask.query.filters.0, page);
    ask.query.answer(
        &found.await?,
        |view| (view.row.created_at, view.row.id.uuid()),
        ScenarioBody,
    )
}

/// `POST /v1/scenarios`
async fn create(ask: Ask<AgentsWrite, (), (), Json>) -> Reply {
    let scenarios = ask.services().scenarios();
    let view = scenarios.create(ask.account(), &ask.body).await?;
    reply::created(&ScenarioBody(&view))
}

/// `GET /v1/scenarios/{id}`
async fn get(ask: Ask<AgentsRead, ScenarioId>) -> Reply {
    let scenarios = ask.services().scenarios();
    reply::ok(&ScenarioBody(&scenarios.get(ask.account(), ask.id).await?))
}

/// `PATCH /v1/scenarios/{id}`
async fn update(ask: Ask<AgentsWrite, ScenarioId, (), Json>) -> Reply {
    let scenarios = ask.services().scenarios().by(ask.caller.actor());
    let view = scenarios.update(ask.account(), ask.id, &ask.body).await?;
    reply::ok(&ScenarioBody(&view))
}

/// `DELETE /v1/scenarios/{id}`
async fn delete(ask: Ask<AgentsWrite, ScenarioId>) -> Reply {
    let scenarios = ask.services().scenarios().by(ask.caller.actor());
    scenarios.delete(ask.account(), ask.id).await?;
    reply::ok(&Deleted::new(ask.id))
}

/// `GET /v1/conversations/{id}/scenario`
async fn of_conversation(ask: Ask<ConversationsRead, ConversationId>) -> Reply {
    let scenarios = ask.services().scenarios();
    let (agent_id, scenario) = scenarios.of_conversation(ask.account(), ask.id).await?;
    reply::ok(&DraftedScenario { agent_id, scenario })
}

/// `GET /v1/agents/{id}/test-runs`
async fn runs(ask: Ask<AgentsRead, AgentId, Listing<()>>) -> Reply {
    let page = ask.query.page_request(TestRunId::from_uuid);
    let scenarios = ask.services().scenarios();
    let found = scenarios.runs(ask.account(), ask.id, page).await?;
    ask.query
        .answer(&found, |run| (run.created_at, run.id.uuid()), TestRunView)
}

/// `POST /v1/agents/{id}/test-runs`
async fn run(ask: Ask<AgentsWrite, AgentId, (), Json>) -> Reply {
    let scenarios = ask.services().scenarios();
    let progress = scenarios.run(&ask.caller, ask.id, &ask.body).await?;
    reply::created(&TestRunView(&progress.run))
}

/// `GET /v1/agents/{id}/test-runs/{run}`
async fn progress(ask: Ask<AgentsRead, RunPath>) -> Reply {
    let RunPath { agent, run } = ask.id;
    let scenarios = ask.services().scenarios();
    let progress = scenarios.progress(&ask.caller, (agent, run)).await?;
    reply::ok(&TestRunDetail(&progress))
}

/// `POST /v1/agents/{id}/test-runs/{run}/cancel`
async fn cancel(ask: Ask<AgentsWrite, RunPath, (), Nothing>) -> Reply {
    let RunPath { agent, run } = ask.id;
    let scenarios = ask.services().scenarios();
    let run = scenarios.cancel(ask.account(), (agent, run)).await?;
    reply::ok(&TestRunView(&run))
}

/// `GET /v1/agents/{id}/test-runs/{run}/events`
async fn events(ask: Ask<AgentsRead, RunPath, (), Resume>) -> Reply {
    let RunPath { agent, run } = ask.id;
    let scenarios = ask.services().scenarios();
    scenarios.progress(&ask.caller, (agent, run)).await?;
    let followed = scenarios.follow(&ask.caller, run);
    streams::of_test_run(&ask.state, &ask.caller, &ask.body, followed).await
}
