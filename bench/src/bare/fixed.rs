//! Answers that are always the same.

use actix_web::{HttpResponse, web};

/// A body of so many bytes.
pub(crate) async fn answer(bytes: web::Path<usize>) -> HttpResponse {
    static BYTES: [u8; 32 * 1024] = [b' '; 32 * 1024];
    HttpResponse::Ok()
        .content_type("application/json")
        .body(&BYTES[..bytes.into_inner().min(BYTES.len())])
}

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
