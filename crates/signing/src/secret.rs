//! The secret that an endpoint and its receiver share.

use std::fmt;
use std::str::FromStr;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::hmac;
use ring::rand::SecureRandom;

/// The prefix of every secret.
pub const SECRET_PREFIX: &str = "whsec_";

/// How many characters of a secret may be shown to tell it from others: see [`SigningSecret::prefix`].
pub const SHOWN_PREFIX_CHARS: usize = 12;

const RANDOM_BYTES: usize = 32;

/// A signing secret: `whsec_` and 32 random bytes in base64url without padding, 49 characters.
///
/// The key of the signature is the whole text, `whsec_` included. `Debug` does not print it.
#[derive(Clone)]
pub struct SigningSecret(Box<str>);

impl SigningSecret {
    /// Makes a secret from 32 bytes of `random`.
    ///
    /// # Errors
    ///
    /// [`RandomUnavailable`]: the system's source of randomness failed.
    pub fn generate(random: &dyn SecureRandom) -> Result<Self, RandomUnavailable> {
        let mut bytes = [0; RANDOM_BYTES];
        random.fill(&mut bytes).map_err(|_| RandomUnavailable)?;
        Ok(Self(
            format!("{SECRET_PREFIX}{}", URL_SAFE_NO_PAD.encode(bytes)).into(),
        ))
    }

    /// The whole secret, to be shown once or stored encrypted.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// The first [`SHOWN_PREFIX_CHARS`] characters: enough to tell secrets apart, useless for signing.
    #[must_use]
    pub fn prefix(&self) -> &str {
        &self.0[..SHOWN_PREFIX_CHARS]
    }

    pub(crate) fn key(&self) -> hmac::Key {
        hmac::Key::new(hmac::HMAC_SHA256, self.0.as_bytes())
    }
}

impl FromStr for SigningSecret {
    type Err = InvalidSecret;

    fn from_str(text: &str) -> Result<Self, InvalidSecret> {
        let encoded = text.strip_prefix(SECRET_PREFIX).ok_or(InvalidSecret)?;
        let bytes = URL_SAFE_NO_PAD.decode(encoded).map_err(|_| InvalidSecret)?;
        if bytes.len() != RANDOM_BYTES {
            return Err(InvalidSecret);
        }
        Ok(Self(text.into()))
    }
}

impl fmt::Debug for SigningSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SigningSecret(redacted)")
    }
}

/// The text is not a signing secret. The error does not repeat the text, which may be a secret with a typo.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InvalidSecret;

impl fmt::Display for InvalidSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a signing secret is `whsec_` and 43 characters of base64url")
    }
}

impl std::error::Error for InvalidSecret {}

/// The system's source of randomness failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RandomUnavailable;

impl fmt::Display for RandomUnavailable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the system's source of randomness failed")
    }
}

impl std::error::Error for RandomUnavailable {}
