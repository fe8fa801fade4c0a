//! JSON responses.

use actix_web::http::StatusCode;
use actix_web::http::header::{HeaderName, LOCATION};
use offhook_services::PlacedReply;

use crate::prelude::*;

const IDEMPOTENT_REPLAYED: HeaderName = HeaderName::from_static("idempotent-replayed");

pub(crate) type Reply = Result<HttpResponse, ApiError>;

/// 200 with a body.
pub(crate) fn ok(body: &impl Serialize) -> Reply {
    json(StatusCode::OK, body)
}

/// 201 with a body: the request created a resource.
pub(crate) fn created(body: &impl Serialize) -> Reply {
    json(StatusCode::CREATED, body)
}

/// 202 with a body: work continues after the response.
pub(crate) fn accepted(body: &impl Serialize) -> Reply {
    json(StatusCode::ACCEPTED, body)
}

/// The response to a request that a client may repeat under an Idempotency-Key.
pub(crate) fn placed(placed: PlacedReply) -> Reply {
    let status = StatusCode::from_u16(placed.status).map_err(ApiError::internal)?;
    let mut answer = HttpResponse::build(status);
    answer.content_type("application/json");
    answer.insert_header((LOCATION, placed.location));
    if placed.replayed {
        answer.insert_header((IDEMPOTENT_REPLAYED, "true"));
    }
    Ok(answer.body(placed.body))
}

fn json(status: StatusCode, body: &impl Serialize) -> Reply {
    let body = serde_json::to_vec(body).map_err(ApiError::internal)?;
    Ok(HttpResponse::build(status)
        .content_type("application/json")
        .body(body))
}
