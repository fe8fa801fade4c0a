//! The figures, as those who read them have them.

// `cfg(test)` tells clippy that helpers of tests are tests.
#[cfg(test)]
mod used;
