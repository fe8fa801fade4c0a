//! `/v1/agents/{id}/analysis-schema`: the data to extract from an agent's ended conversations.

use crate::prelude::*;
use crate::request::ask::{AgentsRead, AgentsWrite};
use crate::wire::analysis::AnalysisSchemaBody;

pub(crate) fn routes() -> Vec<Endpoint> {
    vec![
        Endpoint::at("/v1/agents/{id}/analysis-schema")
            .get(get)
            .put(set),
    ]
}

/// `GET /v1/agents/{id}/analysis-schema`
async fn get(ask: Ask<AgentsRead, AgentId>) -> Reply {
    let analyses = ask.services().analyses();
    let schema = analyses.schema(ask.account(), ask.id).await?;
    reply::ok(&AnalysisSchemaBody(&schema))
}

/// `PUT /v1/agents/{id}/analysis-schema`
async fn set(ask: Ask<AgentsWrite, AgentId, (), Json>) -> Reply {
    let analyses = ask.services().analyses();
    let schema = analyses
        .set_schema(ask.account(), ask.id, &ask.body)
        .await?;
    reply::ok(&AnalysisSchemaBody(&schema))
}
