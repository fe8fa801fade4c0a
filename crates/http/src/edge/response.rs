//! The response as it leaves: the error envelope, the headers that every response has, and long bodies in pieces.

use std::convert::Infallible;

use actix_web::body::{BodySize, BoxBody, MessageBody as _, SizedStream};
use actix_web::http::StatusCode;
use actix_web::http::header::{self, HeaderMap, HeaderName, HeaderValue};
use futures_util::stream;
use offhook_metrics::metrics;

use super::cors;
use super::exchange::Exchange;
use crate::prelude::*;

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
const LIMIT: HeaderName = HeaderName::from_static("x-ratelimit-limit");
const REMAINING: HeaderName = HeaderName::from_static("x-ratelimit-remaining");
const RESET: HeaderName = HeaderName::from_static("x-ratelimit-reset");

/// How much of a long response goes to its connection at once.
const PIECE: usize = 16 * 1024;
const PIECE_U64: u64 = PIECE as u64;

impl Exchange {
    /// Puts an error into its envelope, logs a 5xx, and adds the headers that every response has.
    pub(super) fn finish(&self, answer: HttpResponse) -> HttpResponse {
        let mut answer = match answer.error() {
            Some(error) => match error.as_error::<ApiError>() {
                Some(error) => self.envelope(error),
                None => self.envelope(&ApiError::internal(error)),
            },
            None => answer,
        };
        self.add_headers(answer.headers_mut());
        answer.map_body(|_, body| in_pieces(body))
    }

    fn envelope(&self, error: &ApiError) -> HttpResponse {
        let status = error.code.status();
        self.error.set(Some(error.code.as_str()));
        self.note_message(&error.message);
        // While Redis is unreachable, every request ends like this. The log says so once, when it begins.
        let is_told = error.code == Code::RateLimitUnavailable;
        if is_told {
            metrics().http.refused("unavailable");
        }
        if status.is_server_error() && !is_told {
            let cause = error.cause.as_deref().unwrap_or("");
            tracing::error!(request_id = %self.id, code = error.code.as_str(), cause, "answered with {status}");
        }
        let mut answer = HttpResponse::build(status);
        if let Some(seconds) = error.retry_after_s {
            answer.insert_header((header::RETRY_AFTER, seconds));
        }
        if let Some(allow) = &error.allow {
            answer.insert_header((header::ALLOW, &**allow));
        }
        if let Some(size) = error.size {
            answer.insert_header((header::CONTENT_RANGE, format!("bytes */{size}")));
        }
        if status == StatusCode::UNAUTHORIZED {
            answer.insert_header((header::WWW_AUTHENTICATE, "Bearer"));
        }
        answer.json(Envelope {
            error: error.code.as_str(),
            message: &error.message,
            request_id: self.id,
        })
    }

    fn add_headers(&self, headers: &mut HeaderMap) {
        if let Ok(id) = HeaderValue::from_str(&self.id.to_string()) {
            headers.insert(REQUEST_ID, id);
        }
        headers.insert(
            header::X_CONTENT_TYPE_OPTIONS,
            HeaderValue::from_static("nosniff"),
        );
        if self.no_store {
            headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        }
        if let Some(decision) = self.account.get() {
            headers.insert(LIMIT, decision.limit.into());
            headers.insert(REMAINING, decision.remaining.into());
            headers.insert(RESET, decision.reset_unix_seconds().into());
        }
        if self.cors {
            headers.append(header::VARY, HeaderValue::from_static("Origin"));
        }
        if let Some(origin) = &*self.origin.borrow() {
            headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
            headers.insert(
                header::ACCESS_CONTROL_EXPOSE_HEADERS,
                HeaderValue::from_static(cors::RESPONSE_HEADERS),
            );
        }
    }
}

/// Splits a long body into pieces. Otherwise it would be copied whole into each connection's buffer, whether or not
/// the client reads it.
fn in_pieces(body: BoxBody) -> BoxBody {
    let BodySize::Sized(length @ PIECE_U64..) = body.size() else {
        return body;
    };
    match body.try_into_bytes() {
        Ok(mut rest) => {
            let pieces = std::iter::from_fn(move || {
                let piece = rest.split_to(rest.len().min(PIECE));
                (!piece.is_empty()).then_some(Ok::<_, Infallible>(piece))
            });
            BoxBody::new(SizedStream::new(length, stream::iter(pieces)))
        }
        Err(body) => body,
    }
}

#[derive(Serialize)]
struct Envelope<'a> {
    error: &'static str,
    message: &'a str,
    request_id: RequestId,
}
