//! The `Idempotency-Key` header.

use actix_web::dev::Payload;
use actix_web::http::header::HeaderMap;

use super::body::FromBody;
use crate::prelude::*;

const MAX_BYTES: usize = 255;

/// A JSON body that a client may send again. The key's syntax is checked before the body is read.
#[derive(Debug)]
pub(crate) struct Repeatable {
    pub(crate) key: Option<String>,
    pub(crate) json: Json,
}

impl FromBody for Repeatable {
    async fn read(req: &HttpRequest, payload: Payload) -> Result<Self, ApiError> {
        let key = key(req.headers())?;
        let json = Json::read(req, payload).await?;
        Ok(Self { key, json })
    }
}

/// The key as sent: quotes are part of it.
pub(crate) fn key(headers: &HeaderMap) -> Result<Option<String>, ApiError> {
    let mut lines = headers.get_all("idempotency-key");
    let Some(line) = lines.next() else {
        return Ok(None);
    };
    if lines.next().is_some() {
        return Err(invalid(
            "The Idempotency-Key header is sent more than once.",
        ));
    }
    let key = trim_ows(line.as_bytes());
    let printable = key.iter().all(|byte| (0x20..=0x7e).contains(byte));
    match std::str::from_utf8(key) {
        Ok(text) if printable && (1..=MAX_BYTES).contains(&key.len()) => Ok(Some(text.to_owned())),
        _ => Err(invalid(
            "The Idempotency-Key must be 1 to 255 printable ASCII characters.",
        )),
    }
}

fn trim_ows(mut bytes: &[u8]) -> &[u8] {
    while let [b' ' | b'\t', rest @ ..] | [rest @ .., b' ' | b'\t'] = bytes {
        bytes = rest;
    }
    bytes
}

fn invalid(message: &'static str) -> ApiError {
    Code::InvalidIdempotencyKey.error(message)
}

#[cfg(test)]
mod tests {
    use actix_web::http::header::{HeaderName, HeaderValue};

    use super::*;

    fn read(lines: &[&[u8]]) -> Result<Option<String>, Code> {
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append(
                HeaderName::from_static("idempotency-key"),
                HeaderValue::from_bytes(line).unwrap(),
            );
        }
        key(&headers).map_err(|error| error.code())
    }

    #[test]
    fn a_key_is_opaque_printable_ascii() {
        assert_eq!(read(&[]), Ok(None));
        assert_eq!(read(&[b"  \"a b\"\t"]), Ok(Some("\"a b\"".to_owned())));
        assert_eq!(read(&[&[b'~'; 255]]), Ok(Some("~".repeat(255))));
        let bad: [&[&[u8]]; 7] = [
            &[b""],
            &[b" \t "],
            &[&[b'a'; 256]],
            &["é".as_bytes()],
            &[b"a\tb"],
            &[b"\xff"],
            &[b"a", b"a"],
        ];
        for lines in bad {
            assert_eq!(read(lines), Err(Code::InvalidIdempotencyKey), "{lines:?}");
        }
    }
}
