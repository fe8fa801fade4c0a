//! Requests from pages of other origins: which origins may read a response, and the answers to preflights.

use actix_web::HttpResponse;
use actix_web::dev::ServiceRequest;
use actix_web::http::Method;
use actix_web::http::header::{self, HeaderValue};

const METHODS: &str = "GET, POST, PUT, PATCH, DELETE";
const REQUEST_HEADERS: &str = "Authorization, Content-Type, Idempotency-Key, Last-Event-ID";
pub(super) const RESPONSE_HEADERS: &str = "X-Request-Id, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, \
                                           Retry-After, Location, Idempotent-Replayed";
/// Seconds that a browser may cache the response to a preflight.
const MAX_AGE_S: &str = "600";

const WIDGET_METHODS: &str = "GET, POST";
const WIDGET_REQUEST_HEADERS: &str = "Authorization, Content-Type";

/// The origin of the request, if it may call /v1.
pub(crate) fn allowed_origin(origins: &[String], req: &ServiceRequest) -> Option<HeaderValue> {
    let origin = req.headers().get(header::ORIGIN)?;
    let listed = |allowed: &String| allowed == "*" || allowed.as_bytes() == origin.as_bytes();
    origins.iter().any(listed).then(|| origin.clone())
}

pub(super) fn is_preflight(req: &ServiceRequest) -> bool {
    req.method() == Method::OPTIONS
        && req
            .headers()
            .contains_key(header::ACCESS_CONTROL_REQUEST_METHOD)
}

/// The response to a preflight of /v1.
pub(super) fn preflight() -> HttpResponse {
    allow(METHODS, REQUEST_HEADERS, MAX_AGE_S)
}

/// The response to a preflight of a widget's page whose origin was checked.
pub(crate) fn widget_preflight() -> HttpResponse {
    allow(WIDGET_METHODS, WIDGET_REQUEST_HEADERS, MAX_AGE_S)
}

/// The response to a preflight whose origin was not checked: a browser must send another before its next request.
pub(super) fn unchecked_widget_preflight() -> HttpResponse {
    allow(WIDGET_METHODS, WIDGET_REQUEST_HEADERS, "0")
}

fn allow(methods: &str, headers: &str, max_age_s: &str) -> HttpResponse {
    HttpResponse::NoContent()
        .insert_header((header::ACCESS_CONTROL_ALLOW_METHODS, methods))
        .insert_header((header::ACCESS_CONTROL_ALLOW_HEADERS, headers))
        .insert_header((header::ACCESS_CONTROL_MAX_AGE, max_age_s))
        .finish()
}
