//! The files of the pages: style, script, htmx. They are part of the binary, and their names change with their content,
//! so that browsers keep them for a year.

use std::sync::LazyLock;

use actix_web::http::header::CACHE_CONTROL;
use actix_web::{HttpRequest, HttpResponse};
use offhook_http::FixedFile;
use ring::digest::{SHA256, digest};

/// A file of the pages.
pub(crate) struct Asset {
    file: FixedFile,
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
            file: FixedFile::new(media_type, text),
            path: format!("{}/assets/{stem}-{hash}.{ending}", crate::PATH),
        }
    }
}

pub(crate) static STYLE: LazyLock<Asset> = LazyLock::new(|| {
    let text = include_str!("../assets/portal.css");
    Asset::new("portal", "css", "text/css; charset=utf-8", text)
});

pub(crate) static SCRIPT: LazyLock<Asset> = LazyLock::new(|| {
    let text = concat!(
        include_str!("../assets/portal.js"),
        include_str!("../assets/studio.js")
    );
    Asset::new("portal", "js", "text/javascript; charset=utf-8", text)
});

/// htmx 2 (0BSD; <https://htmx.org>), as its project ships it.
pub(crate) static HTMX: LazyLock<Asset> = LazyLock::new(|| {
    let text = include_str!("../assets/htmx-2.0.11.min.js");
    Asset::new("htmx", "js", "text/javascript; charset=utf-8", text)
});

/// `GET /portal/assets/{name}`; a name of another version is not found.
pub(crate) async fn send(req: HttpRequest) -> HttpResponse {
    let assets = [&*STYLE, &*SCRIPT, &*HTMX];
    let Some(asset) = assets.into_iter().find(|asset| asset.path == req.path()) else {
        return HttpResponse::NotFound().finish();
    };
    let headers = [(CACHE_CONTROL, "public, max-age=31536000, immutable")];
    asset.file.answer(&req, &headers)
}

#[cfg(test)]
mod tests {
    use actix_web::body::{BodySize, MessageBody as _};
    use actix_web::http::header::{ACCEPT_ENCODING, CONTENT_ENCODING, VARY};
    use actix_web::test::TestRequest;

    use super::*;

    #[tokio::test]
    async fn a_browser_gets_the_files_compressed_and_keeps_them_for_a_year() {
        for asset in [&*STYLE, &*SCRIPT, &*HTMX] {
            let ask = async |encodings| {
                let req = TestRequest::with_uri(&asset.path);
                let req = req.insert_header((ACCEPT_ENCODING, encodings));
                let answer = send(req.to_http_request()).await;
                let BodySize::Sized(bytes) = answer.body().size() else {
                    panic!("{}", asset.path)
                };
                for (header, value) in [
                    (CACHE_CONTROL, "public, max-age=31536000, immutable"),
                    (VARY, "Accept-Encoding"),
                ] {
                    assert_eq!(answer.headers().get(header).unwrap(), value);
                }
                let is_gzipped = answer.headers().get(CONTENT_ENCODING).is_some();
                (is_gzipped, bytes)
            };
            let (is_gzipped, bytes) = ask("gzip, deflate, br").await;
            let (is_not, whole) = ask("gzip;q=0").await;
            assert_eq!((is_gzipped, is_not), (true, false), "{}", asset.path);
            assert!(bytes * 2 < whole, "{}: {bytes} of {whole}", asset.path);
        }
    }
}
