//! The files of the pages: style, script, font, mark, htmx. They are part of the binary, and their names change with their
//! content, so that browsers keep them for a year.

use std::sync::LazyLock;

use actix_web::http::header::CACHE_CONTROL;
use actix_web::web::Bytes;
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
    fn new(
        name: (&str, &str),
        bytes: impl Into<Bytes>,
        file: impl FnOnce(Bytes) -> FixedFile,
    ) -> Self {
        let bytes = bytes.into();
        let hash: String = digest(&SHA256, &bytes)
            .as_ref()
            .iter()
            .take(8)
            .map(|byte| format!("{byte:02x}"))
            .collect();
        let (stem, ending) = name;
        Self {
            path: format!("{}/assets/{stem}-{hash}.{ending}", crate::PATH),
            file: file(bytes),
        }
    }

    fn script(stem: &str, text: &'static str) -> Self {
        Self::new((stem, "js"), text, |bytes| {
            FixedFile::new("text/javascript; charset=utf-8", bytes)
        })
    }
}

pub(crate) static STYLE: LazyLock<Asset> = LazyLock::new(|| {
    let text = concat!(
        include_str!("../assets/tokens.css"),
        include_str!("../assets/base.css"),
        include_str!("../assets/fields.css"),
        include_str!("../assets/shell.css"),
        include_str!("../assets/navigation.css"),
        include_str!("../assets/search.css"),
        include_str!("../assets/parts.css"),
        include_str!("../assets/charts.css"),
        include_str!("../assets/tables.css"),
        include_str!("../assets/conversations.css"),
        include_str!("../assets/portal.css"),
        include_str!("../assets/studio.css"),
        include_str!("../assets/json.css"),
    );
    let text = text.replace("inter.woff2", &FONT.path);
    Asset::new(("portal", "css"), text, |bytes| {
        FixedFile::new("text/css; charset=utf-8", bytes)
    })
});

pub(crate) static SCRIPT: LazyLock<Asset> = LazyLock::new(|| {
    let text = concat!(
        include_str!("../assets/portal.js"),
        include_str!("../assets/shell.js"),
        include_str!("../assets/studio.js"),
        include_str!("../assets/passkeys.js"),
        include_str!("../assets/json.js"),
    );
    Asset::script("portal", text)
});

/// htmx 2 (0BSD; <https://htmx.org>), as its project ships it.
pub(crate) static HTMX: LazyLock<Asset> = LazyLock::new(|| {
    let text = include_str!("../assets/htmx-2.0.11.min.js");
    Asset::script("htmx", text)
});

/// Inter (OFL; <https://rsms.me/inter>): the glyphs of Western European languages, weights from 400 to 700, of
/// `@fontsource-variable/inter`.
pub(crate) static FONT: LazyLock<Asset> = LazyLock::new(|| {
    let bytes = include_bytes!("../assets/inter.woff2").as_slice();
    Asset::new(("inter", "woff2"), bytes, |bytes| {
        FixedFile::compressed("font/woff2", bytes)
    })
});

/// The mark, also the icon of the browser's tab.
pub(crate) static MARK: LazyLock<Asset> = LazyLock::new(|| {
    Asset::new(("mark", "svg"), offhook_http::MARK, |bytes| {
        FixedFile::new("image/svg+xml", bytes)
    })
});

/// `GET /portal/assets/{name}`; a name of another version is not found.
pub(crate) async fn send(req: HttpRequest) -> HttpResponse {
    let assets = [&*STYLE, &*SCRIPT, &*HTMX, &*FONT, &*MARK];
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

    /// Whether the file is gzipped for a browser of these encodings, and its length.
    async fn ask(asset: &Asset, encodings: &str) -> (bool, u64) {
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
    }

    #[tokio::test]
    async fn a_browser_gets_the_files_compressed_and_keeps_them_for_a_year() {
        for asset in [&*STYLE, &*SCRIPT, &*HTMX] {
            let (is_gzipped, bytes) = ask(asset, "gzip, deflate, br").await;
            let (is_not, whole) = ask(asset, "gzip;q=0").await;
            assert_eq!((is_gzipped, is_not), (true, false), "{}", asset.path);
            assert!(bytes * 2 < whole, "{}: {bytes} of {whole}", asset.path);
        }
        let (is_gzipped, bytes) = ask(&FONT, "gzip").await;
        assert!(!is_gzipped && bytes < 50_000, "{bytes}");
    }
}
