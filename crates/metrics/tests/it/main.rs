//! The figures, as those who read them have them.

// It tells clippy that helpers of tests are tests.
#![cfg(test)]

mod used;
