//! The reference page at `/docs`, drawn from the OpenAPI document, and the files that go with it. Everything is made once,
//! in the process: the page needs no network but its own server.

mod fields;
mod page;
mod parts;

use std::sync::LazyLock;

use crate::FixedFile;
use crate::openapi;

/// The OpenAPI document.
pub(crate) fn document() -> &'static FixedFile {
    static FILE: LazyLock<FixedFile> =
        LazyLock::new(|| FixedFile::new("application/json", openapi::document().to_string()));
    &FILE
}

pub(crate) fn page() -> &'static FixedFile {
    static FILE: LazyLock<FixedFile> = LazyLock::new(|| {
        let page = page::draw(&openapi::document());
        FixedFile::new("text/html; charset=utf-8", page)
    });
    &FILE
}

/// How the page looks.
pub(crate) fn style() -> &'static FixedFile {
    static FILE: LazyLock<FixedFile> = LazyLock::new(|| {
        let text = include_str!("reference/reference.css");
        FixedFile::new("text/css; charset=utf-8", text)
    });
    &FILE
}

/// The page's filter.
pub(crate) fn script() -> &'static FixedFile {
    static FILE: LazyLock<FixedFile> = LazyLock::new(|| {
        let text = include_str!("reference/reference.js");
        FixedFile::new("text/javascript; charset=utf-8", text)
    });
    &FILE
}
