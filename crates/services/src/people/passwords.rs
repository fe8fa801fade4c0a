//! Passwords: their rules (NIST SP 800-63B) and their storage (argon2id with OWASP's minimum memory).

use std::sync::OnceLock;

use crate::Result;
use crate::prelude::*;

use argon2::password_hash::{PasswordHash, PasswordHasher, PasswordVerifier, SaltString};
use argon2::{Algorithm, Argon2, Params, Version};
use ring::rand::{SecureRandom, SystemRandom};
use tokio::sync::Semaphore;
use unicode_normalization::UnicodeNormalization as _;

/// The allowed lengths: too long to guess in a few tries, and no longer than a passphrase needs (NIST SP 800-63B,
/// 5.1.1.2).
pub const PASSWORD_LENGTHS: std::ops::RangeInclusive<usize> = 12..=256;

/// KiB per hash: with [`PASSES`] and [`LANES`] the second choice of OWASP's password storage cheat sheet.
const MEMORY_KIB: u32 = 19 * 1024;
const PASSES: u32 = 2;
const LANES: u32 = 1;

/// Concurrent hashes. This bounds their memory and leaves the other processors to calls.
const AT_ONCE: usize = 2;

/// Hashes waiting or running at once; more are refused.
const IN_LINE: usize = 64;

/// Random bytes of a salt.
const SALT_BYTES: usize = 16;

/// Why a password is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PasswordFault {
    /// It has fewer characters than [`PASSWORD_LENGTHS`].
    #[error("must have at least 12 characters")]
    TooShort,
    #[error("must have at most 256 characters")]
    TooLong,
    /// It is the user's own address.
    #[error("must not be the e-mail address")]
    IsAddress,
}

/// Hashes and verifies passwords, a few at once.
#[derive(Clone)]
pub(super) struct Passwords {
    working: Arc<Semaphore>,
    in_line: Arc<Semaphore>,
    /// The hash to verify an unknown address against, so that it takes as long as a known one.
    nobodys: Arc<OnceLock<String>>,
}

impl Default for Passwords {
    fn default() -> Self {
        Self {
            working: Arc::new(Semaphore::new(AT_ONCE)),
            in_line: Arc::new(Semaphore::new(IN_LINE)),
            nobodys: Arc::default(),
        }
    }
}

/// Too many passwords are being verified.
#[derive(Debug)]
pub(super) struct Crowded;

/// Checks a new password.
pub(super) fn check(password: &str, email: &EmailAddress) -> Result<(), PasswordFault> {
    let length = password.chars().count();
    if length < *PASSWORD_LENGTHS.start() {
        return Err(PasswordFault::TooShort);
    }
    if length > *PASSWORD_LENGTHS.end() {
        return Err(PasswordFault::TooLong);
    }
    if password.trim().to_lowercase() == email.as_str() {
        return Err(PasswordFault::IsAddress);
    }
    Ok(())
}

impl Passwords {
    /// The hash of a password, in PHC form.
    pub(super) async fn hash(&self, password: &str) -> Result<String> {
        let password = normal(password);
        // A user who sets a password has a link or has signed in: these requests all wait.
        let permit = self.working.clone().acquire_owned().await;
        let hashed = tokio::task::spawn_blocking(move || {
            let hashed = hash(&password);
            drop(permit);
            hashed
        });
        hashed
            .await
            .map_err(|error| StoreError::Internal(error.to_string()))?
    }

    /// Whether the password has this hash. Without a hash it is `false`, after the same time.
    pub(super) async fn verify(
        &self,
        password: &str,
        hash: Option<String>,
    ) -> Result<Result<bool, Crowded>> {
        let Ok(place) = self.in_line.clone().try_acquire_owned() else {
            return Ok(Err(Crowded));
        };
        let password = normal(password);
        let nobodys = self.nobodys.clone();
        let permit = self.working.clone().acquire_owned().await;
        let verified = tokio::task::spawn_blocking(move || {
            let verified = match hash {
                Some(hash) => verify(&password, &hash),
                None => {
                    nobodys_hash(&nobodys).and_then(|hash| verify(&password, &hash).map(|_| false))
                }
            };
            drop((permit, place));
            verified
        });
        let verified = verified.await;
        let verified = verified.map_err(|error| StoreError::Internal(error.to_string()))??;
        Ok(Ok(verified))
    }
}

/// A password is the same however the keyboard composes its letters (NIST SP 800-63B, 5.1.1.2).
fn normal(password: &str) -> String {
    password.nfkc().collect()
}

fn nobodys_hash(kept: &OnceLock<String>) -> Result<String> {
    if let Some(hash) = kept.get() {
        return Ok(hash.clone());
    }
    let hash = hash("nobody's")?;
    Ok(kept.get_or_init(|| hash).clone())
}

fn hasher() -> Result<Argon2<'static>> {
    let params = Params::new(MEMORY_KIB, PASSES, LANES, None).map_err(failed)?;
    Ok(Argon2::new(Algorithm::Argon2id, Version::V0x13, params))
}

fn hash(password: &str) -> Result<String> {
    let mut salt = [0; SALT_BYTES];
    SystemRandom::new()
        .fill(&mut salt)
        .map_err(|_| StoreError::Internal("the system gives no randomness".to_owned()))?;
    let salt = SaltString::encode_b64(&salt).map_err(failed)?;
    let hash = hasher()?.hash_password(password.as_bytes(), &salt);
    Ok(hash.map_err(failed)?.to_string())
}

/// Uses the parameters in the hash: a hash made with others stays valid.
fn verify(password: &str, hash: &str) -> Result<bool> {
    let parsed = PasswordHash::new(hash)
        .map_err(|error| StoreError::Corrupt(format!("a stored password: {error}")))?;
    Ok(hasher()?
        .verify_password(password.as_bytes(), &parsed)
        .is_ok())
}

fn failed(error: impl std::fmt::Display) -> StoreError {
    StoreError::Internal(format!("argon2: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_long_and_not_the_address_and_may_be_anything_else() {
        let email: EmailAddress = "somebody@example.com".parse().unwrap();
        for (password, expected) in [
            ("eleven char", Err(PasswordFault::TooShort)),
            ("añoñuñéñíóú", Err(PasswordFault::TooShort)),
            ("            ", Ok(())),
            ("twelve chars", Ok(())),
            ("Somebody@Example.com", Err(PasswordFault::IsAddress)),
        ] {
            assert_eq!(check(password, &email), expected, "{password}");
        }
        assert_eq!(check(&"ñ".repeat(256), &email), Ok(()));
        assert_eq!(check(&"ñ".repeat(257), &email), Err(PasswordFault::TooLong));
    }

    #[tokio::test]
    async fn a_password_is_kept_as_argon2id_with_a_salt_of_its_own() {
        let passwords = Passwords::default();
        let (one, other) = (
            passwords.hash("correct horse battery").await.unwrap(),
            passwords.hash("correct horse battery").await.unwrap(),
        );
        assert!(one.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{one}");
        assert_ne!(one, other);
        let is = async |password: &str, hash: Option<&str>| {
            let verified = passwords.verify(password, hash.map(str::to_owned)).await;
            verified.unwrap().unwrap()
        };
        assert!(is("correct horse battery", Some(&one)).await);
        assert!(!is("correct horse batterz", Some(&one)).await);
        assert!(!is("nobody's", None).await);
        assert!(
            passwords
                .verify("x", Some("plain".to_owned()))
                .await
                .is_err()
        );
    }
}
