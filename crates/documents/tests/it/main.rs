//! Files as people and attackers send them.

// `cfg(test)` tells clippy that helpers of tests are tests.
#[cfg(test)]
mod files;
