//! Texts about passwords.

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use actix_web::http::header::RETRY_AFTER;
use offhook_services::PasswordFault;

use crate::prelude::*;

/// The field of a new password.
pub(super) const NEW: &str = "new_password";

wording! {
    /// Why a new password is refused.
    pub(super) fault(PasswordFault) {
        TooShort => "The password is too short. Use at least 12 characters. A sentence that only you would say works well.",
            "La contraseña es muy corta. Usa al menos 12 caracteres. Una frase que solo tú dirías funciona bien.";
        TooLong => "The password is too long. Use at most 256 characters.",
            "La contraseña es demasiado larga. Usa 256 caracteres como máximo.";
        IsAddress => "The password must not be your email address.",
            "La contraseña no puede ser tu correo electrónico.";
    }
}

/// Why a person's name is refused.
pub(super) const fn name_fault(lang: Lang) -> &'static str {
    lang.t(
        "Your name must have 1 to 120 characters and no control characters.",
        "Tu nombre debe tener de 1 a 120 caracteres, sin caracteres de control.",
    )
}

/// When the visitor may try again.
pub(super) fn throttled(seconds: u64, lang: Lang) -> String {
    let minutes = seconds.div_ceil(60);
    text!(
        lang,
        "Too many attempts. Try again in {minutes} min.",
        "Demasiados intentos. Inténtalo de nuevo en {minutes} min."
    )
}

/// The same, for the header, of who has to wait.
pub(super) fn retry_after(answer: &mut HttpResponse, seconds: Option<u64>) {
    if let Some(seconds) = seconds {
        answer.headers_mut().insert(RETRY_AFTER, seconds.into());
    }
}

/// The page that `again` draws for who has to wait.
pub(super) fn too_many(
    seconds: u64,
    lang: Lang,
    again: impl Fn(StatusCode, &str) -> HttpResponse,
) -> HttpResponse {
    let mut answer = again(StatusCode::TOO_MANY_REQUESTS, &throttled(seconds, lang));
    retry_after(&mut answer, Some(seconds));
    answer
}

/// The field of a new password.
pub(super) const fn new_field(lang: Lang) -> Input<'static> {
    Input::text(NEW, lang.t("New password", "Contraseña nueva"))
        .kind("password")
        .autocomplete("new-password")
        .hint(lang.t(
            "At least 12 characters. Spaces are allowed.",
            "Al menos 12 caracteres. Se permiten espacios.",
        ))
        .required()
}
