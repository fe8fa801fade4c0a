//! The API's documentation: `/openapi.json` for machines, `/llms.txt` and `/llms-full.txt` for language
//! models, `/docs` and a page for each tag for people. None needs a key or is under /v1.

use actix_web::http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, REFERRER_POLICY};

use crate::FixedFile;
use crate::prelude::*;
use crate::reference::{self, LazyFile};

/// A page only loads its own files, runs no inline script, and cannot be framed.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; base-uri 'none'; \
                      form-action 'none'; frame-ancestors 'none'";

pub(crate) fn routes() -> Vec<Endpoint> {
    let at = |path, file: &'static LazyFile| {
        let answer = move |req: HttpRequest| {
            let answer = send(&req, file);
            async { answer }
        };
        Endpoint::at(path).get(answer).head(answer)
    };
    vec![
        at("/openapi.json", &reference::DOCUMENT),
        at("/llms.txt", &reference::LIST_FOR_MODELS),
        at("/llms-full.txt", &reference::FULL_FOR_MODELS),
        at("/docs", &reference::OVERVIEW),
        at("/docs/reference.css", &reference::STYLE),
        at("/docs/search.js", &reference::SEARCH),
        at("/docs/search-index.js", &reference::SEARCH_INDEX),
        Endpoint::at("/docs/{tag}").get(page).head(page),
    ]
}

/// `GET /docs/{tag}`
async fn page(req: HttpRequest) -> Reply {
    let page = req.match_info().get("tag").and_then(reference::page);
    Ok(send(&req, page.ok_or_else(ApiError::not_found)?))
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
