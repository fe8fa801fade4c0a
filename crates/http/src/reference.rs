//! The reference page at `/docs`, drawn from the OpenAPI document, and the files that go with it. Everything is made once,
//! in the process: the page needs no network but its own server.

mod fields;
mod page;
mod parts;

use std::sync::LazyLock;

use actix_web::web::Bytes;
use ring::digest::{SHA256, digest};

use crate::openapi;

/// A file that is the same for everybody.
pub(crate) struct File {
    pub(crate) media_type: &'static str,
    pub(crate) bytes: Bytes,
    /// The entity tag, quotes included.
    pub(crate) tag: String,
}

impl File {
    pub(crate) fn new(media_type: &'static str, bytes: impl Into<Bytes>) -> Self {
        let bytes = bytes.into();
        let digest = digest(&SHA256, &bytes);
        let hex: String = (digest.as_ref().iter().take(16))
            .map(|byte| format!("{byte:02x}"))
            .collect();
        Self {
            media_type,
            bytes,
            tag: format!("\"{hex}\""),
        }
    }
}

/// The OpenAPI document.
pub(crate) fn document() -> &'static File {
    static FILE: LazyLock<File> =
        LazyLock::new(|| File::new("application/json", openapi::document().to_string()));
    &FILE
}

/// The page.
pub(crate) fn page() -> &'static File {
    static FILE: LazyLock<File> = LazyLock::new(|| {
        let page = page::draw(&openapi::document());
        File::new("text/html; charset=utf-8", page)
    });
    &FILE
}

/// How the page looks.
pub(crate) fn style() -> &'static File {
    static FILE: LazyLock<File> = LazyLock::new(|| {
        let text = include_str!("reference/reference.css");
        File::new("text/css; charset=utf-8", text)
    });
    &FILE
}

/// The page's filter.
pub(crate) fn script() -> &'static File {
    static FILE: LazyLock<File> = LazyLock::new(|| {
        let text = include_str!("reference/reference.js");
        File::new("text/javascript; charset=utf-8", text)
    });
    &FILE
}
