//! Secrets at rest: AES-256-GCM under the master key, a random nonce, the row's id as associated data.

use std::fmt;

use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::digest::{SHA256, digest};
use ring::rand::{SecureRandom, SystemRandom};

use crate::{Result, StoreError};

pub const MASTER_KEY_LEN: usize = 32;

/// The key that seals secrets. It never leaves the process; the database stores only its fingerprint.
#[derive(Clone)]
pub struct MasterKey {
    key: LessSafeKey,
    fingerprint: String,
    /// Keys that secrets may still be sealed with, each with its fingerprint.
    previous: Vec<(LessSafeKey, String)>,
}

impl MasterKey {
    /// The key with these bytes.
    pub fn from_bytes(bytes: &[u8; MASTER_KEY_LEN]) -> Result<Self> {
        let key = UnboundKey::new(&AES_256_GCM, bytes)
            .map_err(|_| StoreError::Internal("the master key is unusable".into()))?;
        let mut labelled = b"offhook master key fingerprint".to_vec();
        labelled.extend_from_slice(bytes);
        let fingerprint = digest(&SHA256, &labelled).as_ref()[..8]
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        Ok(Self {
            key: LessSafeKey::new(key),
            fingerprint,
            previous: Vec::new(),
        })
    }

    /// The same key, which also opens secrets that an earlier key has sealed.
    #[must_use]
    pub fn or_earlier(mut self, earlier: Self) -> Self {
        self.previous.push((earlier.key, earlier.fingerprint));
        self.previous.extend(earlier.previous);
        self
    }

    /// Whether this is the key with that fingerprint, or knows it as an earlier one.
    pub(crate) fn knows(&self, fingerprint: &str) -> bool {
        let earlier = self.previous.iter();
        self.fingerprint == fingerprint || earlier.map(|(_, of)| of).any(|of| of == fingerprint)
    }

    /// Random bytes for a new key.
    pub fn generate_bytes() -> Result<[u8; MASTER_KEY_LEN]> {
        let mut bytes = [0; MASTER_KEY_LEN];
        SystemRandom::new()
            .fill(&mut bytes)
            .map_err(|_| StoreError::Internal("no randomness to be had".into()))?;
        Ok(bytes)
    }

    /// Sixteen hexadecimal digits that distinguish keys and reveal nothing of the key.
    #[must_use]
    pub fn fingerprint(&self) -> &str {
        &self.fingerprint
    }

    pub(crate) fn seal(&self, secret: &str, row: &uuid::Uuid) -> Result<Vec<u8>> {
        let mut nonce = [0; NONCE_LEN];
        let failed = || StoreError::Internal("sealing failed".into());
        SystemRandom::new().fill(&mut nonce).map_err(|_| failed())?;
        let mut sealed = secret.as_bytes().to_vec();
        self.key
            .seal_in_place_append_tag(
                Nonce::assume_unique_for_key(nonce),
                Aad::from(row.as_bytes()),
                &mut sealed,
            )
            .map_err(|_| failed())?;
        Ok([nonce.as_slice(), &sealed].concat())
    }

    pub(crate) fn open(&self, sealed: &[u8], row: &uuid::Uuid) -> Result<String> {
        let earlier = self.previous.iter().map(|(key, _)| key);
        std::iter::once(&self.key)
            .chain(earlier)
            .find_map(|key| Self::open_by(key, sealed, row))
            .ok_or_else(|| StoreError::corrupt("a sealed secret does not open"))
    }

    /// Seals the secret with this key. `None` if this key has sealed it already, whatever earlier ones it knows.
    pub(crate) fn reseal(&self, sealed: &[u8], row: &uuid::Uuid) -> Result<Option<Vec<u8>>> {
        if Self::open_by(&self.key, sealed, row).is_some() {
            return Ok(None);
        }
        self.seal(&self.open(sealed, row)?, row).map(Some)
    }

    fn open_by(key: &LessSafeKey, sealed: &[u8], row: &uuid::Uuid) -> Option<String> {
        let (nonce, ciphertext) = sealed.split_at_checked(NONCE_LEN)?;
        let nonce = Nonce::try_assume_unique_for_key(nonce).ok()?;
        let mut buffer = ciphertext.to_vec();
        let plain = key.open_in_place(nonce, Aad::from(row.as_bytes()), &mut buffer);
        String::from_utf8(plain.ok()?.to_vec()).ok()
    }
}

impl fmt::Debug for MasterKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MasterKey({})", self.fingerprint)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_opens_only_for_its_own_row_and_key() {
        let key = MasterKey::from_bytes(&[7; 32]).unwrap();
        let other = MasterKey::from_bytes(&[8; 32]).unwrap();
        let (row, another) = (uuid::Uuid::from_u128(1), uuid::Uuid::from_u128(2));
        let sealed = key.seal("whsec_x", &row).unwrap();
        assert_eq!(key.open(&sealed, &row).unwrap(), "whsec_x");
        assert!(key.open(&sealed, &another).is_err());
        assert!(other.open(&sealed, &row).is_err());
        assert!(key.open(&sealed[..5], &row).is_err());
        assert_ne!(key.seal("whsec_x", &row).unwrap(), sealed, "nonces differ");
        assert_ne!(key.fingerprint(), other.fingerprint());
    }
}
