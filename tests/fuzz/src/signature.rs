//! The header `X-Service-Signature` as a receiver reads it: the first line is the header, the rest the body.
//!
//! Any input is read without a panic, and an accepted one carries the full HMAC of `<t>.<body>`.

use offhook_signing::{DEFAULT_TOLERANCE_SECONDS, SigningSecret, sign, verify};
use ring::hmac;

const SECRET: &str = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8";
const NOW: i64 = 1_777_573_931;

pub(crate) fn run(data: &[u8]) {
    let secret: SigningSecret = SECRET.parse().expect("a secret");
    let (header, body) = match data.iter().position(|&byte| byte == b'\n') {
        Some(at) => (&data[..at], &data[at + 1..]),
        None => (data, &[][..]),
    };
    let secrets = [secret];
    let ours = sign(&secrets, NOW, body);
    assert_eq!(verify(&ours, body, &secrets[0], NOW, 0), Ok(()), "{ours}");
    let Ok(header) = std::str::from_utf8(header) else {
        return;
    };
    if verify(header, body, &secrets[0], NOW, DEFAULT_TOLERANCE_SECONDS).is_err() {
        return;
    }
    let elements = || {
        header
            .split(',')
            .filter_map(|element| element.split_once('='))
    };
    let time = elements()
        .find(|(name, _)| *name == "t")
        .map(|(_, value)| value);
    let time = time.expect("accepted without a time");
    let sent_at: i64 = time.parse().expect("accepted with a time that is none");
    assert!(
        NOW.abs_diff(sent_at) <= DEFAULT_TOLERANCE_SECONDS,
        "stale: {header}"
    );
    let key = hmac::Key::new(hmac::HMAC_SHA256, SECRET.as_bytes());
    let expected = hex::encode(hmac::sign(&key, &[time.as_bytes(), b".", body].concat()));
    let good = |(name, value): (&str, &str)| name == "v1" && value.eq_ignore_ascii_case(&expected);
    assert!(
        elements().any(good),
        "accepted without the signature: {header}"
    );
}
