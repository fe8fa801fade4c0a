//! The API's reference, rendered from the OpenAPI document: the overview at `/docs`, a page for each tag, the index of
//! their search, and the same as text. The process renders each once. The pages only load files from their own server.

mod events;
mod examples;
mod fields;
mod layout;
mod llms;
mod markup;
mod operation;
mod overview;
mod plain;
mod search;
mod tag;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use crate::FixedFile;
use crate::openapi;
use layout::Site;
use operation::Group;

const HTML: &str = "text/html; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const TEXT: &str = "text/plain; charset=utf-8";

/// A file that is made when it is first requested.
pub(crate) type LazyFile = LazyLock<FixedFile>;

pub(crate) static DOCUMENT: LazyFile =
    LazyLock::new(|| FixedFile::new("application/json", openapi::document().to_string()));

pub(crate) static OVERVIEW: LazyFile = LazyLock::new(|| {
    let document = openapi::document();
    let site = Site::of(&document);
    let main = overview::main(&document, &site.overview, &site.groups);
    FixedFile::new(HTML, layout::page(&site, None, &main))
});

pub(crate) static STYLE: LazyFile = LazyLock::new(|| {
    let text = include_str!("reference/reference.css");
    FixedFile::new("text/css; charset=utf-8", text)
});

/// The script of the pages' search.
pub(crate) static SEARCH: LazyFile =
    LazyLock::new(|| FixedFile::new(SCRIPT, include_str!("reference/search.js")));

pub(crate) static SEARCH_INDEX: LazyFile =
    LazyLock::new(|| FixedFile::new(SCRIPT, search::index(&openapi::document())));

pub(crate) static LIST_FOR_MODELS: LazyFile =
    LazyLock::new(|| FixedFile::new(TEXT, llms::list(&openapi::document())));

pub(crate) static FULL_FOR_MODELS: LazyFile =
    LazyLock::new(|| FixedFile::new(TEXT, llms::full(&openapi::document())));

/// The page of a tag, if there is one.
pub(crate) fn page(tag: &str) -> Option<&'static FixedFile> {
    static PAGES: LazyLock<BTreeMap<String, FixedFile>> = LazyLock::new(|| {
        let document = openapi::document();
        let site = Site::of(&document);
        let draw = |group: &Group<'_>| {
            let main = tag::main(&document, group);
            let page = layout::page(&site, Some(group.tag), &main);
            (group.tag.to_owned(), FixedFile::new(HTML, page))
        };
        site.groups.iter().map(draw).collect()
    });
    PAGES.get(tag)
}
