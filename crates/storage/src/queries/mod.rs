//! Queries, written once. `Conn` and `Db` are the parent's: this folder is compiled for SQLite and for PostgreSQL.

pub(crate) mod accounts;
pub(crate) mod agents;
pub(crate) mod batch_looks;
pub(crate) mod batches;
pub(crate) mod calls;
pub(crate) mod claims;
pub(crate) mod conversations;
pub(crate) mod credentials;
pub(crate) mod deliveries;
pub(crate) mod dispatch;
pub(crate) mod endpoints;
pub(crate) mod events;
pub(crate) mod health;
pub(crate) mod idempotency;
pub(crate) mod integrations;
pub(crate) mod legacy;
pub(crate) mod nodes;
pub(crate) mod numbers;
pub(crate) mod rechecks;
pub(crate) mod retention;
pub(crate) mod team;
pub(crate) mod tools;
pub(crate) mod wallets;
