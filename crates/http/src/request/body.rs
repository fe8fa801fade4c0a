//! Reading JSON bodies.

use std::time::Duration;

use actix_web::dev::Payload;
use actix_web::http::header::{CONTENT_LENGTH, CONTENT_TYPE, HeaderMap};
use actix_web::web::Data;
use actix_web::{HttpMessage as _, HttpRequest};
use futures_util::StreamExt;
use offhook_domain::json::Fields;
use offhook_domain::{Json, JsonError};

use super::bodies::{Room, Sender};
use crate::edge::exchange::Exchange;
use crate::{ApiError, Code, HttpState, address_of};

pub(crate) const MAX_BODY_BYTES: usize = 1024 * 1024;

/// How long a body may take to arrive. A long body of an authenticated client gets more time ([`time_for`]).
pub const BODY_TIMEOUT: Duration = Duration::from_secs(30);

/// The bytes per second of a slow client: they set the extra time that a long body gets.
const SLOW_CLIENT: u64 = 256 * 1024;

/// What a handler reads from the body.
pub(crate) trait FromBody: Sized {
    fn read(req: &HttpRequest, payload: Payload) -> impl Future<Output = Result<Self, ApiError>>;
}

/// Ignores the body: GET and DELETE.
impl FromBody for () {
    async fn read(_: &HttpRequest, _: Payload) -> Result<Self, ApiError> {
        Ok(())
    }
}

/// A body with required fields.
impl FromBody for Json {
    async fn read(req: &HttpRequest, payload: Payload) -> Result<Self, ApiError> {
        let bytes = bytes(req, payload).await?;
        parse(req.headers(), &bytes)
    }
}

/// A body without required fields: an empty one counts as `{}`.
#[derive(Debug)]
pub(crate) struct Optional(pub(crate) Json);

impl FromBody for Optional {
    async fn read(req: &HttpRequest, payload: Payload) -> Result<Self, ApiError> {
        let bytes = bytes(req, payload).await?;
        if bytes.is_empty() {
            return Ok(Self(Json::Object(Vec::new())));
        }
        parse(req.headers(), &bytes).map(Self)
    }
}

/// A body without fields: empty, or `{}`.
#[derive(Debug)]
pub(crate) struct Nothing;

impl FromBody for Nothing {
    async fn read(req: &HttpRequest, payload: Payload) -> Result<Self, ApiError> {
        let Optional(json) = Optional::read(req, payload).await?;
        Fields::of(&json, "").and_then(Fields::finish)?;
        Ok(Self)
    }
}

pub(crate) fn parse(headers: &HeaderMap, bytes: &[u8]) -> Result<Json, ApiError> {
    if !is_json(headers) {
        return Err(invalid_json("The Content-Type must be application/json."));
    }
    Json::parse(bytes).map_err(|error| match error {
        JsonError::NotJson => invalid_json("The body is not JSON."),
        JsonError::Field(fault) => fault.into(),
    })
}

pub(crate) fn invalid_json(message: &'static str) -> ApiError {
    Code::InvalidJson.error(message)
}

/// Whether there is exactly one `Content-Type` header, of this media type, with any parameters.
pub(crate) fn has_type(headers: &HeaderMap, essence: &str) -> bool {
    let mut lines = headers.get_all(CONTENT_TYPE);
    let (Some(line), None) = (lines.next(), lines.next()) else {
        return false;
    };
    line.to_str().is_ok_and(|text| {
        let media_type = text.split(';').next().unwrap_or_default().trim();
        media_type.eq_ignore_ascii_case(essence)
    })
}

fn is_json(headers: &HeaderMap) -> bool {
    has_type(headers, "application/json")
}

/// Refuses a too large body by its announced length before reading, and by its real length while reading.
async fn bytes(req: &HttpRequest, payload: Payload) -> Result<Vec<u8>, ApiError> {
    let bytes = bytes_up_to(req, payload, MAX_BODY_BYTES).await?;
    Exchange::of(req)?.note_body(&bytes);
    Ok(bytes)
}

/// Reads a body of at most `most` bytes, a whole number of MiB. The body counts toward the budget until the request
/// is answered.
pub(crate) async fn bytes_up_to(
    req: &HttpRequest,
    payload: Payload,
    most: usize,
) -> Result<Vec<u8>, ApiError> {
    let headers = req.headers();
    if announced_length(headers) > most as u64 {
        return Err(too_large(most));
    }
    let sender = Sender::of(req);
    let time = match sender {
        Some(Sender::Account(_)) => time_for(headers),
        Some(Sender::Stranger(_)) | None => BODY_TIMEOUT,
    };
    let mut room = sender.and_then(|sender| Room::of(req, sender));
    let collected = tokio::time::timeout(time, collect(payload, most, room.as_mut())).await;
    if let Some(room) = room {
        req.extensions_mut().insert(room);
    }
    collected.unwrap_or_else(|_| Err(invalid_json("The body did not arrive in time.")))
}

/// How long an authenticated client may take to send the body of a request with this head.
pub fn time_for(headers: &HeaderMap) -> Duration {
    BODY_TIMEOUT + Duration::from_secs(announced_length(headers) / SLOW_CLIENT)
}

/// The body length in bytes that the request head announces; 0 without one.
pub fn announced_length(headers: &HeaderMap) -> u64 {
    let length = headers.get(CONTENT_LENGTH);
    length
        .and_then(|value| value.to_str().ok()?.parse().ok())
        .unwrap_or(0)
}

async fn collect(
    mut payload: Payload,
    most: usize,
    mut room: Option<&mut Room>,
) -> Result<Vec<u8>, ApiError> {
    let mut body = Vec::new();
    while let Some(chunk) = payload.next().await {
        let chunk = chunk.map_err(|_| invalid_json("The body broke off."))?;
        if body.len() + chunk.len() > most {
            return Err(too_large(most));
        }
        if let Some(room) = &mut room {
            room.grow_to(body.len() + chunk.len())?;
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

impl Sender {
    /// The account of the request's key, or else the client's address.
    fn of(req: &HttpRequest) -> Option<Self> {
        let known = Exchange::of(req)
            .ok()
            .and_then(|exchange| exchange.account_id());
        known
            .map(Self::Account)
            .or_else(|| address_of(req).map(Self::Stranger))
    }
}

impl Room {
    /// An empty reservation for the body of this request. `None` outside the application of [`crate::app`].
    pub fn of(req: &HttpRequest, sender: Sender) -> Option<Self> {
        let state = req.app_data::<Data<HttpState>>()?;
        Some(Self::new(state.bodies.clone(), sender))
    }
}

fn too_large(most: usize) -> ApiError {
    let mebibytes = most / (1024 * 1024);
    Code::PayloadTooLarge.error(format!("The body is larger than {mebibytes} MiB."))
}

#[cfg(test)]
mod tests {
    use actix_web::http::header::HeaderValue;

    use super::*;

    /// Reads a body of so many MiB that arrives in pieces of 256 KiB, one after each `pause`.
    async fn slow(mebibytes: usize, pause: Duration) -> Result<usize, String> {
        const PIECE: usize = 256 * 1024;
        let length = mebibytes * 1024 * 1024;
        let pieces = futures_util::stream::unfold(length / PIECE, move |left| async move {
            if left == 0 {
                return None;
            }
            tokio::time::sleep(pause).await;
            let piece = actix_web::web::Bytes::from(vec![b'x'; PIECE]);
            Some((Ok(piece), left - 1))
        });
        let payload: Payload = Payload::Stream {
            payload: pieces.boxed_local(),
        };
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_LENGTH, HeaderValue::from(length));
        let known = time_for(&headers);
        let read = tokio::time::timeout(known, collect(payload, 20 * 1024 * 1024, None)).await;
        let read = read.unwrap_or_else(|_| Err(invalid_json("late")));
        read.map(|body| body.len())
            .map_err(|error| error.to_string())
    }

    #[tokio::test(start_paused = true)]
    async fn a_long_body_has_time_to_come_from_a_slow_client() {
        let (one, twenty) = (1024 * 1024, 20 * 1024 * 1024);
        // 1 MiB, 512 KiB and a little less than 256 KiB per second.
        for pause in [250, 500, 1_300] {
            assert_eq!(slow(20, Duration::from_millis(pause)).await, Ok(twenty));
        }
        assert_eq!(slow(1, Duration::from_secs(8)).await, Ok(one));
        for (length, pause) in [(20, 1_400), (1, 9_000)] {
            let late = slow(length, Duration::from_millis(pause)).await;
            assert!(late.is_err_and(|message| message.ends_with("late")));
        }
    }

    fn typed(lines: &[&'static str]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append(CONTENT_TYPE, HeaderValue::from_static(line));
        }
        headers
    }

    #[test]
    fn only_application_json_is_read_with_any_parameters() {
        for good in [
            "application/json",
            "Application/JSON; charset=latin1",
            "application/json ;x=y",
        ] {
            assert!(is_json(&typed(&[good])), "{good}");
        }
        for bad in ["", "text/plain", "application/json+x", "application/jsonp"] {
            assert!(!is_json(&typed(&[bad])), "{bad}");
        }
        assert!(!is_json(&typed(&[])));
        assert!(!is_json(&typed(&["application/json", "application/json"])));
    }
}
