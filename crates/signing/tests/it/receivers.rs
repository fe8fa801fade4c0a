//! Libraries for headers of the form `t=…,v1=…` accept our headers unchanged.

use ring::hmac;

use crate::it::vectors::{self, Vector};

/// The algorithm of Stripe's libraries, step by step: items split at `,`, key and value at `=`; the first `t`, all
/// `v1`; HMAC-SHA256 of `<t>.<payload>` keyed by the whole secret text; a comparison of hexadecimal texts.
fn stripe_accepts(header: &str, payload: &str, secret: &str, now: i64, tolerance: i64) -> bool {
    let items: Vec<(&str, &str)> = header
        .split(',')
        .filter_map(|item| item.split_once('='))
        .collect();
    let Some(timestamp) = items
        .iter()
        .find(|(key, _)| *key == "t")
        .and_then(|(_, t)| t.parse::<i64>().ok())
    else {
        return false;
    };
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes());
    let expected = hex::encode(hmac::sign(
        &key,
        format!("{timestamp}.{payload}").as_bytes(),
    ));
    let matches = items
        .iter()
        .any(|(key, value)| *key == "v1" && *value == expected);
    matches && timestamp >= now - tolerance
}

#[test]
fn a_stripe_receiver_accepts_every_vector_with_each_secret() {
    for Vector {
        name,
        secrets,
        t,
        body,
        header,
    } in vectors::all()
    {
        for secret in &secrets {
            assert!(
                stripe_accepts(&header, &body, secret.expose(), t + 300, 300),
                "{name}"
            );
            assert!(
                !stripe_accepts(&header, &body, secret.expose(), t + 301, 300),
                "{name}"
            );
            assert!(
                !stripe_accepts(&header, &format!("{body} "), secret.expose(), t, 300),
                "{name}"
            );
        }
    }
}
