//! The frame around every page: its head, the search and the contents.

use maud::{DOCTYPE, Markup, html};
use serde_json::Value;

use super::markup::{Section, method};
use super::operation::{Group, address, groups, heading};
use super::overview;
use crate::MARK;

/// What the pages have in common.
pub(super) struct Site<'a> {
    pub(super) title: &'a str,
    /// The sections of the overview.
    pub(super) overview: Vec<Section>,
    pub(super) groups: Vec<Group<'a>>,
}

impl<'a> Site<'a> {
    pub(super) fn of(document: &'a Value) -> Self {
        Self {
            title: document["info"]["title"].as_str().unwrap_or_default(),
            overview: overview::sections(document),
            groups: groups(document),
        }
    }
}

/// A whole page. The overview describes no tag.
pub(super) fn page(site: &Site<'_>, tag: Option<&str>, main: &Markup) -> String {
    let mark = format!("data:image/svg+xml,{}", MARK.replace('#', "%23"));
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { @match tag { Some(tag) => (heading(tag)), None => "Overview" } " · " (site.title) }
                link rel="icon" href=(mark);
                link rel="stylesheet" href="/docs/reference.css";
                script src="/docs/search.js" defer {}
            }
            body {
                a.skip href="#main" { "To the content" }
                nav aria-label="Contents" {
                    details.menu open {
                        summary { "Contents" }
                        // The script shows it: without the script there is no search.
                        div.search hidden {
                            label for="search" { "Search" }
                            input id="search" type="search" autocomplete="off" spellcheck="false"
                                placeholder="path, scope or any words";
                            p id="found" role="status" {}
                            ul id="results" {}
                        }
                        div id="contents" { (contents(site, tag)) }
                    }
                }
                main id="main" { (main) }
            }
        }
    };
    page.into_string()
}

fn contents(site: &Site<'_>, tag: Option<&str>) -> Markup {
    let current = |is_current: bool| is_current.then_some("page");
    html! {
        h2 { a href="/docs" aria-current=[current(tag.is_none())] { (site.title) } }
        ul {
            @for Section { id, title, .. } in &site.overview { li { a href={ "/docs#" (id) } { (title) } } }
        }
        @for group in &site.groups {
            @let is_current = tag == Some(group.tag);
            h2 { a href=(address(group.tag)) aria-current=[current(is_current)] { (heading(group.tag)) } }
            @if is_current {
                ul {
                    @for operation in &group.operations {
                        li.operation {
                            a href={ "#" (operation.id()) } {
                                (method(&operation.method)) " "
                                span.path { (operation.path.trim_start_matches("/v1")) }
                            }
                        }
                    }
                    @for Section { id, title, .. } in &group.sections { li { a href={ "#" (id) } { (title) } } }
                }
            }
        }
    }
}
