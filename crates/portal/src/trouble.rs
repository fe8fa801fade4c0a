//! Errors as pages in plain words.

mod english;

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use offhook_http::{ApiError, Code};

use crate::parts::words::role_name;
use crate::prelude::*;
use crate::spanish;

/// A handler's response.
pub(crate) type Answer = Result<HttpResponse>;

/// The result of a page or a part of one.
pub(crate) type Result<T, E = Trouble> = std::result::Result<T, E>;

/// Why a page cannot be shown.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// The visitor is not signed in, or no longer. The form is kept for after signing in.
    SignedOut {
        /// The form; `None` for a GET.
        typed: Option<Typed>,
    },
    /// A form of a page that was opened in an earlier session.
    Earlier(Box<Earlier>),
    /// The member's role is too low.
    Role(MemberRole),
    /// A form of another origin, or without its token.
    Forged,
    /// The address only accepts a form.
    NoPage,
    /// The form cannot be read: no page of the portal sends such a form.
    Unreadable,
    /// The form is larger than any form of the portal.
    TooLarge,
    /// An error of a use case.
    Said(ApiError),
}

/// A form of an ended session, from a visitor who has signed in again.
#[derive(Debug)]
pub(crate) struct Earlier {
    /// The form.
    pub(crate) typed: Typed,
    /// The token for forms of the current session.
    pub(crate) token: String,
    /// The name of the form's account.
    pub(crate) account: String,
}

/// A form that arrived after its session had ended.
#[derive(Debug)]
pub(crate) struct Typed {
    /// Where it was sent.
    pub(crate) path: String,
    /// Its fields, with its token.
    pub(crate) fields: Fields,
    /// Whether it has a file, which must be chosen again: no page can keep it.
    pub(crate) has_file: bool,
}

/// Every error that the REST adapter can describe becomes an error here.
impl<E: Into<ApiError>> From<E> for Trouble {
    fn from(error: E) -> Self {
        Self::Said(error.into())
    }
}

impl Trouble {
    /// The resource does not exist, or belongs to another account.
    pub(crate) fn not_found() -> Self {
        Self::Said(ApiError::not_found())
    }

    /// The sentence for an error that the visitor can fix in the form, in this language and with the form's labels in place
    /// of the field paths. `Err` returns the error itself if it cannot be fixed there.
    pub(crate) fn of_form(self, lang: Lang, labels: &[(&str, &str)]) -> Result<String, Self> {
        match &self {
            Self::Said(error) => match error.code() {
                Code::InvalidBody
                | Code::InvalidQuery
                | Code::InvalidJson
                | Code::Conflict
                | Code::PlanLimit
                | Code::PaymentRequired
                | Code::PayloadTooLarge
                | Code::UnsupportedRuntime
                | Code::AgentDisabled
                | Code::AgentNotFound
                | Code::IdempotencyConflict
                | Code::UpstreamError
                | Code::UpstreamUnreachable => Ok(labelled(sentence(error, lang), labels)),
                _ => Err(self),
            },
            _ => Err(self),
        }
    }

    /// Status, heading and sentence.
    pub(crate) fn page(&self, lang: Lang) -> (StatusCode, &'static str, String) {
        let (status, title, text) = match self {
            Self::Said(error) => {
                let code = error.code();
                return (code.status(), heading(code, lang), sentence(error, lang));
            }
            Self::Role(role) => {
                let title = lang.t("Not allowed", "Sin permiso");
                return (StatusCode::FORBIDDEN, title, too_low(*role, lang));
            }
            // `page.rs` answers both before they get here.
            Self::SignedOut { .. } | Self::Earlier(_) => (
                StatusCode::UNAUTHORIZED,
                lang.t("Sign in", "Inicia sesión"),
                lang.t("Your session has ended.", "Tu sesión terminó."),
            ),
            Self::Forged => (
                StatusCode::FORBIDDEN,
                lang.t("Form not accepted", "No se aceptó el formulario"),
                lang.t(
                    "It did not come from a page of this portal, or the page was opened before you signed in. Go back, reload the page and submit it again.",
                    "No vino de una página de este portal, o la página se abrió antes de iniciar sesión. Regresa, recarga la página y envíalo de nuevo.",
                ),
            ),
            Self::NoPage => (
                StatusCode::METHOD_NOT_ALLOWED,
                lang.t("No page here", "Aquí no hay ninguna página"),
                lang.t(
                    "This URL only accepts a form and cannot be opened directly. Go back to the page with the form, or to the overview.",
                    "Esta URL solo recibe un formulario y no se puede abrir directamente. Regresa a la página del formulario, o ve al resumen.",
                ),
            ),
            Self::Unreadable => (
                StatusCode::BAD_REQUEST,
                lang.t("Form could not be read", "No se pudo leer el formulario"),
                lang.t("It arrived damaged. Go back and try again.", "Llegó dañado. Regresa e inténtalo de nuevo."),
            ),
            Self::TooLarge => (
                StatusCode::PAYLOAD_TOO_LARGE,
                lang.t("Form too large", "Formulario demasiado grande"),
                lang.t(
                    "Nothing was changed. Go back, shorten the longest text and submit it again.",
                    "No se cambió nada. Regresa, acorta el texto más largo y envíalo de nuevo.",
                ),
            ),
        };
        (status, title, text.to_owned())
    }
}

fn too_low(needed: MemberRole, lang: Lang) -> String {
    let role = role_name(needed, lang);
    text!(
        lang,
        "This needs the {role} role or higher. Ask an owner of the account.",
        "Esto requiere el rol {role} o uno superior. Pídelo a un propietario de la cuenta."
    )
}

/// The field that a refusal names, and what is wrong with it: rules begin their sentence with its path in backquotes.
pub(crate) fn field_of(text: &str) -> Option<(&str, &str)> {
    text.strip_prefix('`')?.split_once("`: ")
}

/// A refusal with the field's label in place of its path. A fault within the field names it after the label: an item by its
/// position, a member by its name. A field without a label keeps its path.
pub(crate) fn labelled(text: String, labels: &[(&str, &str)]) -> String {
    let named = field_of(&text).and_then(|(path, message)| {
        let known = labels.iter().find_map(|(known, label)| {
            let within = path.strip_prefix(known)?;
            let is_it = within.is_empty() || within.starts_with(['.', '[']);
            is_it.then_some((label, within))
        });
        let (label, within) = known?;
        let item = within
            .strip_prefix('[')
            .and_then(|rest| rest.split_once(']'));
        let item =
            item.and_then(|(place, member)| Some((place.parse::<usize>().ok()? + 1, member)));
        Some(match (within, item) {
            ("", _) => format!("{label}: {message}"),
            (_, Some((place, ""))) => format!("{label} ({place}): {message}"),
            (_, Some((place, member))) => {
                format!(
                    "{label} ({place}, {}): {message}",
                    member.trim_start_matches('.')
                )
            }
            (within, None) => format!("{label} ({}): {message}", within.trim_start_matches('.')),
        })
    });
    named.unwrap_or(text)
}

/// The error's sentence in this language; the API's English message if the portal has none.
pub(crate) fn sentence(error: &ApiError, lang: Lang) -> String {
    let own = match lang {
        Lang::En => english::sentence(error),
        Lang::Es => spanish::sentence(error),
    };
    without_operation(own.unwrap_or_else(|| error.message().to_owned()))
}

/// A sentence without the operation of the API that helps programs: pages have lists to choose from.
fn without_operation(mut text: String) -> String {
    if let Some(place) = text.find("; GET /v1/") {
        text.truncate(place);
    }
    text
}

fn heading(code: Code, lang: Lang) -> &'static str {
    match code {
        Code::NotFound => lang.t("Not found", "No encontrado"),
        Code::Conflict | Code::IdempotencyConflict => lang.t(
            "Conflict with the current state",
            "No coincide con el estado actual",
        ),
        Code::PaymentRequired => lang.t("Not enough credits", "Créditos insuficientes"),
        Code::PlanLimit => lang.t("Not in your plan", "No está en tu plan"),
        Code::ServiceUnavailable | Code::RateLimitUnavailable => {
            lang.t("Temporarily unavailable", "No disponible por el momento")
        }
        Code::InternalError => lang.t("Something went wrong", "Algo salió mal"),
        _ => lang.t("That did not work", "Eso no funcionó"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_calls_its_field_as_the_form_does() {
        let labels = [("to", "Call this number"), ("origins", "Origins")];
        let of = |text: &str| labelled(text.to_owned(), &labels);
        assert_eq!(of("`to`: is required"), "Call this number: is required");
        assert_eq!(of("`origins[1]`: no"), "Origins (2): no");
        assert_eq!(of("`origins.a.b`: no"), "Origins (a.b): no");
        for other in ["`top_k`: no", "the agent is archived", "`to` is a word"] {
            assert_eq!(of(other), other);
        }
    }
}
