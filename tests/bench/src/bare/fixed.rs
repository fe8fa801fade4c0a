//! A fixed response.

use actix_web::HttpResponse;

/// 429, as long as the service's.
pub(crate) async fn refuse() -> HttpResponse {
    HttpResponse::TooManyRequests()
        .content_type("application/json")
        .insert_header(("retry-after", "60"))
        .body(
            "{\"error\":\"rate_limit_exceeded\",\"message\":\"Too many requests from this address.\",\
             \"request_id\":\"01890000-0000-7000-8000-000000000000\"}",
        )
}
