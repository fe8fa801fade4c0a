//! Markup that several pages share.

use maud::{Markup, html};

use super::fields;

/// A section of a page beside its operations.
pub(super) struct Section {
    pub(super) id: String,
    pub(super) title: String,
    pub(super) text: Markup,
}

impl Section {
    pub(super) fn new(id: &str, title: &str, text: Markup) -> Self {
        Self {
            id: id.to_owned(),
            title: title.to_owned(),
            text,
        }
    }
}

pub(super) fn draw(sections: &[Section]) -> Markup {
    html! {
        @for Section { id, title, text } in sections {
            section {
                h2 id=(id) { a href={ "#" (id) } { (title) } }
                (text)
            }
        }
    }
}

/// Text with its `code`.
pub(super) fn prose(text: &str) -> Markup {
    html! {
        @for (at, part) in text.split('`').enumerate() {
            @if at % 2 == 1 { code { (part) } } @else { (part) }
        }
    }
}

/// A method in its color.
pub(super) fn method(method: &str) -> Markup {
    html! { span.method.(method.to_lowercase()) { (method) } }
}

/// Fields with their descriptions. Only a request's fields show whether they are required; responses always have all.
pub(super) fn list(fields: &[fields::Field<'_>], sent: bool) -> Markup {
    html! {
        @if fields.is_empty() {
            p { "Nothing: an empty object, or no body at all." }
        } @else {
            dl.fields {
                @for field in fields {
                    dt {
                        code.name { (field.path) } " "
                        span.kind { (field.kind) }
                        @if sent && field.required { " " span.required { "required" } }
                    }
                    dd {
                        (prose(field.description))
                        @if !field.words.is_empty() {
                            " One of: "
                            @for (at, word) in field.words.iter().enumerate() {
                                @if at > 0 { ", " }
                                code { (word) }
                            }
                            "."
                        }
                        @if !field.limits.is_empty() { span.limits { " (" (field.limits.join(", ")) ")" } }
                        @if let Some((name, address)) = field.apart { " See " a href=(address) { (name) } "." }
                    }
                }
            }
        }
    }
}
