//! The signature of one delivery.

use std::fmt;

use ring::hmac;

use crate::SigningSecret;

/// The header that carries the signature.
pub const SIGNATURE_HEADER: &str = "X-Service-Signature";

/// The default for how far `t` may differ from the receiver's clock, either way.
pub const DEFAULT_TOLERANCE_SECONDS: u64 = 300;

/// [`verify`] refuses a header with more `v1` than this, since each costs a pass over the body. Offhook sends at most
/// six.
pub const MAX_SIGNATURES: usize = 16;

const SIGNATURE_BYTES: usize = 32;

/// The value of `X-Service-Signature` for `body`, sent at `sent_at_unix_seconds`: `t=<seconds>,v1=<hex>`, with one
/// `v1` for each of `secrets` in their order (put the newest last).
///
/// The signature covers `<seconds>.<body>`, so an attacker cannot resend a captured body with a fresh time. Without
/// secrets there is no `v1`, and no receiver accepts that.
#[must_use]
pub fn sign(secrets: &[SigningSecret], sent_at_unix_seconds: i64, body: &[u8]) -> String {
    let time = sent_at_unix_seconds.to_string();
    let mut header = format!("t={time}");
    for secret in secrets {
        let mut signing = hmac::Context::with_key(&secret.key());
        signing.update(time.as_bytes());
        signing.update(b".");
        signing.update(body);
        header.push_str(",v1=");
        header.push_str(&hex::encode(signing.sign()));
    }
    header
}

/// Checks that `header` is a signature of `body` by `secret`, made within `tolerance_seconds` of `now_unix_seconds`.
///
/// `body` is the request's body as received, before any parsing. One matching `v1` is enough. Elements other than `t`
/// and `v1` are reserved for future schemes and ignored. Signatures are compared in constant time.
///
/// # Errors
///
/// See [`VerifyError`]. Respond with 400 and do not act on the request.
pub fn verify(
    header: &str,
    body: &[u8],
    secret: &SigningSecret,
    now_unix_seconds: i64,
    tolerance_seconds: u64,
) -> Result<(), VerifyError> {
    let Elements {
        time,
        sent_at,
        signatures,
    } = Elements::parse(header)?;
    if now_unix_seconds.abs_diff(sent_at) > tolerance_seconds {
        return Err(VerifyError::OutsideTolerance);
    }
    let signed = [time.as_bytes(), b".", body].concat();
    let key = secret.key();
    if signatures
        .iter()
        .any(|signature| hmac::verify(&key, &signed, signature).is_ok())
    {
        Ok(())
    } else {
        Err(VerifyError::NoMatch)
    }
}

struct Elements<'a> {
    /// `t` as sent, which is what the signature covers.
    time: &'a str,
    sent_at: i64,
    signatures: Vec<[u8; SIGNATURE_BYTES]>,
}

impl<'a> Elements<'a> {
    fn parse(header: &'a str) -> Result<Self, VerifyError> {
        let mut time = None;
        let mut signatures = Vec::new();
        for element in header.split(',') {
            match element.split_once('=').ok_or(VerifyError::Malformed)? {
                ("t", value) => {
                    let sent_at = parse_seconds(value).ok_or(VerifyError::Malformed)?;
                    if time.replace((value, sent_at)).is_some() {
                        return Err(VerifyError::Malformed);
                    }
                }
                ("v1", value) => {
                    let mut signature = [0; SIGNATURE_BYTES];
                    hex::decode_to_slice(value, &mut signature)
                        .map_err(|_| VerifyError::Malformed)?;
                    signatures.push(signature);
                }
                _ => {}
            }
        }
        let (time, sent_at) = time.ok_or(VerifyError::Malformed)?;
        if signatures.is_empty() || signatures.len() > MAX_SIGNATURES {
            return Err(VerifyError::Malformed);
        }
        Ok(Self {
            time,
            sent_at,
            signatures,
        })
    }
}

/// Only digits: no sign, no space.
fn parse_seconds(text: &str) -> Option<i64> {
    text.bytes()
        .all(|byte| byte.is_ascii_digit())
        .then(|| text.parse().ok())?
}

/// Why a signature was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VerifyError {
    /// The header is not of the form `t=<seconds>,v1=<64 hex digits>[,v1=…]`: an element without `=`, no `t` or two,
    /// a `t` that is not a number of seconds, no `v1` or more than [`MAX_SIGNATURES`], a `v1` that is not 64 hex
    /// digits.
    Malformed,
    /// `t` is too far from the receiver's clock: a replay, or one of the clocks is wrong.
    OutsideTolerance,
    /// No `v1` is the signature of this body and time by this secret.
    NoMatch,
}

impl fmt::Display for VerifyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Malformed => "the signature header is not of the form `t=<seconds>,v1=<hex>`",
            Self::OutsideTolerance => "the signature's time is too far from the present",
            Self::NoMatch => "no signature in the header matches the body and the secret",
        })
    }
}

impl std::error::Error for VerifyError {}
