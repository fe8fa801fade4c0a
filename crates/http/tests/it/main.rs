//! The REST adapter from outside: a real server on a real database, spoken to over TCP.

mod agents;
mod app;
mod batches;
mod billing;
mod bodies;
mod calls;
mod checks;
mod client;
mod config_effects;
mod contract;
mod conversations;
mod edge;
mod integrations;
mod knowledge;
mod legacy;
mod limits;
mod lists;
mod logs;
mod numbers;
mod retention;
mod stream;
mod team;
mod tools;
mod voices;
mod webhooks;
