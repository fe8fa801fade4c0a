//! The published vectors, made by `openssl` (see the README).

use offhook_signing::{SigningSecret, sign, verify};
use serde_json::Value;

pub(crate) struct Vector {
    pub(crate) name: String,
    pub(crate) secrets: Vec<SigningSecret>,
    pub(crate) t: i64,
    pub(crate) body: String,
    pub(crate) header: String,
}

pub(crate) fn all() -> Vec<Vector> {
    let vectors: Value =
        serde_json::from_str(include_str!("../../vectors.json")).unwrap_or_default();
    let text = |value: &Value| {
        value
            .as_str()
            .map(str::to_owned)
            .unwrap_or_else(|| panic!("{value} is no string"))
    };
    let secret = |value: &Value| {
        text(value)
            .parse()
            .unwrap_or_else(|error| panic!("{value}: {error}"))
    };
    let vector = |vector: &Value| Vector {
        name: text(&vector["name"]),
        secrets: vector["secrets"]
            .as_array()
            .into_iter()
            .flatten()
            .map(secret)
            .collect(),
        t: vector["t"]
            .as_i64()
            .unwrap_or_else(|| panic!("{vector} has no t")),
        body: text(&vector["body"]),
        header: text(&vector["header"]),
    };
    vectors
        .as_array()
        .into_iter()
        .flatten()
        .map(vector)
        .collect()
}

#[test]
fn there_are_vectors() {
    assert_eq!(all().len(), 10);
}

#[test]
fn signing_makes_the_published_headers() {
    for Vector {
        name,
        secrets,
        t,
        body,
        header,
    } in all()
    {
        assert_eq!(sign(&secrets, t, body.as_bytes()), header, "{name}");
    }
}

#[test]
fn the_published_headers_verify_with_each_of_their_secrets() {
    for Vector {
        name,
        secrets,
        t,
        body,
        header,
    } in all()
    {
        for secret in &secrets {
            assert_eq!(
                verify(&header, body.as_bytes(), secret, t, 300),
                Ok(()),
                "{name}"
            );
        }
    }
}
