//! The interface, told: `/openapi.json` for machines, `/docs` for people. Neither needs a key, and neither is under /v1
//! (decision 1.13).

use actix_web::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, IF_NONE_MATCH, REFERRER_POLICY,
};
use actix_web::{HttpRequest, HttpResponse};

use crate::reference::{self, File};
use crate::routes::Endpoint;

/// The page loads its own two files and nothing else, runs no script that is written into it, and is framed by nobody.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; base-uri 'none'; \
                      form-action 'none'; frame-ancestors 'none'";

/// The paths.
pub(crate) fn routes() -> Vec<Endpoint> {
    let at = |path, file: fn() -> &'static File| {
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

/// A file, or 304 for a client that has it: it changes with the program alone, and is asked for anew each time.
fn send(req: &HttpRequest, file: &'static File) -> HttpResponse {
    let known = is_known(req, file);
    let mut answer = match known {
        true => HttpResponse::NotModified(),
        false => HttpResponse::Ok(),
    };
    answer
        .insert_header((ETAG, file.tag.as_str()))
        .insert_header((CACHE_CONTROL, "no-cache"))
        .insert_header((CONTENT_SECURITY_POLICY, POLICY))
        .insert_header((REFERRER_POLICY, "no-referrer"));
    if known {
        return answer.finish();
    }
    answer
        .insert_header((CONTENT_TYPE, file.media_type))
        .body(file.bytes.clone())
}

/// Whether the client has the file as it is.
pub(super) fn is_known(req: &HttpRequest, file: &File) -> bool {
    let known = req.headers().get_all(IF_NONE_MATCH);
    known
        .filter_map(|tags| tags.to_str().ok())
        .flat_map(|tags| tags.split(','))
        .any(|tag| tag.trim().trim_start_matches("W/") == file.tag || tag.trim() == "*")
}
