//! What pages say about passwords.

use actix_web::HttpResponse;
use actix_web::http::header::RETRY_AFTER;
use offhook_services::PasswordFault;

use crate::lang::{Lang, tell};
use crate::parts::form::Input;

/// The field of a password that is to be set.
pub(super) const NEW: &str = "new_password";

/// Why a new password is not taken.
pub(super) const fn fault(fault: PasswordFault, lang: Lang) -> &'static str {
    match fault {
        PasswordFault::TooShort => lang.t(
            "The password is too short: it needs at least 12 characters. A sentence that only you would say is a good one.",
            "La contraseña es muy corta: necesita al menos 12 caracteres. Una frase que solo tú dirías es buena.",
        ),
        PasswordFault::TooLong => lang.t(
            "The password is too long: at most 256 characters.",
            "La contraseña es demasiado larga: 256 caracteres como máximo.",
        ),
        PasswordFault::IsAddress => lang.t(
            "The password must not be your e-mail address.",
            "La contraseña no puede ser tu correo electrónico.",
        ),
    }
}

/// Why a person's own name is not taken.
pub(super) const fn name_fault(lang: Lang) -> &'static str {
    lang.t(
        "Your name must have 1 to 120 characters, none of them a control character.",
        "Tu nombre debe tener de 1 a 120 caracteres, sin caracteres de control.",
    )
}

/// After how long somebody may try again.
pub(super) fn throttled(seconds: u64, lang: Lang) -> String {
    let minutes = seconds.div_ceil(60);
    tell!(
        lang,
        "Too many attempts. Try again in {minutes} min.",
        "Demasiados intentos. Inténtalo de nuevo en {minutes} min."
    )
}

/// The same, for the header.
pub(super) fn retry_after(answer: &mut HttpResponse, seconds: u64) {
    answer.headers_mut().insert(RETRY_AFTER, seconds.into());
}

/// The field of a password that is to be set.
pub(super) const fn new_field(lang: Lang) -> Input<'static> {
    Input::text(NEW, lang.t("New password", "Contraseña nueva"))
        .kind("password")
        .autocomplete("new-password")
        .hint(lang.t(
            "At least 12 characters; anything goes, spaces too.",
            "Al menos 12 caracteres; puedes usar cualquiera, también espacios.",
        ))
        .required()
}
