//! The route table: the handler of each path and method.

use actix_web::web::{self, ServiceConfig};

use crate::callbacks;
use crate::edge::paths::MCP;
use crate::endpoints::{
    account, agent_settings, agents, analyses, batches, billing, calls, campaigns, conversations,
    docs, gate, integrations, knowledge, logs, models, numbers, process, scenarios, team, tools,
    versions, voices, webhooks, widget_door, widget_files, widget_sessions, widgets,
};
use crate::error::ApiError;
use crate::mcp;
use crate::prelude::*;

/// Every path. Within a resource, fixed paths come before paths with an id in the same place.
pub(crate) fn table() -> Vec<Endpoint> {
    [
        account::routes(),
        models::routes(),
        tools::routes(),
        agents::routes(),
        agent_settings::routes(),
        versions::routes(),
        widgets::routes(),
        analyses::routes(),
        gate::routes(),
        billing::routes(),
        calls::routes(),
        conversations::routes(),
        knowledge::routes(),
        numbers::routes(),
        batches::routes(),
        campaigns::routes(),
        scenarios::routes(),
        logs::routes(),
        voices::routes(),
        webhooks::routes(),
        integrations::routes(),
        team::routes(),
        widget_files::routes(),
        widget_door::routes(),
        widget_sessions::routes(),
        process::routes(),
        docs::routes(),
        callbacks::routes(),
        vec![Endpoint::at(MCP).post(mcp::untranslated)],
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Adds every path. All other paths get 404 in the error envelope.
pub(crate) fn add(config: &mut ServiceConfig) {
    let mut table = table();
    // The router tries each in turn: matching an id costs more than comparing a fixed path.
    table.sort_by_key(|endpoint| endpoint.path.contains('{'));
    for endpoint in table {
        endpoint.add(config);
    }
    config.default_service(web::to(|| async {
        Err::<HttpResponse, _>(ApiError::not_found())
    }));
}
