//! Two people at one record: an edit form says what its page showed of the record, and what somebody else has stored since
//! is told before it is replaced.
//!
//! What was seen travels in a field of the form, as all else that is in it: a form that is drawn anew with what was typed
//! is still one of the page that was seen first.

use std::fmt::Display;

use maud::{Markup, html};
use ring::digest::{SHA256, digest};

use crate::fields::Fields;
use crate::lang::Lang;

/// The hidden field of a form: a digest of each value that its page showed, in their order, with dots between them.
pub(crate) const SEEN: &str = "seen";

/// Bytes of a digest. It tells values apart that people of one account wrote, and proves nothing.
const DIGEST_BYTES: usize = 8;

/// Characters of a stored value that are told.
const TOLD: usize = 200;

/// One value of a form: as it is stored, or as it was typed.
pub(crate) struct Shown {
    label: String,
    value: String,
    words: Option<String>,
    mark: String,
}

impl Shown {
    /// The value of a field, by the label that it has on the page.
    pub(crate) fn of(fields: &Fields, name: &str, label: impl Into<String>) -> Self {
        Self::new(label, fields.text(name))
    }

    /// A value that is in several fields, or may be written in several ways; it is the same only if its text is.
    pub(crate) fn new(label: impl Into<String>, value: &str) -> Self {
        Self {
            label: label.into(),
            value: value.replace("\r\n", "\n"),
            words: None,
            mark: String::new(),
        }
    }

    /// The words by which it is told, where the value is a name for programs.
    pub(crate) fn said(mut self, words: impl Into<String>) -> Self {
        self.words = Some(words.into());
        self
    }

    /// Another mark means that a part of it which no page shows may have changed.
    pub(crate) fn marked(mut self, mark: impl Display) -> Self {
        self.mark = mark.to_string();
        self
    }

    fn digest(&self) -> String {
        let text = format!("{}\0{}", self.value, self.mark);
        let digest = digest(&SHA256, text.as_bytes());
        let beginning = digest.as_ref().get(..DIGEST_BYTES);
        hex::encode(beginning.unwrap_or_default())
    }

    /// The label and what is stored, as much of it as a sentence holds.
    fn told(&self, t: Lang) -> String {
        let label = &self.label;
        let words = self.words.as_deref().unwrap_or(&self.value);
        if words.is_empty() {
            return format!("{label}: {}", t.t("nothing", "nada"));
        }
        let end = if self.is_cut() { "…" } else { "" };
        let begin: String = words.chars().take(TOLD).collect();
        match t {
            Lang::En => format!("{label}: “{begin}{end}”"),
            Lang::Es => format!("{label}: «{begin}{end}»"),
        }
    }

    fn is_cut(&self) -> bool {
        let words = self.words.as_deref().unwrap_or(&self.value);
        words.chars().nth(TOLD).is_some()
    }
}

/// The fields of a form that shows what is stored, with what is seen there. `shown` reads the values of a form.
pub(crate) fn stamped(mut stored: Fields, shown: impl Fn(&Fields) -> Vec<Shown>) -> Fields {
    stored.set(SEEN, &stamp(&shown(&stored)));
    stored
}

/// The hidden field of a form; nothing where the form is of no record yet.
pub(crate) fn hidden(fields: &Fields) -> Markup {
    html! { @if let Some(seen) = fields.get(SEEN) { input type="hidden" name=(SEEN) value=(seen); } }
}

/// A form that would replace what somebody else has stored since its page was opened.
#[derive(Debug)]
pub(crate) struct Overtaken {
    /// The form as it was sent, but that it has seen by now what is stored: sent again, it is saved.
    pub(crate) fields: Fields,
    /// What is stored now, and what to do.
    pub(crate) said: String,
}

/// Compares what a form has seen with what is stored; `None` if it replaces nothing that its page did not show. What was
/// typed as it is stored replaces nothing, and a form that does not say what it has seen is no page's.
pub(crate) fn overtaken(
    t: Lang,
    stored: &Fields,
    sent: &Fields,
    shown: impl Fn(&Fields) -> Vec<Shown>,
) -> Option<Overtaken> {
    let mut seen = sent.get(SEEN)?.split('.');
    let (stored, typed) = (shown(stored), shown(sent));
    let is_lost = |(stored, typed): &(&Shown, &Shown)| {
        let is_news = seen.next() != Some(stored.digest().as_str());
        is_news && stored.value != typed.value
    };
    let lost: Vec<_> = stored.iter().zip(&typed).filter(is_lost).collect();
    if lost.is_empty() {
        return None;
    }
    let lost: Vec<&Shown> = lost.into_iter().map(|(stored, _)| stored).collect();
    let mut fields = sent.clone();
    fields.set(SEEN, &stamp(&stored));
    let said = sentence(t, &lost);
    Some(Overtaken { fields, said })
}

/// Whether a form was sent with every one of these values as its page showed it.
pub(crate) fn is_untouched(sent: &Fields, shown: impl Fn(&Fields) -> Vec<Shown>) -> bool {
    sent.text(SEEN) == stamp(&shown(sent))
}

fn stamp(shown: &[Shown]) -> String {
    let digests: Vec<String> = shown.iter().map(Shown::digest).collect();
    digests.join(".")
}

fn sentence(t: Lang, lost: &[&Shown]) -> String {
    let why = t.t(
        "While you were writing, somebody changed this.",
        "Mientras escribías, alguien cambió esto.",
    );
    let values: Vec<String> = lost.iter().map(|shown| shown.told(t)).collect();
    let values = values.join("; ");
    let whole = match lost.iter().any(|shown| shown.is_cut()) {
        true => t.t(
            " This page, opened in another tab, shows the whole of it.",
            " Esta página, abierta en otra pestaña, lo muestra completo.",
        ),
        false => "",
    };
    match t {
        Lang::En => format!(
            "{why} Stored now: {values}.{whole} What you typed is still in the form and not saved; sent again, it replaces \
             what is stored."
        ),
        Lang::Es => format!(
            "{why} Guardado ahora: {values}.{whole} Lo que escribiste sigue en el formulario, sin guardar; si lo envías otra \
             vez, reemplaza lo guardado."
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form(text: &str) -> Fields {
        Fields::parse(text.as_bytes())
    }

    fn shown(fields: &Fields) -> Vec<Shown> {
        let agent = fields.text("agent");
        let name = if agent == "1" { "Eva" } else { agent };
        vec![
            Shown::of(fields, "label", "Label"),
            Shown::of(fields, "agent", "Agent").said(name),
        ]
    }

    /// The page of `seen`, sent with `typed` when `stored` is stored.
    fn sent(seen: &str, typed: &str, stored: &str) -> Option<Overtaken> {
        let mut typed = form(typed);
        typed.set(SEEN, stamped(form(seen), shown).text(SEEN));
        overtaken(Lang::En, &form(stored), &typed, shown)
    }

    #[test]
    fn a_form_replaces_what_its_page_showed() {
        let seen = "label=Desk&agent=1";
        assert!(sent(seen, "label=Night&agent=", seen).is_none());
        assert!(sent(seen, seen, seen).is_none());
        assert!(sent("label=", "label=Night", "").is_none());
    }

    #[test]
    fn what_was_stored_meanwhile_is_told_and_replaced_by_the_second_sending() {
        let stored = "label=Night&agent=1";
        let late = sent("label=Desk&agent=1", "label=Desk&agent=2", stored).unwrap();
        assert_eq!(
            late.said,
            "While you were writing, somebody changed this. Stored now: Label: “Night”. What you typed is still in the form \
             and not saved; sent again, it replaces what is stored."
        );
        assert_eq!(
            (late.fields.text("label"), late.fields.text("agent")),
            ("Desk", "2")
        );
        assert!(overtaken(Lang::En, &form(stored), &late.fields, shown).is_none());
        // But not what was stored once more in between.
        let again = overtaken(Lang::Es, &form("label=&agent=1"), &late.fields, shown).unwrap();
        assert_eq!(
            again.said,
            "Mientras escribías, alguien cambió esto. Guardado ahora: Label: nada. Lo que escribiste sigue en el formulario, \
             sin guardar; si lo envías otra vez, reemplaza lo guardado."
        );
    }

    #[test]
    fn what_was_typed_as_it_is_stored_replaces_nothing() {
        let night = "label=Night&agent=1";
        assert!(sent("label=Desk&agent=1", night, night).is_none());
        let lines = "label=a%0D%0Ab&agent=1";
        assert!(sent("label=Desk&agent=1", lines, "label=a%0Ab&agent=1").is_none());
    }

    #[test]
    fn a_form_that_does_not_say_what_it_has_seen_is_taken_as_it_is() {
        let (stored, typed) = (form("label=Desk&agent=1"), form("label=Desk&agent="));
        assert!(overtaken(Lang::En, &stored, &typed, shown).is_none());
    }

    #[test]
    fn another_mark_is_a_change_of_what_no_page_shows() {
        let of = |mark: u8| {
            move |fields: &Fields| vec![Shown::of(fields, "header", "Headers").marked(mark)]
        };
        let page = stamped(form("header=X-Key"), of(1));
        let mut typed = page.clone();
        assert!(overtaken(Lang::En, &page, &typed, of(2)).is_none());
        typed.set("header", "X-Key: another");
        assert!(overtaken(Lang::En, &page, &typed, of(1)).is_none());
        let late = overtaken(Lang::En, &page, &typed, of(2)).unwrap();
        assert!(late.said.contains("Headers: “X-Key”"), "{}", late.said);
    }

    #[test]
    fn a_long_value_is_told_by_its_beginning() {
        let long = format!("label={}&agent=1", "ñ".repeat(TOLD + 1));
        let late = sent("label=Desk&agent=1", "label=Night&agent=1", &long).unwrap();
        let told = format!(
            "“{}…”. This page, opened in another tab, shows the whole of it.",
            "ñ".repeat(TOLD)
        );
        assert!(late.said.contains(&told), "{}", late.said);
    }

    #[test]
    fn a_form_is_untouched_until_one_of_its_values_is_another() {
        let mut page = stamped(form("label=Desk&agent=1"), shown);
        assert!(is_untouched(&page, shown));
        page.set("label", "Night");
        assert!(!is_untouched(&page, shown));
        assert!(!is_untouched(&form("label=Desk&agent=1"), shown));
    }
}
