//! The store, on SQLite and on PostgreSQL.

// `cfg(test)` tells clippy that helpers of tests are tests.
#[cfg(test)]
mod account_voices;
#[cfg(test)]
mod agents;
#[cfg(test)]
mod analyses;
#[cfg(test)]
#[cfg(test)]
mod batches;
#[cfg(test)]
mod billing;
#[cfg(test)]
mod cancelling;
#[cfg(test)]
mod chats;
#[cfg(test)]
mod claiming;
#[cfg(test)]
mod closing;
#[cfg(test)]
mod conversation_retention;
#[cfg(test)]
mod delivery_claims;
#[cfg(test)]
mod delivery_pages;
#[cfg(test)]
mod documents;
#[cfg(test)]
mod embeddings;
#[cfg(test)]
mod endpoint_looks;
#[cfg(test)]
mod endpoints;
#[cfg(test)]
mod figures;
#[cfg(test)]
mod filters;
#[cfg(test)]
#[cfg(test)]
mod inbound;
#[cfg(test)]
mod integration_tokens;
#[cfg(test)]
mod integrations;
#[cfg(test)]
mod jobs;
#[cfg(test)]
mod keys;
#[cfg(test)]
mod legacy;
#[cfg(test)]
mod legacy_reports;
#[cfg(test)]
mod live_calls;
#[cfg(test)]
mod logs;
#[cfg(test)]
mod names;
#[cfg(test)]
mod numbers;
#[cfg(test)]
mod opening;
#[cfg(test)]
mod overview;
#[cfg(test)]
mod paging;
#[cfg(test)]
mod people;
#[cfg(test)]
mod placing;
#[cfg(test)]
mod plans;
#[cfg(test)]
mod raw;
#[cfg(test)]
mod resilience;
#[cfg(test)]
mod retention;
#[cfg(test)]
mod schema;
#[cfg(test)]
mod sealed;
#[cfg(test)]
mod sharing;
#[cfg(test)]
mod shop;
#[cfg(test)]
mod talks;
#[cfg(test)]
mod team;
mod tools;
#[cfg(test)]
mod voices;
#[cfg(test)]
mod wallets;
#[cfg(test)]
mod whatsapp;
