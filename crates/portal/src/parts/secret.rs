//! A secret that a page shows once: neither its address nor a cookie holds it.

use uuid::Uuid;

use crate::prelude::*;

impl Visitor {
    /// Keeps a secret of the row `id` for the page to which this change leads.
    pub(crate) async fn show_once(&self, id: Uuid, secret: &str) -> Result<()> {
        let people = self.services().people();
        Ok(people.show_once(&self.person, id, secret).await?)
    }

    /// That secret, unless it was shown.
    pub(crate) async fn shown_once(&self, id: Uuid) -> Result<Option<String>> {
        let people = self.services().people();
        Ok(people.shown_once(&self.person, id).await?)
    }
}

/// What the link back says.
pub(crate) const fn done<'a>(t: Lang, secret: Option<&str>, back: &'a str) -> &'a str {
    match secret {
        Some(_) => t.t("I've saved it", "Ya lo guardé"),
        None => back,
    }
}

/// The secret with a button that copies it, or why it is not here; `lost` says what to do without it.
pub(crate) fn once(t: Lang, id: &str, secret: Option<&str>, lost: &str) -> Markup {
    html! {
        @if let Some(secret) = secret {
            p.secret #(id) { (secret) }
            div.bar-of-actions {
                button type="button" data-copy=(id) { (t.t("Copy", "Copiar")) }
            }
            p.warning { (t.t("You won't be able to see it again. ", "No podrás verlo de nuevo. ")) (lost) }
        } @else {
            p.warning { (t.t("It was shown once and can't be shown again. ", "Se mostró una vez y no se puede mostrar de nuevo. ")) (lost) }
        }
    }
}
