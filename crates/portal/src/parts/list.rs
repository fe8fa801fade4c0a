//! Lists: tables, empty states, paging.

use std::fmt::Display;

use maud::{PreEscaped, Render};
use offhook_services::Page;
use uuid::Uuid;

use super::form::Select;
use super::icon;
use crate::prelude::*;

/// A table of things, column by column: a head, and a cell for each thing.
pub(crate) struct Table<'a, T> {
    caption: &'a str,
    things: &'a [T],
    heads: Vec<&'a str>,
    /// The cells of each thing so far.
    rows: Vec<String>,
}

impl<'a, T> Table<'a, T> {
    /// A table of these things, without columns yet.
    pub(crate) fn of(caption: &'a str, things: &'a [T]) -> Self {
        Self {
            caption,
            things,
            heads: Vec::new(),
            rows: vec![String::new(); things.len()],
        }
    }

    /// One more column.
    pub(crate) fn column<C: Render>(self, head: &'a str, cell: impl Fn(&'a T) -> C) -> Self {
        self.with(head, |thing| html! { td { (cell(thing)) } })
    }

    /// One more column, of numbers.
    pub(crate) fn number<C: Render>(self, head: &'a str, cell: impl Fn(&'a T) -> C) -> Self {
        self.with(head, |thing| html! { td.number { (cell(thing)) } })
    }

    /// One more column, for roles that may see it.
    pub(crate) fn column_if<C: Render>(
        self,
        may: bool,
        head: &'a str,
        cell: impl Fn(&'a T) -> C,
    ) -> Self {
        if may { self.column(head, cell) } else { self }
    }

    fn with(mut self, head: &'a str, cell: impl Fn(&'a T) -> Markup) -> Self {
        self.heads.push(head);
        for (row, thing) in self.rows.iter_mut().zip(self.things) {
            row.push_str(&cell(thing).into_string());
        }
        self
    }
}

impl<T> Render for Table<'_, T> {
    fn render(&self) -> Markup {
        let rows = self.rows.iter();
        let rows: Vec<Markup> = rows
            .map(|cells| html! { tr { (PreEscaped(cells)) } })
            .collect();
        table(self.caption, &self.heads, &rows)
    }
}

/// A filter of a list: the option `everything`, or one of these.
pub(crate) fn filter<'a, V: Into<String>, T: Into<String>>(
    visitor: &'a Visitor,
    name: &'a str,
    label: &'a str,
    everything: &str,
    options: impl IntoIterator<Item = (V, T)>,
) -> Select<'a> {
    Select::new(name, label)
        .option("", everything)
        .options(options)
        .chosen(visitor.query().text(name))
}

/// A table, whose rows are cards on narrow screens. `caption` is for screen readers; `rows` are `tr`s.
pub(crate) fn table(caption: &str, heads: &[&str], rows: &[Markup]) -> Markup {
    html! {
        div.scroll tabindex="0" role="region" aria-label=(caption) {
            table {
                caption.unseen { (caption) }
                thead { tr { @for head in heads { th scope="col" { (head) } } } }
                tbody { @for row in rows { (labelled(row, heads)) } }
            }
        }
    }
}

/// A row whose cells name their columns, as a card shows them.
fn labelled(row: &Markup, heads: &[&str]) -> Markup {
    let mut cells = row.0.split("<td");
    let mut labelled = cells.next().unwrap_or_default().to_owned();
    for (place, cell) in cells.enumerate() {
        let label = html! { (heads.get(place).copied().unwrap_or_default()) };
        labelled.push_str("<td data-label=\"");
        labelled.push_str(&label.0);
        labelled.push('"');
        labelled.push_str(cell);
    }
    PreEscaped(labelled)
}

/// An empty state: what would be here, and what to do next.
pub(crate) fn empty(title: &str, text: &str, next: Option<(&str, &str)>) -> Markup {
    html! {
        div.empty {
            (icon::here())
            h2 { (title) }
            p { (text) }
            @if let Some((path, label)) = next { p { a.button.primary href={ (crate::PATH) (path) } { (label) } } }
        }
    }
}

/// The link to the rows after the last one of `page`, whose `place` in the list is this.
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
                @if !is_first { a href=(visitor.link_to_beginning()) { (lang.t("First page", "Primera página")) } }
                @if page.has_more && let Some((at, id)) = page.items.last().map(place) {
                    a rel="next" href=(visitor.link_behind(at, id)) { (lang.t("Next page", "Página siguiente")) }
                }
            }
        }
    }
}

/// An id or address in a `dl.facts`, with a button that copies it. `key` is unique on the page.
pub(crate) fn copied(t: Lang, key: &str, name: &str, value: impl Display) -> Markup {
    let label = text!(t, "Copy {name}", "Copiar {name}");
    fact(
        name,
        html! {
            code #{ "copied-" (key) } { (value) }
            button.copy type="button" data-copy={ "copied-" (key) } aria-label=(label) title=(label) { (icon::Icon::COPY) }
        },
    )
}

/// A name and a value of one thing, in a `dl.facts`.
pub(crate) fn fact(name: &str, value: impl Render) -> Markup {
    html! { div { dt { (name) } dd { (value) } } }
}
