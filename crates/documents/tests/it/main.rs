//! Files as people and attackers send them.

// It tells clippy that helpers of tests are tests.
#![cfg(test)]

mod files;
