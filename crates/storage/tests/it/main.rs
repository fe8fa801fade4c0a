//! The store, on SQLite and on PostgreSQL.

// Tells clippy that test helpers are tests.
#![cfg(test)]

mod account_voices;
mod agent_settings;
mod agents;
mod analyses;
mod batches;
mod billing;
mod campaigns;
mod cancelling;
mod chats;
mod claiming;
mod closing;
mod conversation_retention;
mod delivery_claims;
mod delivery_pages;
mod dialing;
mod documents;
mod embeddings;
mod endpoint_looks;
mod endpoints;
mod figures;
mod filters;
mod inbound;
mod integrations;
mod jobs;
mod keys;
mod legacy;
mod legacy_reports;
mod live_calls;
mod logs;
mod names;
mod notes;
mod numbers;
mod opening;
mod outcomes;
mod overview;
mod paging;
mod people;
mod pgbouncer;
mod placing;
mod plans;
mod raw;
mod resilience;
mod retention;
mod schema;
mod sealed;
mod sharing;
mod shop;
mod talks;
mod tools;
mod trials;
mod voices;
mod wallets;
mod whatsapp;
