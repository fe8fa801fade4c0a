//! The controls of the editor: each shows its input, its rule, and why it was refused.

use std::cell::RefCell;

use offhook_domain::json::member_path;

use super::choices::ProviderOption;
use super::document::{
    FALLBACK_VOICES, OTHER, PRONUNCIATION, VARIABLES, cell, rows, rows_and_more,
};
use super::languages::LANGUAGES;
use crate::parts::form::sentence;
use crate::prelude::*;
use crate::trouble::field_of;

/// Why a field was refused, by the path that the rules name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::pages) struct Fault {
    /// The field's name in the form.
    path: String,
    message: String,
}

impl Fault {
    pub(in crate::pages) fn all_of(messages: &[String], fields: &Fields) -> Vec<Self> {
        let faults = messages.iter();
        faults.filter_map(|text| Self::of(text, fields)).collect()
    }

    /// The field that a refusal names.
    fn of(text: &str, fields: &Fields) -> Option<Self> {
        let (path, message) = field_of(text)?;
        let path = path.strip_prefix("config.").unwrap_or(path);
        // A provider's settings are one field.
        for of in ["stt.settings", "voice.settings"] {
            let member = path
                .strip_prefix(of)
                .and_then(|rest| rest.strip_prefix('.'));
            if let Some(member) = member {
                return Some(Self {
                    path: of.to_owned(),
                    message: format!("{member}: {message}"),
                });
            }
        }
        Some(Self {
            path: named_row(path, fields).unwrap_or_else(|| path.to_owned()),
            message: message.to_owned(),
        })
    }
}

/// The row whose first column is the name in the path.
fn named_row(path: &str, fields: &Fields) -> Option<String> {
    let of = [VARIABLES, FALLBACK_VOICES].into_iter();
    let mut found = of.filter_map(|(of, columns)| {
        let name = path.strip_prefix(of)?.strip_prefix('.')?;
        let rows = rows(fields, of, columns);
        let place = rows.iter().position(|row| {
            let rest = name.strip_prefix(row.values[0]);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        })?;
        let is_value = name.ends_with(".default") || of == FALLBACK_VOICES.0;
        Some(cell(of, place, columns[usize::from(is_value)]))
    });
    found.next()
}

/// A form that is being drawn.
pub(in crate::pages) struct Sheet<'a> {
    pub(in crate::pages) lang: Lang,
    /// What it shows.
    pub(in crate::pages) fields: &'a Fields,
    pub(in crate::pages) faults: Vec<Fault>,
    /// The rows to which rows were added.
    pub(in crate::pages) add: &'a str,
    /// The refused fields that are drawn: the fault's path, the id of the control, its label.
    pub(in crate::pages) refused: RefCell<Vec<Drawn>>,
    /// The ids and titles of the groups that are drawn.
    pub(in crate::pages) groups: RefCell<Vec<(String, String)>>,
}

/// A control of a refused field.
#[derive(Debug)]
pub(in crate::pages) struct Drawn {
    path: String,
    id: String,
    label: String,
}

/// A flag of each row, and what draws it: by the row's name, and whether it is set.
type Beside<'a> = (&'a str, &'a dyn Fn(&str, bool) -> Markup);

/// Rows with nothing beside their columns.
pub(super) const PLAIN_ROWS: Beside<'_> = ("", &|_, _| html! {});

/// A control's label, rule and list.
#[derive(Clone, Copy, Default)]
pub(in crate::pages) struct Says<'a> {
    pub(in crate::pages) label: &'a str,
    pub(super) hint: &'a str,
    /// The id of a `datalist`.
    pub(super) list: Option<&'a str>,
}

/// A label and its rule.
pub(in crate::pages) const fn says<'a>(label: &'a str, hint: &'a str) -> Says<'a> {
    Says {
        label,
        hint,
        list: None,
    }
}

/// A slider's ends and step, the value of an empty field, and the unit.
pub(in crate::pages) struct Span<'a> {
    low: f64,
    high: f64,
    step: f64,
    usual: f64,
    unit: &'a str,
}

pub(in crate::pages) const fn span(ends: [f64; 2], step: f64, usual: f64, unit: &str) -> Span<'_> {
    Span {
        low: ends[0],
        high: ends[1],
        step,
        usual,
        unit,
    }
}

impl Sheet<'_> {
    /// The refusal as a sentence that leads to its control, by the control's label, and the control's place on the page;
    /// `None` if no control is of that field.
    fn link_of(&self, fault: &Fault) -> Option<(usize, Markup)> {
        let refused = self.refused.borrow();
        let place = refused.iter().position(|drawn| drawn.path == fault.path)?;
        let drawn = &refused[place];
        let link =
            html! { a href={ "#" (drawn.id) } { (drawn.label) ": " (sentence(&fault.message)) } };
        Some((place + 1, link))
    }

    /// Everything for which the form was refused, in the order of the page; a fault of a control leads to it.
    pub(in crate::pages) fn links(&self, messages: &[String]) -> Vec<Markup> {
        let links = messages.iter().map(|message| {
            let link = Fault::of(message, self.fields).and_then(|fault| self.link_of(&fault));
            link.unwrap_or_else(|| (0, sentence(message)))
        });
        let mut links: Vec<(usize, Markup)> = links.collect();
        links.sort_by_key(|(place, _)| *place);
        links.into_iter().map(|(_, link)| link).collect()
    }

    /// Keeps a field's control if it is refused.
    fn call(&self, name: &str, label: &str) {
        if self.fault_of(name).is_some() {
            self.keep(name, id_of(name), label);
        }
    }

    fn keep(&self, path: &str, id: String, label: &str) {
        self.refused.borrow_mut().push(Drawn {
            path: path.to_owned(),
            id,
            label: label.to_owned(),
        });
    }

    /// The refused fields that begin so are in this group: other groups have fields of the same label.
    pub(super) fn call_within(&self, group: &str, begins: &[&str]) {
        for drawn in self.refused.borrow_mut().iter_mut() {
            if begins.iter().any(|begins| is_within(&drawn.path, begins)) {
                drawn.label = format!("{group}, {}", drawn.label);
            }
        }
    }

    pub(in crate::pages) fn line(&self, name: &str, says: Says<'_>) -> Markup {
        self.input("text", name, says)
    }

    /// A number with its unit. The slider beside it writes into it, and is there only with scripts: the number itself is
    /// what is sent, so that a value between two steps stays as it is.
    pub(in crate::pages) fn slider(&self, name: &str, span: Span<'_>, says: Says<'_>) -> Markup {
        let Span {
            low,
            high,
            step,
            usual,
            unit,
        } = span;
        let slides = text!(
            self.lang,
            "{} (slider)",
            "{} (control deslizante)",
            says.label
        );
        self.field(name, says, &|id, described| {
            html! {
                div.slider {
                    input type="range" data-slides=(id) data-usual=(usual) min=(low) max=(high) step=(step)
                        aria-label=(slides) aria-describedby=[described] hidden;
                    input #(id) type="text" inputmode="decimal" name=(name) value=(self.fields.raw(name)) autocomplete="off"
                        spellcheck="false" aria-describedby=[described]
                        aria-invalid=[self.fault_of(name).map(|_| "true")];
                    @if !unit.is_empty() { span.unit { (unit) } }
                }
            }
        })
    }

    /// A time of day.
    pub(in crate::pages) fn time(&self, name: &str, says: Says<'_>) -> Markup {
        self.input("time", name, says)
    }

    fn input(&self, kind: &str, name: &str, says: Says<'_>) -> Markup {
        self.field(name, says, &|id, described| {
            html! {
                input #(id) type=(kind) name=(name) value=(self.fields.raw(name)) autocomplete="off"
                    spellcheck="false" list=[says.list] aria-describedby=[described]
                    aria-invalid=[self.fault_of(name).map(|_| "true")];
            }
        })
    }

    /// Several lines.
    pub(super) fn text(&self, name: &str, rows: u8, says: Says<'_>) -> Markup {
        self.field(name, says, &|id, described| {
            html! {
                textarea #(id) name=(name) rows=(rows) dir="auto" aria-describedby=[described]
                    aria-invalid=[self.fault_of(name).map(|_| "true")] { "\n" (self.fields.raw(name)) }
            }
        })
    }

    /// A choice of one. A value that is not among the options is shown too.
    pub(in crate::pages) fn choice(
        &self,
        name: &str,
        says: Says<'_>,
        options: &[(&str, &str)],
    ) -> Markup {
        let options = options.iter();
        let options: Vec<_> = options.map(|(value, text)| (*value, *text, true)).collect();
        self.select(name, says, &options)
    }

    /// A choice of a provider, or of none.
    pub(super) fn provider(
        &self,
        name: &str,
        says: Says<'_>,
        none: &str,
        options: &[ProviderOption],
    ) -> Markup {
        let options = options.iter();
        let options = options.map(|one| (one.name.as_str(), one.label.as_str(), one.may_be_chosen));
        let all: Vec<_> = std::iter::once(("", none, true)).chain(options).collect();
        self.select(name, says, &all)
    }

    /// Value, text, and whether it may be chosen.
    fn select(&self, name: &str, says: Says<'_>, options: &[(&str, &str, bool)]) -> Markup {
        let chosen = self.fields.text(name);
        let known = options.iter().any(|(value, ..)| *value == chosen);
        self.field(name, says, &|id, described| {
            html! {
                select #(id) name=(name) aria-describedby=[described]
                    aria-invalid=[self.fault_of(name).map(|_| "true")] {
                    @if !known { option value=(chosen) selected { (chosen) } }
                    @for (value, text, may) in options {
                        // Browsers do not send a chosen option that is disabled.
                        @let is_chosen = *value == chosen;
                        option value=(value) selected[is_chosen] disabled[!may && !is_chosen] { (text) }
                    }
                }
            }
        })
    }

    /// A common language, or a tag that is typed. `none` is the choice of none, if there is one.
    pub(super) fn language(&self, name: &str, says: Says<'_>, none: Option<&str>) -> Markup {
        let t = self.lang;
        let other = member_path(name, OTHER);
        let options = none.map(|none| ("", none)).into_iter().chain(LANGUAGES);
        let last = (OTHER, t.t("Other…", "Otro…"));
        let options: Vec<_> = options.chain([last]).collect();
        html! {
            div.language { (self.choice(name, says, &options)) }
            div.other-language {
                (self.line(&other, self::says(t.t("Other language", "Otro idioma"), t.t(
                    "For \"Other…\" above: a language tag, such as nl or pt-PT.",
                    "Para «Otro…» arriba: una etiqueta de idioma, como nl o pt-PT."))))
            }
        }
    }

    /// A checkbox.
    pub(super) fn tick(&self, name: &str, label: &str, hint: &str) -> Markup {
        self.call(name, label);
        let id = id_of(name);
        let hint_id = (!hint.is_empty()).then(|| format!("{id}-hint"));
        html! {
            div.field {
                label.check for=(id) {
                    input #(id) type="checkbox" name=(name) value="on" checked[self.fields.is_set(name)]
                        aria-describedby=[hint_id.as_deref()];
                    span { (label) }
                }
                @if let Some(hint_id) = &hint_id { p.hint #(hint_id) { (hint) } }
                (self.note(name))
            }
        }
    }

    /// Checkboxes that share a name: value, label.
    pub(in crate::pages) fn ticks(
        &self,
        name: &str,
        legend: &str,
        boxes: &[(String, String)],
    ) -> Markup {
        let chosen: Vec<&str> = self.fields.all(name).map(str::trim).collect();
        let within = self
            .faults
            .iter()
            .find(|fault| is_within(&fault.path, name));
        if let Some(fault) = within {
            self.keep(&fault.path, id_of(name), legend);
        }
        html! {
            fieldset.plain #(id_of(name)) tabindex=[within.map(|_| "-1")] {
                legend { (legend) }
                @for (value, label) in boxes {
                    (crate::parts::form::check(name, value, label, chosen.contains(&value.as_str())))
                }
                @if let Some(fault) = within { p.fault { (sentence(&fault.message)) } }
            }
        }
    }

    /// Rows of two columns, with empty ones to fill in.
    pub(super) fn rows(
        &self,
        (of, columns): (&str, [&str; 2]),
        legend: &str,
        heads: [Says<'_>; 2],
        (flag, beside): Beside<'_>,
    ) -> Markup {
        let all = rows_and_more(self.fields, of, columns, self.add);
        self.call(of, legend);
        for place in 0..all.len() {
            for (column, head) in columns.into_iter().zip(heads) {
                let label = format!("{legend} ({}), {}", place + 1, head.label);
                self.call(&cell(of, place, column), &label);
            }
        }
        html! {
            fieldset.rows #(id_of(of)) tabindex=[self.fault_of(of).map(|_| "-1")] {
                // A group of nothing else has this name already.
                legend.unseen[[VARIABLES.0, PRONUNCIATION.0].contains(&of)] { (legend) }
                @if let Some(fault) = self.fault_of(of) { p.fault { (sentence(fault)) } }
                @for (place, row) in all.into_iter().enumerate() {
                    div.row {
                        @for (at, column) in columns.into_iter().enumerate() {
                            @let name = cell(of, place, column);
                            @let id = id_of(&name);
                            div.field {
                                label for=(id) { (heads[at].label) }
                                input #(id) type="text" name=(name) value=(row.values[at]) autocomplete="off"
                                    spellcheck="false" list=[heads[at].list]
                                    aria-invalid=[self.fault_of(&name).map(|_| "true")]
                                    aria-describedby=[self.fault_of(&name).map(|_| fault_id(&name))];
                                (self.note(&name))
                            }
                        }
                        // By the row's number in the submitted form.
                        (beside(&cell(of, place, ""), self.fields.is_set(&cell(of, row.place, flag))))
                    }
                }
                @for head in heads.iter().filter(|head| !head.hint.is_empty()) { p.hint { (head.hint) } }
                button type="submit" name="add" value=(of) formnovalidate { (self.lang.t("Add rows", "Agregar filas")) }
            }
        }
    }

    fn field(
        &self,
        name: &str,
        says: Says<'_>,
        control: &dyn Fn(&str, Option<&str>) -> Markup,
    ) -> Markup {
        self.call(name, says.label);
        let id = id_of(name);
        let hint = (!says.hint.is_empty()).then(|| format!("{id}-hint"));
        let fault = self.fault_of(name).map(|_| fault_id(name));
        let described = hint.iter().chain(&fault).cloned().collect::<Vec<String>>();
        let described = (!described.is_empty()).then(|| described.join(" "));
        html! {
            div.field {
                label for=(id) { (says.label) }
                (control(&id, described.as_deref()))
                @if let Some(hint) = &hint { p.hint #(hint) { (says.hint) } }
                (self.note(name))
            }
        }
    }

    fn note(&self, name: &str) -> Markup {
        html! { @if let Some(fault) = self.fault_of(name) { p.fault #(fault_id(name)) { (sentence(fault)) } } }
    }

    fn fault_of(&self, name: &str) -> Option<&str> {
        let mut faults = self.faults.iter();
        let fault = faults.find(|fault| fault.path == name)?;
        Some(&fault.message)
    }

    /// Whether a field whose path begins so is refused.
    pub(super) fn is_refused_in(&self, begins: &str) -> bool {
        let mut faults = self.faults.iter();
        faults.any(|fault| is_within(&fault.path, begins))
    }
}

fn is_within(path: &str, begins: &str) -> bool {
    let rest = path.strip_prefix(begins);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}

/// The id of the sentence that says why a field was refused.
fn fault_id(name: &str) -> String {
    format!("{}-fault", id_of(name))
}

/// The id of a field's control.
pub(super) fn id_of(name: &str) -> String {
    format!("field-{name}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_finds_its_field_by_its_path() {
        let fields = Fields::parse(
            b"dynamic_variables[0].name=first&dynamic_variables[1].name=9x&dynamic_variables[1].default=a",
        );
        let of = |text: &str| Fault::of(text, &fields).map(|fault| fault.path);
        assert_eq!(
            of("`config.llm.fallback[0].model`: no"),
            Some("llm.fallback[0].model".to_owned())
        );
        assert_eq!(of("`name`: is required"), Some("name".to_owned()));
        assert_eq!(
            of("`config.dynamic_variables.9x`: no"),
            Some("dynamic_variables[1].name".to_owned())
        );
        let default = of("`config.dynamic_variables.first.default`: no");
        assert_eq!(default, Some("dynamic_variables[0].default".to_owned()));
        assert_eq!(of("the agent is archived"), None);
    }
}
