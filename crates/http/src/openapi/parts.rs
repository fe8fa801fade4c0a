//! The operations and schemas of each resource.

mod account;
mod agent_settings;
mod agents;
mod analyses;
mod batches;
mod billing;
mod calls;
mod campaigns;
mod conversations;
mod gate;
mod integrations;
mod knowledge;
mod logs;
mod numbers;
mod scenarios;
mod team;
mod tools;
mod voices;
mod webhooks;
mod widgets;

use offhook_services::bodies;

use super::body;
use super::operations::{
    Access, Answer, Operation, header, last_event_id, operations, paging, period, query,
};
use super::schemas::*;
use crate::prelude::*;

/// Every operation, in the order of the document.
pub(super) fn operations() -> Vec<Operation> {
    [
        account::operations(),
        agents::operations(),
        agent_settings::operations(),
        widgets::operations(),
        analyses::operations(),
        scenarios::operations(),
        tools::operations(),
        billing::operations(),
        calls::operations(),
        gate::operations(),
        conversations::operations(),
        numbers::operations(),
        batches::operations(),
        campaigns::operations(),
        logs::operations(),
        voices::operations(),
        knowledge::operations(),
        webhooks::operations(),
        integrations::operations(),
        team::operations(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Every schema of a body, by its name.
pub(super) fn schemas() -> Vec<(&'static str, Value)> {
    [
        account::schemas(),
        agents::schemas(),
        agent_settings::schemas(),
        widgets::schemas(),
        analyses::schemas(),
        scenarios::schemas(),
        tools::schemas(),
        billing::schemas(),
        conversations::schemas(),
        gate::schemas(),
        numbers::schemas(),
        batches::schemas(),
        campaigns::schemas(),
        logs::schemas(),
        voices::schemas(),
        knowledge::schemas(),
        webhooks::schemas(),
        integrations::schemas(),
        team::schemas(),
    ]
    .into_iter()
    .flatten()
    .collect()
}
