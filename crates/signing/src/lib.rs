#![doc = include_str!("../README.md")]
#![warn(missing_docs)]

mod secret;
mod signature;

pub use secret::{
    InvalidSecret, RandomUnavailable, SECRET_PREFIX, SHOWN_PREFIX_CHARS, SigningSecret,
};
pub use signature::{
    DEFAULT_TOLERANCE_SECONDS, MAX_SIGNATURES, SIGNATURE_HEADER, VerifyError, sign, verify,
};

// Unit tests and the tests in `tests/it` are one binary. The latter only use the public API.
#[cfg(test)]
#[path = "../tests/it/main.rs"]
mod it;
