//! The files of the pages: style, script, htmx. They are part of the binary, and their names change with their content,
//! so that browsers keep them for a year.

use std::sync::LazyLock;

use actix_web::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use actix_web::{HttpRequest, HttpResponse};
use ring::digest::{SHA256, digest};

/// A file of the pages.
pub(crate) struct Asset {
    media_type: &'static str,
    text: &'static str,
    /// Where it is served.
    pub(crate) path: String,
}

impl Asset {
    fn new(stem: &str, ending: &str, media_type: &'static str, text: &'static str) -> Self {
        let hash: String = digest(&SHA256, text.as_bytes())
            .as_ref()
            .iter()
            .take(8)
            .map(|byte| format!("{byte:02x}"))
            .collect();
        Self {
            media_type,
            text,
            path: format!("{}/assets/{stem}-{hash}.{ending}", crate::PATH),
        }
    }
}

/// How the pages look.
pub(crate) static STYLE: LazyLock<Asset> = LazyLock::new(|| {
    let text = include_str!("../assets/portal.css");
    Asset::new("portal", "css", "text/css; charset=utf-8", text)
});

/// What the pages do beyond links and forms.
pub(crate) static SCRIPT: LazyLock<Asset> = LazyLock::new(|| {
    let text = include_str!("../assets/portal.js");
    Asset::new("portal", "js", "text/javascript; charset=utf-8", text)
});

/// htmx 2 (0BSD; <https://htmx.org>), as its project ships it.
pub(crate) static HTMX: LazyLock<Asset> = LazyLock::new(|| {
    let text = include_str!("../assets/htmx-2.0.11.min.js");
    Asset::new("htmx", "js", "text/javascript; charset=utf-8", text)
});

/// `GET /portal/assets/{name}`; another version's name is not found.
pub(crate) async fn send(req: HttpRequest) -> HttpResponse {
    let assets = [&*STYLE, &*SCRIPT, &*HTMX];
    let Some(asset) = assets.into_iter().find(|asset| asset.path == req.path()) else {
        return HttpResponse::NotFound().finish();
    };
    HttpResponse::Ok()
        .insert_header((CONTENT_TYPE, asset.media_type))
        .insert_header((CACHE_CONTROL, "public, max-age=31536000, immutable"))
        .body(asset.text)
}
