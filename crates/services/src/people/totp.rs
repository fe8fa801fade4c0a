//! Time-based one-time codes (RFC 6238): six digits of HMAC-SHA-1, a new code every 30 seconds, as every authenticator
//! app makes them.

use offhook_domain::Timestamp;
use ring::hmac;

/// Bytes of a secret (RFC 4226, 4: as long as the hash).
pub(super) const SECRET_BYTES: usize = 20;

/// Seconds for which a code is shown.
const STEP_SECONDS: i64 = 30;

/// Digits of a code.
pub(super) const DIGITS: usize = 6;

/// How many steps a phone's clock may be wrong in either direction.
const CLOCK_STEPS: i64 = 1;

/// The alphabet in which apps read a secret (RFC 4648, base 32).
const ALPHABET: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/// The code of a time step.
fn code(secret: &[u8], step: i64) -> String {
    let key = hmac::Key::new(hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY, secret);
    let tag = hmac::sign(&key, &step.to_be_bytes());
    let bytes = tag.as_ref();
    // Dynamic truncation (RFC 4226, 5.3).
    let offset = bytes.last().map_or(0, |last| usize::from(last & 0xf));
    let word = bytes.iter().skip(offset).take(4);
    let number = word.fold(0_u32, |number, byte| number << 8 | u32::from(*byte));
    format!("{:0DIGITS$}", (number & 0x7fff_ffff) % 1_000_000)
}

/// The time step of a code that is valid at `now`.
pub(super) fn step_of(secret: &[u8], typed: &str, now: Timestamp) -> Option<i64> {
    let present = now.unix_seconds() / STEP_SECONDS;
    let mut steps = present - CLOCK_STEPS..=present + CLOCK_STEPS;
    steps.find(|step| code(secret, *step) == typed)
}

/// A secret as it is typed into an app, in groups of four characters.
pub(super) fn key(secret: &[u8; SECRET_BYTES]) -> String {
    let mut key = String::new();
    // Five bytes are eight characters.
    for five in secret.chunks(5) {
        let bits = five
            .iter()
            .fold(0, |bits, byte| bits << 8 | u64::from(*byte));
        for place in (0..8).rev() {
            if place % 4 == 3 && !key.is_empty() {
                key.push(' ');
            }
            let index = usize::try_from(bits >> (5 * place) & 31).unwrap_or_default();
            key.push(char::from(ALPHABET[index]));
        }
    }
    key
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &[u8; SECRET_BYTES] = b"12345678901234567890";

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_micros(seconds * 1_000_000)
    }

    #[test]
    fn the_codes_are_those_of_rfc_6238() {
        for (seconds, expected) in [
            (59, "287082"),
            (1_111_111_109, "081804"),
            (1_111_111_111, "050471"),
            (1_234_567_890, "005924"),
            (2_000_000_000, "279037"),
            (20_000_000_000, "353130"),
        ] {
            let step = seconds / STEP_SECONDS;
            assert_eq!(code(SECRET, step), expected);
            assert_eq!(step_of(SECRET, expected, at(seconds)), Some(step));
        }
    }

    #[test]
    fn a_code_is_valid_a_step_early_and_a_step_late() {
        let code = code(SECRET, 100);
        for (seconds, is_valid) in [(2_969, false), (2_970, true), (3_059, true), (3_060, false)] {
            let found = step_of(SECRET, &code, at(seconds));
            assert_eq!(found, is_valid.then_some(100), "{seconds}");
        }
    }

    #[test]
    fn a_key_is_the_secret_in_base_32() {
        assert_eq!(key(SECRET), "GEZD GNBV GY3T QOJQ GEZD GNBV GY3T QOJQ");
    }
}
