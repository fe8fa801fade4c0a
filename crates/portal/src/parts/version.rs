//! Two people at one record: a form carries the version of the record that its page showed, and a save that would replace
//! a later one is refused once.

use std::future::Future;

use maud::{Markup, html};
use ring::digest::{SHA256, digest};

use crate::fields::Fields;
use crate::lang::Lang;
use crate::trouble::{Result, Trouble};
use crate::visit::{Post, TOKEN_FIELD};

/// The hidden field of a form: the version of the record that its page showed.
pub(crate) const SHOWN_VERSION: &str = "shown_version";

/// Bytes of a version. It tells apart what people of one account wrote, and proves nothing.
const VERSION_BYTES: usize = 8;

/// The fields of a form that shows a stored record, with the record's version. What the form does not show of the record
/// counts too if a revision stands in [`SHOWN_VERSION`] before.
pub(crate) fn stamped(mut stored: Fields) -> Fields {
    let version = version_of(&stored);
    stored.set(SHOWN_VERSION, &version);
    stored
}

/// The hidden field of a form; nothing where the form is of no record yet.
pub(crate) fn hidden(fields: &Fields) -> Markup {
    html! {
        @if let Some(version) = fields.get(SHOWN_VERSION) {
            input type="hidden" name=(SHOWN_VERSION) value=(version);
        }
    }
}

/// The form as it was sent, if the record has changed since its page was opened, but with the version that is stored now:
/// sent again, it is saved. A form that says what is stored already replaces nothing, and one without a version comes
/// from no page.
pub(crate) fn stale(stored: &Fields, sent: &Fields) -> Option<Fields> {
    let expected = sent.get(SHOWN_VERSION)?;
    let version = version_of(stored);
    if expected == version || values(sent) == values(stored) {
        return None;
    }
    let mut again = sent.clone();
    again.set(SHOWN_VERSION, &version);
    Some(again)
}

/// A form that was not taken, and why.
pub(crate) struct Refused {
    pub(crate) fields: Fields,
    pub(crate) said: String,
}

/// Does what a form of a stored record says, unless the record has changed since its page was opened. The inner error is for
/// the form, which calls its fields by these labels.
pub(crate) async fn save<R, T, E: Into<Trouble>>(
    post: &Post<R>,
    stored: &Fields,
    labels: &[(&str, &str)],
    work: impl Future<Output = Result<T, E>>,
) -> Result<Result<T, Refused>> {
    let (fields, said) = match stale(stored, &post.fields) {
        Some(late) => (late, said(post.lang()).to_owned()),
        None => match work.await {
            Ok(done) => return Ok(Ok(done)),
            Err(error) => (post.fields.clone(), post.told(error, labels)?),
        },
    };
    Ok(Err(Refused { fields, said }))
}

/// Whether these values are those that the page of the form showed.
pub(crate) fn is_untouched(typed: &Fields, sent: &Fields) -> bool {
    sent.text(SHOWN_VERSION) == version_of(typed)
}

/// Why a stale form is refused.
pub(crate) const fn said(t: Lang) -> &'static str {
    t.t(
        "While you were writing, somebody changed this. What you typed is still in the form and not saved; sent again, it \
         replaces what is stored. This page, opened in another tab, shows what is stored now.",
        "Mientras escribías, alguien cambió esto. Lo que escribiste sigue en el formulario, sin guardar; si lo envías otra \
         vez, reemplaza lo guardado. Esta página, abierta en otra pestaña, muestra lo guardado ahora.",
    )
}

fn version_of(stored: &Fields) -> String {
    let text = format!("{:?}{}", values(stored), stored.text(SHOWN_VERSION));
    let digest = digest(&SHA256, text.as_bytes());
    hex::encode(digest.as_ref().get(..VERSION_BYTES).unwrap_or_default())
}

/// What a form says, however its lines end and whichever fields are empty.
fn values(fields: &Fields) -> Vec<(&str, String)> {
    let mut values: Vec<_> = fields
        .iter()
        .filter(|(name, _)| ![SHOWN_VERSION, TOKEN_FIELD].contains(name))
        .map(|(name, value)| (name, value.trim().replace("\r\n", "\n")))
        .filter(|(_, value)| !value.is_empty())
        .collect();
    values.sort();
    values
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form(text: &str) -> Fields {
        Fields::parse(text.as_bytes())
    }

    /// The page of `seen`, sent with `typed` when `stored` is stored.
    fn sent(seen: &str, typed: &str, stored: &str) -> Option<Fields> {
        let mut typed = form(typed);
        typed.set(SHOWN_VERSION, stamped(form(seen)).text(SHOWN_VERSION));
        stale(&form(stored), &typed)
    }

    #[test]
    fn a_form_replaces_what_its_page_showed_and_nothing_later() {
        let seen = "label=Desk&agent=1";
        assert!(sent(seen, "label=Night&agent=", seen).is_none());
        let stored = "label=Night&agent=1";
        let late = sent(seen, "label=Desk&agent=2", stored).unwrap();
        assert_eq!((late.text("label"), late.text("agent")), ("Desk", "2"));
        assert!(stale(&form(stored), &late).is_none());
        // But not what was stored once more in between.
        assert!(stale(&form("label=&agent=1"), &late).is_some());
    }

    #[test]
    fn what_was_typed_as_it_is_stored_replaces_nothing() {
        let night = "label=Night&agent=1";
        assert!(sent("label=Desk&agent=1", night, night).is_none());
        let lines = "label=a%0D%0Ab&agent=1&other=";
        assert!(sent("label=Desk&agent=1", lines, "agent=1&label=a%0Ab").is_none());
    }
}
