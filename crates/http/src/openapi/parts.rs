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
    Access, Answer, Operation, header, last_event_id, operations, paging, period, query, schemas,
};
use super::schemas::*;
use crate::prelude::*;

type Schemas = Vec<(&'static str, Value)>;

type Part = (fn() -> Vec<Operation>, fn() -> Schemas);

/// The operations and schemas of each resource, in the order of the document. Calls are shown as conversations are.
const PARTS: [Part; 20] = [
    (account::operations, account::schemas),
    (agents::operations, agents::schemas),
    (agent_settings::operations, agent_settings::schemas),
    (widgets::operations, widgets::schemas),
    (analyses::operations, analyses::schemas),
    (scenarios::operations, scenarios::schemas),
    (tools::operations, tools::schemas),
    (billing::operations, billing::schemas),
    (calls::operations, conversations::schemas),
    (gate::operations, gate::schemas),
    (conversations::operations, Vec::new),
    (numbers::operations, numbers::schemas),
    (batches::operations, batches::schemas),
    (campaigns::operations, campaigns::schemas),
    (logs::operations, logs::schemas),
    (voices::operations, voices::schemas),
    (knowledge::operations, knowledge::schemas),
    (webhooks::operations, webhooks::schemas),
    (integrations::operations, integrations::schemas),
    (team::operations, team::schemas),
];

/// Every operation.
pub(super) fn operations() -> Vec<Operation> {
    let all = PARTS.iter().flat_map(|(operations, _)| operations());
    all.collect()
}

/// Every schema of a body, by its name.
pub(super) fn schemas() -> Schemas {
    let all = PARTS.iter().flat_map(|(_, schemas)| schemas());
    all.collect()
}
