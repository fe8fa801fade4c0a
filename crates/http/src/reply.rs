//! Answers in JSON.

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use serde::Serialize;

use crate::ApiError;

/// What a handler answers.
pub(crate) type Reply = Result<HttpResponse, ApiError>;

/// 200 with a body.
pub(crate) fn ok(body: &impl Serialize) -> Reply {
    json(StatusCode::OK, body)
}

/// 201 with a body: something was made.
pub(crate) fn created(body: &impl Serialize) -> Reply {
    json(StatusCode::CREATED, body)
}

/// 202 with a body: work goes on after the answer.
pub(crate) fn accepted(body: &impl Serialize) -> Reply {
    json(StatusCode::ACCEPTED, body)
}

fn json(status: StatusCode, body: &impl Serialize) -> Reply {
    let body = serde_json::to_vec(body).map_err(ApiError::internal)?;
    Ok(HttpResponse::build(status)
        .content_type("application/json")
        .body(body))
}
