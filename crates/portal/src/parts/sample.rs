//! Code that is read and copied.

use super::json;
use crate::prelude::*;

/// Code with a copy button. `name` is its id on the page.
pub(crate) fn code(t: Lang, name: &str, label: &str, text: &str) -> Markup {
    drawn(t, name, label, text, false)
}

/// The same with its lines broken.
pub(crate) fn wrapped(t: Lang, name: &str, label: &str, text: &str) -> Markup {
    drawn(t, name, label, text, true)
}

fn drawn(t: Lang, name: &str, label: &str, text: &str, is_wrapped: bool) -> Markup {
    let id = format!("sample-{name}");
    html! {
        div.sample {
            div.sample-head {
                span { (label) }
                button type="button" data-copy=(id) { (t.t("Copy", "Copiar")) span.unseen { " " (label) } }
            }
            pre.wrapped[is_wrapped] #(id) tabindex="0" aria-label=(label) { (json::colored(text)) }
        }
    }
}

/// The same program in several languages, of which one is open. Each has its label, its name and its text.
pub(crate) fn programs(t: Lang, programs: &[(&str, &str, &str)]) -> Markup {
    html! {
        div.programs {
            @for (place, (label, name, text)) in programs.iter().enumerate() {
                details.group name="programs" open[place == 0] {
                    summary { (label) }
                    (code(t, name, label, text.trim_end()))
                }
            }
        }
    }
}
