//! Lists: tables, what stands in an empty one, the way to the next page.

use maud::{Markup, Render, html};
use offhook_domain::Timestamp;
use offhook_services::Page;
use uuid::Uuid;

use crate::visit::Visitor;

/// A table that scrolls by itself on narrow screens. `caption` is read to those who do not see it; `rows` are `tr`s.
pub(crate) fn table(caption: &str, heads: &[&str], rows: &[Markup]) -> Markup {
    html! {
        div.scroll tabindex="0" role="region" aria-label=(caption) {
            table {
                caption.unseen { (caption) }
                thead { tr { @for head in heads { th scope="col" { (head) } } } }
                tbody { @for row in rows { (row) } }
            }
        }
    }
}

/// What stands where nothing is yet: what it would be, and what to do next.
pub(crate) fn empty(title: &str, text: &str, next: Option<(&str, &str)>) -> Markup {
    html! {
        div.empty {
            h2 { (title) }
            p { (text) }
            @if let Some((path, label)) = next { p { a.button href={ (crate::PATH) (path) } { (label) } } }
        }
    }
}

/// The way to the rows behind the last one of `page`, whose `place` in the list is this.
pub(crate) fn more<T>(
    visitor: &Visitor,
    page: &Page<T>,
    place: impl Fn(&T) -> (Timestamp, Uuid),
) -> Markup {
    let lang = visitor.lang();
    let is_first = visitor.query().get("after").is_none();
    html! {
        @if page.has_more || !is_first {
            p.pager {
                @if !is_first { a href=(visitor.link_to_beginning()) { (lang.t("To the beginning", "Al principio")) } }
                @if page.has_more && let Some((at, id)) = page.items.last().map(place) {
                    a rel="next" href=(visitor.link_behind(at, id)) { (lang.t("More", "Más")) }
                }
            }
        }
    }
}

/// A name and a value of one thing, in a `dl.facts`.
pub(crate) fn fact(name: &str, value: impl Render) -> Markup {
    html! { div { dt { (name) } dd { (value) } } }
}
