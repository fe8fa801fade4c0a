//! The API's handlers. Each takes caller, path, query and body, calls one use case, and returns a wire type.

pub(crate) mod account;
pub(crate) mod agent_settings;
pub(crate) mod agents;
pub(crate) mod analyses;
pub(crate) mod batches;
pub(crate) mod billing;
pub(crate) mod calls;
pub(crate) mod campaigns;
pub(crate) mod conversations;
pub(crate) mod docs;
pub(crate) mod gate;
pub(crate) mod integrations;
pub(crate) mod knowledge;
pub(crate) mod logs;
pub(crate) mod models;
pub(crate) mod numbers;
pub(crate) mod process;
pub(crate) mod team;
pub(crate) mod tools;
pub(crate) mod versions;
pub(crate) mod voices;
pub(crate) mod webhooks;
pub(crate) mod widget_door;
pub(crate) mod widget_files;
pub(crate) mod widget_sessions;
pub(crate) mod widgets;
