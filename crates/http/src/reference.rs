//! The reference page at `/docs`, rendered from the OpenAPI document, and its files. The process renders each once.
//! The page only loads files from its own server.

mod fields;
mod llms;
mod page;
mod parts;

use std::sync::LazyLock;

use crate::FixedFile;
use crate::openapi;

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

pub(crate) fn style() -> &'static FixedFile {
    static FILE: LazyLock<FixedFile> = LazyLock::new(|| {
        let text = include_str!("reference/reference.css");
        FixedFile::new("text/css; charset=utf-8", text)
    });
    &FILE
}

pub(crate) fn list_for_models() -> &'static FixedFile {
    static FILE: LazyLock<FixedFile> = LazyLock::new(|| {
        let text = llms::list(&openapi::document());
        FixedFile::new("text/plain; charset=utf-8", text)
    });
    &FILE
}

pub(crate) fn full_for_models() -> &'static FixedFile {
    static FILE: LazyLock<FixedFile> = LazyLock::new(|| {
        let text = llms::full(&openapi::document());
        FixedFile::new("text/plain; charset=utf-8", text)
    });
    &FILE
}

/// The script of the page's filter.
pub(crate) fn script() -> &'static FixedFile {
    static FILE: LazyLock<FixedFile> = LazyLock::new(|| {
        let text = include_str!("reference/reference.js");
        FixedFile::new("text/javascript; charset=utf-8", text)
    });
    &FILE
}
