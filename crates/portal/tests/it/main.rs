//! Tests the portal over a running service, as a browser without script sees it.

mod account;
mod agent_settings;
mod agents;
mod analyses;
mod answers;
mod calls;
mod developers;
mod dialing;
mod drafts;
mod form;
mod integrations;
mod integrations_attacked;
mod integrations_in_calls;
mod knowledge;
mod passkeys;
mod seeing;
mod sessions;
mod shell;
mod sign_in;
mod single_sign_on;
mod spanish;
mod stock;
mod studio;
mod troubles;
mod two_browsers;
mod world;
