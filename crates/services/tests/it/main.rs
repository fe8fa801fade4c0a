//! The use cases that decide in a transaction, on SQLite and on PostgreSQL; and the client of tool servers.

// Tells clippy that test helpers are tests.
#![cfg(test)]

mod batches;
mod folders;
mod numbers;
mod team;
mod tool_servers;

#[path = "../../../storage/tests/it/shop.rs"]
#[expect(dead_code, reason = "the store's tests use the rest")]
mod shop;
