//! The interface, told: `/openapi.json` for machines, `/docs` for people. Neither needs a key, and neither is under /v1.

use actix_web::http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, REFERRER_POLICY};
use actix_web::{HttpRequest, HttpResponse};

use crate::FixedFile;
use crate::reference;
use crate::routes::Endpoint;

/// The page loads its own two files and nothing else, runs no script that is written into it, and is framed by nobody.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; base-uri 'none'; \
                      form-action 'none'; frame-ancestors 'none'";

/// The paths.
pub(crate) fn routes() -> Vec<Endpoint> {
    let at = |path, file: fn() -> &'static FixedFile| {
        let answer = move |req: HttpRequest| {
            let answer = send(&req, file());
            async { answer }
        };
        Endpoint::at(path).get(answer).head(answer)
    };
    vec![
        at("/openapi.json", reference::document),
        at("/docs", reference::page),
        at("/docs/reference.css", reference::style),
        at("/docs/reference.js", reference::script),
    ]
}

/// A file changes with the program alone, and is asked for anew each time.
fn send(req: &HttpRequest, file: &FixedFile) -> HttpResponse {
    let headers = [
        (CACHE_CONTROL, "no-cache"),
        (CONTENT_SECURITY_POLICY, POLICY),
        (REFERRER_POLICY, "no-referrer"),
    ];
    file.answer(req, &headers)
}
