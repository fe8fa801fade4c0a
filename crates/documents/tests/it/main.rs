//! Files from honest people and from attackers.

// Tells clippy that test helpers are tests.
#![cfg(test)]

mod files;
