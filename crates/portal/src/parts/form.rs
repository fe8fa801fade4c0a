//! Forms and their fields. Every form is a plain POST that carries its session's token.

use maud::{Markup, Render, html};

use crate::visit::{TOKEN_FIELD, Visitor};

pub(crate) use crate::visit::{button, form};

/// As [`form`], with a warning when leaving the page after a change.
pub(crate) fn kept(visitor: &Visitor, path: &str, fields: &Markup) -> Markup {
    html! {
        form method="post" action={ (crate::PATH) (path) } data-keep="" {
            input type="hidden" name=(TOKEN_FIELD) value=(visitor.form_token());
            (fields)
        }
    }
}

/// As [`button`], for what cannot be undone: the browser asks for confirmation. `label` is the action, `question` its
/// effect.
pub(crate) fn danger(visitor: &Visitor, path: &str, label: &str, question: &str) -> Markup {
    form(
        visitor,
        path,
        &html! {
            button.danger type="submit" data-confirm=(question) { (label) }
        },
    )
}

/// Why a form was refused.
pub(crate) fn refusal(message: Option<&str>) -> Markup {
    html! { @if let Some(message) = message { p.refusal role="alert" tabindex="-1" { (sentence(message)) } } }
}

/// A sentence of the rules, which name values in backquotes.
pub(crate) fn sentence(text: &str) -> Markup {
    html! {
        @for (at, part) in text.split('`').enumerate() {
            @if at % 2 == 1 { code { (part) } } @else { (part) }
        }
    }
}

/// A field of one line, or of several.
pub(crate) struct Input<'a> {
    kind: &'static str,
    name: &'a str,
    label: &'a str,
    value: &'a str,
    hint: &'a str,
    autocomplete: &'static str,
    list: Option<&'static str>,
    rows: u8,
    is_json: bool,
    required: bool,
    fixed: bool,
}

impl<'a> Input<'a> {
    /// A line of text.
    pub(crate) const fn text(name: &'a str, label: &'a str) -> Self {
        Self {
            kind: "text",
            name,
            label,
            value: "",
            hint: "",
            autocomplete: "off",
            list: None,
            rows: 0,
            is_json: false,
            required: false,
            fixed: false,
        }
    }

    /// A line of another kind of `<input>`: `email`, `password`, `number`, `url`, `search`, `date`, `datetime-local`.
    pub(crate) const fn kind(mut self, kind: &'static str) -> Self {
        self.kind = kind;
        self
    }

    /// So many lines of text.
    pub(crate) const fn rows(mut self, rows: u8) -> Self {
        self.rows = rows;
        self
    }

    /// So many lines of JSON, which has its colors.
    pub(crate) const fn json(self, rows: u8) -> Self {
        let mut field = self.rows(rows);
        field.is_json = true;
        field
    }

    /// Its current value.
    pub(crate) const fn value(mut self, value: &'a str) -> Self {
        self.value = value;
        self
    }

    /// A hint below it.
    pub(crate) const fn hint(mut self, hint: &'a str) -> Self {
        self.hint = hint;
        self
    }

    /// The `datalist` that suggests values.
    pub(crate) const fn list(mut self, id: &'static str) -> Self {
        self.list = Some(id);
        self
    }

    /// It may not be empty.
    pub(crate) const fn required(mut self) -> Self {
        self.required = true;
        self
    }

    /// Shown and sent, but read-only.
    pub(crate) const fn fixed(mut self) -> Self {
        self.fixed = true;
        self
    }

    /// What browsers may fill in (`autocomplete`).
    pub(crate) const fn autocomplete(mut self, what: &'static str) -> Self {
        self.autocomplete = what;
        self
    }
}

impl Render for Input<'_> {
    fn render(&self) -> Markup {
        let id = format!("field-{}", self.name);
        let hint = (!self.hint.is_empty()).then(|| format!("{id}-hint"));
        html! {
            div.field {
                label for=(id) { (self.label) }
                @if self.rows > 0 {
                    textarea #(id) name=(self.name) rows=(self.rows) required[self.required] aria-describedby=[hint.as_deref()]
                        dir="auto" spellcheck="false" data-json[self.is_json] { "\n" (self.value) }
                } @else {
                    input #(id) type=(self.kind) name=(self.name) value=(self.value) required[self.required] readonly[self.fixed]
                        list=[self.list] autocomplete=(self.autocomplete) aria-describedby=[hint.as_deref()] step=[(self.kind == "number").then_some("any")]
                        dir=[(self.kind == "text").then_some("auto")];
                }
                @if let Some(hint) = &hint { p.hint #(hint) { (self.hint) } }
            }
        }
    }
}

/// A choice of one.
pub(crate) struct Select<'a> {
    name: &'a str,
    label: &'a str,
    chosen: &'a str,
    hint: &'a str,
    options: Vec<(String, String)>,
}

impl<'a> Select<'a> {
    /// A choice without options yet.
    pub(crate) const fn new(name: &'a str, label: &'a str) -> Self {
        Self {
            name,
            label,
            chosen: "",
            hint: "",
            options: Vec::new(),
        }
    }

    /// One more option: its value and what is read.
    pub(crate) fn option(mut self, value: impl Into<String>, text: impl Into<String>) -> Self {
        self.options.push((value.into(), text.into()));
        self
    }

    /// More options.
    pub(crate) fn options<V: Into<String>, T: Into<String>>(
        mut self,
        options: impl IntoIterator<Item = (V, T)>,
    ) -> Self {
        let options = options
            .into_iter()
            .map(|(value, text)| (value.into(), text.into()));
        self.options.extend(options);
        self
    }

    /// The selected value. A value without an option is shown too: nothing changes unseen.
    pub(crate) const fn chosen(mut self, value: &'a str) -> Self {
        self.chosen = value;
        self
    }

    /// A hint below it.
    pub(crate) const fn hint(mut self, hint: &'a str) -> Self {
        self.hint = hint;
        self
    }
}

impl Render for Select<'_> {
    fn render(&self) -> Markup {
        let id = format!("field-{}", self.name);
        let hint = (!self.hint.is_empty()).then(|| format!("{id}-hint"));
        let known =
            self.chosen.is_empty() || self.options.iter().any(|(value, _)| value == self.chosen);
        html! {
            div.field {
                label for=(id) { (self.label) }
                select #(id) name=(self.name) aria-describedby=[hint.as_deref()] {
                    @if !known { option value=(self.chosen) selected { (self.chosen) } }
                    @for (value, text) in &self.options {
                        option value=(value) selected[value == self.chosen] { (text) }
                    }
                }
                @if let Some(hint) = &hint { p.hint #(hint) { (self.hint) } }
            }
        }
    }
}

/// A checkbox. Its value is `on` unless several share a name.
pub(crate) fn check(name: &str, value: &str, label: &str, is_set: bool) -> Markup {
    html! {
        label.check {
            input type="checkbox" name=(name) value=(value) checked[is_set];
            span { (label) }
        }
    }
}

/// As [`check`], with a sentence below it.
pub(crate) fn check_about(
    name: &str,
    value: &str,
    label: &str,
    about: &str,
    is_set: bool,
) -> Markup {
    let hint = format!("field-{name}-{value}-hint");
    html! {
        label.check {
            input type="checkbox" name=(name) value=(value) checked[is_set] aria-describedby=(hint);
            span { (label) }
        }
        p.hint #(hint) { (about) }
    }
}
