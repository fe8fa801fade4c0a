//! What goes wrong, as pages in plain words.

mod english;

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use actix_web::http::header::RETRY_AFTER;
use maud::html;
use offhook_domain::MemberRole;
use offhook_http::{ApiError, Code};

use crate::fields::Fields;
use crate::lang::{Lang, tell};
use crate::layout::{self, Frame, role_name};
use crate::spanish;

/// What a handler answers with.
pub(crate) type Answer = Result<HttpResponse>;

/// What a page, or a part of one, comes to.
pub(crate) type Result<T, E = Trouble> = std::result::Result<T, E>;

/// Why there is no page.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// Nobody is signed in, or no longer. What a form had sent is kept for after signing in.
    SignedOut {
        /// The form; `None` for a page that was only looked at.
        typed: Option<Typed>,
    },
    /// A form of a page that was open before its browser signed in anew.
    Earlier(Box<Earlier>),
    /// The member's role does not reach.
    Role(MemberRole),
    /// A form of another origin, or without its token.
    Forged,
    /// The address takes a form, and is no page by itself.
    NoPage,
    /// The form cannot be read: it is not what a form of ours sends.
    Unreadable,
    /// The form is larger than any of ours.
    TooLarge,
    /// What the use cases say.
    Said(ApiError),
}

/// A form of a session that has ended, from somebody who is in another one by now.
#[derive(Debug)]
pub(crate) struct Earlier {
    /// The form.
    pub(crate) typed: Typed,
    /// What forms of the present session carry.
    pub(crate) token: String,
    /// The name of the account, which is that of the form.
    pub(crate) account: String,
}

/// A form that came when its session had ended.
#[derive(Debug)]
pub(crate) struct Typed {
    /// Where it was sent.
    pub(crate) path: String,
    /// What was in it, with its token.
    pub(crate) fields: Fields,
    /// Whether it has a file, which no page can keep: it is chosen again.
    pub(crate) has_file: bool,
}

/// All that the REST adapter has a sentence for is a sentence here too.
impl<E: Into<ApiError>> From<E> for Trouble {
    fn from(error: E) -> Self {
        Self::Said(error.into())
    }
}

impl Trouble {
    /// Nothing is at this address, or it is another account's.
    pub(crate) fn not_found() -> Self {
        Self::Said(ApiError::not_found())
    }

    /// The sentence of what may be mended in a form and sent again, for a reader of this language, with the field called as
    /// its form calls it (the paths of the rules, and the labels); `Err` is the trouble itself where it may not.
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

    /// The page.
    pub(crate) fn answer(self, frame: &Frame<'_>) -> HttpResponse {
        let lang = frame.lang;
        let (status, title, text) = self.told(lang);
        if let Self::Said(error) = &self
            && status.is_server_error()
        {
            error.log("the portal");
        }
        let body = html! {
            p.lead { (text) }
            p { a.button href=(layout::HOME) { (lang.t("To the overview", "Ir al resumen")) } }
        };
        let mut answer = layout::page(frame, status, title, &body);
        if let Self::Said(error) = &self
            && let Some(seconds) = error.retry_after_s()
        {
            answer.headers_mut().insert(RETRY_AFTER, seconds.into());
        }
        answer
    }

    /// Status, heading and sentence.
    fn told(&self, lang: Lang) -> (StatusCode, &'static str, String) {
        let (status, title, text) = match self {
            Self::Said(error) => {
                let code = error.code();
                return (code.status(), heading(code, lang), sentence(error, lang));
            }
            Self::Role(role) => {
                let title = lang.t("Not allowed", "Sin permiso");
                return (StatusCode::FORBIDDEN, title, too_low(*role, lang));
            }
            // Both are answered before they come here (`routes.rs`), with the way on.
            Self::SignedOut { .. } | Self::Earlier(_) => (
                StatusCode::UNAUTHORIZED,
                lang.t("Sign in", "Inicia sesión"),
                lang.t("Your session has ended.", "Tu sesión terminó."),
            ),
            Self::Forged => (
                StatusCode::FORBIDDEN,
                lang.t("The form was not accepted", "No se aceptó el formulario"),
                lang.t(
                    "It did not come from a page of this portal, or the page was opened before you signed in. Go back, load the page again and send it once more.",
                    "No vino de una página de este portal, o la página se abrió antes de iniciar sesión. Regresa, recarga la página y envíalo de nuevo.",
                ),
            ),
            Self::NoPage => (
                StatusCode::METHOD_NOT_ALLOWED,
                lang.t("There is no page here", "Aquí no hay ninguna página"),
                lang.t(
                    "This address takes a form and cannot be opened by itself. Go back to the page with the form, or to the overview.",
                    "Esta dirección recibe un formulario y no se puede abrir por sí sola. Regresa a la página del formulario, o ve al resumen.",
                ),
            ),
            Self::Unreadable => (
                StatusCode::BAD_REQUEST,
                lang.t("The form cannot be read", "No se pudo leer el formulario"),
                lang.t("It arrived broken. Go back and try again.", "Llegó dañado. Regresa e inténtalo de nuevo."),
            ),
            Self::TooLarge => (
                StatusCode::PAYLOAD_TOO_LARGE,
                lang.t("The form is too large", "El formulario es demasiado grande"),
                lang.t(
                    "Nothing was done. Go back, shorten the longest text and send it again.",
                    "No se hizo nada. Regresa, acorta el texto más largo y envíalo de nuevo.",
                ),
            ),
        };
        (status, title, text.to_owned())
    }
}

fn too_low(needed: MemberRole, lang: Lang) -> String {
    let role = role_name(needed, lang);
    tell!(
        lang,
        "This needs the role {role} or a higher one. Ask an owner of the account.",
        "Esto requiere el rol {role} o uno superior. Pídelo a un propietario de la cuenta."
    )
}

/// The field that a refusal names, and what is wrong with it: the rules begin their sentence with its path in backquotes.
pub(crate) fn field_of(said: &str) -> Option<(&str, &str)> {
    said.strip_prefix('`')?.split_once("`: ")
}

/// A refusal with its field called by a label. What is wrong within the field stands behind the label: an item by its place,
/// a member by its name. A field without a label keeps its path.
pub(crate) fn labelled(said: String, labels: &[(&str, &str)]) -> String {
    let named = field_of(&said).and_then(|(path, message)| {
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
    named.unwrap_or(said)
}

/// What an error says to a reader of this language; in English where it is known by its words alone.
pub(crate) fn sentence(error: &ApiError, lang: Lang) -> String {
    let own = match lang {
        Lang::En => english::sentence(error),
        Lang::Es => spanish::sentence(error),
    };
    own.unwrap_or_else(|| error.message().to_owned())
}

fn heading(code: Code, lang: Lang) -> &'static str {
    match code {
        Code::NotFound => lang.t("Not found", "No encontrado"),
        Code::Conflict | Code::IdempotencyConflict => {
            lang.t("That does not fit any more", "Eso ya no coincide")
        }
        Code::PaymentRequired => lang.t("Not enough credits", "Créditos insuficientes"),
        Code::PlanLimit => lang.t("Not in your plan", "No está en tu plan"),
        Code::ServiceUnavailable | Code::RateLimitUnavailable => lang.t(
            "Out of reach for a moment",
            "Fuera de alcance por un momento",
        ),
        Code::InternalError => lang.t("Something broke on our side", "Algo falló de nuestro lado"),
        _ => lang.t("That did not work", "Eso no funcionó"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_calls_its_field_as_the_form_does() {
        let labels = [("to", "Call this number"), ("origins", "Origins")];
        let of = |said: &str| labelled(said.to_owned(), &labels);
        assert_eq!(of("`to`: is required"), "Call this number: is required");
        assert_eq!(of("`origins[1]`: no"), "Origins (2): no");
        assert_eq!(of("`origins.a.b`: no"), "Origins (a.b): no");
        for other in ["`top_k`: no", "the agent is archived", "`to` is a word"] {
            assert_eq!(of(other), other);
        }
    }
}
