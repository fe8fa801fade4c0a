//! The API's documentation: `/openapi.json` for machines, `/llms.txt` and `/llms-full.txt` for language
//! models, `/docs` for people. None needs a key or is under /v1.

use actix_web::http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, REFERRER_POLICY};
use actix_web::{HttpRequest, HttpResponse};

use crate::FixedFile;
use crate::endpoint::Endpoint;
use crate::reference;

/// The page only loads its own two files, runs no inline script, and cannot be framed.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; base-uri 'none'; \
                      form-action 'none'; frame-ancestors 'none'";

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
        at("/llms.txt", reference::list_for_models),
        at("/llms-full.txt", reference::full_for_models),
        at("/docs", reference::page),
        at("/docs/reference.css", reference::style),
        at("/docs/reference.js", reference::script),
    ]
}

/// A file only changes with the program, and browsers revalidate it on each load.
fn send(req: &HttpRequest, file: &FixedFile) -> HttpResponse {
    let headers = [
        (CACHE_CONTROL, "no-cache"),
        (CONTENT_SECURITY_POLICY, POLICY),
        (REFERRER_POLICY, "no-referrer"),
    ];
    file.answer(req, &headers)
}
