//! Concurrent edits of a record: a form carries the version of the record that its page showed, and a save that would
//! overwrite a later one is refused once.

use std::future::Future;

use ring::digest::{SHA256, digest};

use crate::prelude::*;
use crate::visit::TOKEN_FIELD;

/// The hidden field with the version of the record that the page showed.
pub(crate) const SHOWN_VERSION: &str = "shown_version";

/// Bytes of a version. It distinguishes edits within an account, and proves nothing.
const VERSION_BYTES: usize = 8;

/// The fields of a form for a stored record, with the record's version. A revision in [`SHOWN_VERSION`] covers what the form
/// does not show.
pub(crate) fn stamped(mut stored: Fields) -> Fields {
    let version = version_of(&stored);
    stored.set(SHOWN_VERSION, &version);
    stored
}

/// The hidden field of a form; nothing for a new record.
pub(crate) fn hidden(fields: &Fields) -> Markup {
    html! {
        @if let Some(version) = fields.get(SHOWN_VERSION) {
            input type="hidden" name=(SHOWN_VERSION) value=(version);
        }
    }
}

/// The submitted form with the stored version, if the record has changed since its page was opened: submitted again, it is
/// saved. A form that equals the stored record overwrites nothing, and one without a version comes from no page.
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

/// A refused form, and why.
pub(crate) struct Refused {
    pub(crate) fields: Fields,
    pub(crate) message: String,
}

/// Saves a form of a stored record, unless the record has changed since its page was opened. The inner error is for the
/// form, with these labels for its fields.
pub(crate) async fn save<R, T, E: Into<Trouble>>(
    post: &Post<R>,
    stored: &Fields,
    labels: &[(&str, &str)],
    work: impl Future<Output = Result<T, E>>,
) -> Result<Result<T, Refused>> {
    let (fields, message) = match stale(stored, &post.fields) {
        Some(late) => (late, message(post.lang()).to_owned()),
        None => match work.await {
            Ok(done) => return Ok(Ok(done)),
            Err(error) => (post.fields.clone(), post.message_of(error, labels)?),
        },
    };
    Ok(Err(Refused { fields, message }))
}

/// Whether the values are those that the form's page showed.
pub(crate) fn is_untouched(typed: &Fields, sent: &Fields) -> bool {
    sent.text(SHOWN_VERSION) == version_of(typed)
}

/// Why a stale form is refused.
pub(crate) const fn message(t: Lang) -> &'static str {
    t.t(
        "Someone changed this while you were editing. Your input is still in the form, not saved. If you save it, it \
         replaces the stored values. Open this page in another tab to see them.",
        "Alguien cambió esto mientras editabas. Lo que escribiste sigue en el formulario, sin guardar. Si lo guardas, \
         reemplaza lo guardado. Abre esta página en otra pestaña para ver lo que hay ahora.",
    )
}

fn version_of(stored: &Fields) -> String {
    let text = format!("{:?}{}", values(stored), stored.text(SHOWN_VERSION));
    let digest = digest(&SHA256, text.as_bytes());
    hex::encode(digest.as_ref().get(..VERSION_BYTES).unwrap_or_default())
}

/// The form's values, regardless of line ends and empty fields.
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
