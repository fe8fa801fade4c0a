//! The button that asks the browser for a passkey.

use crate::prelude::*;

/// The field of the browser's answer.
pub(crate) const ANSWER: &str = "passkey";

/// The button that asks for a passkey, for browsers that know them; its form gets the answer as a field.
/// In place of the field `code`; without one, the browser also offers it where the address is typed.
pub(crate) fn button(options: &str, code: Option<&str>, lang: Lang) -> Markup {
    let by_itself = code.is_none().then_some("");
    html! {
        div hidden data-passkey={ (PATH) (options) } data-instead=[code] data-autofill=[by_itself] data-failed=(failed(lang)) {
            input type="hidden" name=(ANSWER);
            p { button type="button" { (lang.t("Use a passkey", "Usar una llave de acceso")) } }
        }
    }
}

pub(crate) const fn failed(lang: Lang) -> &'static str {
    lang.t(
        "Your browser gave no passkey. Try again.",
        "Tu navegador no dio ninguna llave de acceso. Inténtalo de nuevo.",
    )
}
