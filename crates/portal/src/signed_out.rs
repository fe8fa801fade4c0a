//! The sign-in form, in place of a page or after a form that a session's end interrupted.

use actix_web::HttpResponse;
use actix_web::http::StatusCode;

use crate::fields::local_path;
use crate::parts::passkey;
use crate::parts::version::SHOWN_VERSION;
use crate::prelude::*;
use crate::trouble::{Earlier, Typed};
use crate::visit::{Guest, SIGN_OUT, TOKEN_FIELD, account_named};

/// The path of the form that a session's end interrupted.
const RESUME_PATH: &str = "resume_path";

/// Its fields, encoded as a form's body.
const RESUME_BODY: &str = "resume_body";

const RESUME_ACCOUNT: &str = "resume_account";

/// Whether it has a file, which must be chosen again.
const RESUME_FILE: &str = "resume_file";

/// The field of a code.
pub(crate) const CODE: &str = "code";

/// The longest address that carries the fields of a form with a file; longer ones drop the fields.
const MAX_ADDRESS: usize = 4_000;

/// What the page keeps for after signing in.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    /// The page that was asked for.
    pub(crate) next: String,
    /// The form that was sent.
    pub(crate) resume: Option<(String, Fields)>,
    /// The form's account, as its token says: a hint, not a permission.
    pub(crate) account: Option<AccountId>,
    /// Whether `next` is the page of a form whose file is to be chosen again.
    pub(crate) has_file: bool,
}

/// The sign-in page in place of a page that needs a session. The fields of a form are kept in the page; nothing is stored.
pub(crate) async fn instead(guest: &Guest, typed: Option<Typed>) -> HttpResponse {
    // A part of a page cannot hold the form: the page's script submits it again as a whole page.
    if guest.req.headers().contains_key("hx-request") {
        return HttpResponse::Unauthorized().finish();
    }
    let Some(typed) = typed else {
        // No account exists yet. If the store does not respond, later reads report that.
        let people = guest.portal.services.people();
        if let Ok(true) = people.awaits_first_account().await {
            return guest.go("/first", "");
        }
        let kept = Kept {
            next: guest.req.uri().to_string(),
            ..Kept::default()
        };
        return page(guest, StatusCode::UNAUTHORIZED, &kept, "", None);
    };
    // Signing out needs no session.
    if typed.path.strip_prefix(PATH) == Some(SIGN_OUT) {
        return guest.go("/sign-in", "");
    }
    let kept = Kept::from(typed);
    page(guest, StatusCode::UNAUTHORIZED, &kept, "", None)
}

/// In place of a form's action, if its page was opened in an earlier session: shows the input, to be submitted in the
/// current one. As after signing in, the visitor confirms with a click.
pub(crate) fn once_more(guest: &Guest, earlier: Earlier) -> HttpResponse {
    if guest.req.headers().contains_key("hx-request") {
        return HttpResponse::Unauthorized().finish();
    }
    let Earlier {
        typed,
        token,
        account,
    } = earlier;
    if typed.has_file {
        return onward(guest, &Kept::from(typed));
    }
    let to = (token.as_str(), account.as_str());
    let mut answer = resume(guest, to, &typed.path, &typed.fields);
    *answer.status_mut() = StatusCode::UNPROCESSABLE_ENTITY;
    answer
}

/// Redirects to the page that was asked for.
pub(crate) fn onward(guest: &Guest, kept: &Kept) -> HttpResponse {
    let next = local_path(&kept.next).and_then(|path| path.strip_prefix(PATH));
    let next = next.filter(|path| !path.starts_with("/sign-in"));
    let message = match kept.has_file {
        true => guest.t(
            "You are signed in again. Your input is in the form. Choose the file again.",
            "Iniciaste sesión de nuevo. Lo que escribiste está en el formulario. Elige otra vez el archivo.",
        ),
        false => "",
    };
    guest.go(next.unwrap_or("/"), message)
}

/// The interrupted form with its input, to be submitted with one click. It is not submitted automatically, since it came
/// from outside the session, whose forms carry `token`.
pub(crate) fn resume(
    guest: &Guest,
    (token, account): (&str, &str),
    path: &str,
    typed: &Fields,
) -> HttpResponse {
    let lang = guest.lang;
    let fields = || typed.iter().filter(|(name, _)| *name != TOKEN_FIELD);
    let body = html! {
        p.lead { (lang.t(
            "You are signed in again. Your input has not been submitted yet.",
            "Iniciaste sesión de nuevo. Lo que habías escrito aún no se envió.",
        )) }
        p { (lang.t("It is submitted to the account", "Se envía en la cuenta")) " " strong { (account) } "." }
        form method="post" action=(path) {
            input type="hidden" name=(TOKEN_FIELD) value=(token);
            @for (name, value) in fields() { input type="hidden" name=(name) value=(value); }
            // Visitors recognize their input by its text, not by field names.
            @for (_, value) in fields().filter(|(name, value)| !is_secret(name) && value.contains(' ')) {
                pre.prose dir="auto" { (value) }
            }
            p { button.primary type="submit" { (lang.t("Submit now", "Enviar ahora")) } }
        }
    };
    let title = lang.t("Welcome back", "Bienvenido de nuevo");
    guest.page(StatusCode::OK, title, &body)
}

/// Whether a field is hidden: a secret, or nothing that was typed.
fn is_secret(name: &str) -> bool {
    let is_header = name.starts_with("http.headers[") && name.ends_with("].value");
    is_header
        || name == SHOWN_VERSION
        || ["password", "secret", "token", "code"]
            .iter()
            .any(|word| name.contains(word))
}

/// Why a visitor at this address cannot sign in.
pub(crate) fn insecure(lang: Lang) -> &'static str {
    lang.t(
        "Without HTTPS you can only sign in from this machine: your password and session could be intercepted. Set http.public_url to the https:// URL of this service.",
        "Sin HTTPS solo puedes iniciar sesión desde esta misma máquina: tu contraseña y tu sesión podrían interceptarse. Pon en http.public_url la URL https:// de este servicio.",
    )
}

impl Kept {
    pub(crate) fn of(fields: &Fields) -> Self {
        let path = local_path(fields.text(RESUME_PATH));
        Self {
            next: fields.text("next").to_owned(),
            resume: path.map(|path| {
                let typed = Fields::parse(fields.raw(RESUME_BODY).as_bytes());
                (path.to_owned(), typed)
            }),
            account: fields.text(RESUME_ACCOUNT).parse().ok(),
            has_file: fields.is_set(RESUME_FILE),
        }
    }

    fn hidden(&self) -> Markup {
        html! {
            @if let Some((path, typed)) = &self.resume {
                input type="hidden" name=(RESUME_PATH) value=(path);
                input type="hidden" name=(RESUME_BODY) value=(typed.encode());
            }
            @if local_path(&self.next).is_some() { input type="hidden" name="next" value=(self.next); }
            @if let Some(account) = self.account { input type="hidden" name=(RESUME_ACCOUNT) value=(account); }
            @if self.has_file { input type="hidden" name=(RESUME_FILE) value="on"; }
        }
    }
}

impl From<Typed> for Kept {
    /// A form with a file is drawn again with its input, since no page can hold the file; any other form is kept to be
    /// submitted.
    fn from(typed: Typed) -> Self {
        let account = account_named(typed.fields.raw(TOKEN_FIELD));
        if !typed.has_file {
            return Self {
                resume: Some((typed.path, typed.fields)),
                account,
                ..Self::default()
            };
        }
        let fields = typed.fields.without(TOKEN_FIELD);
        let next = format!("{}?{}", typed.path, fields.encode());
        Self {
            next: Some(next)
                .filter(|next| next.len() <= MAX_ADDRESS)
                .unwrap_or(typed.path),
            account,
            has_file: true,
            ..Self::default()
        }
    }
}

/// The page that asks for a second factor after the password.
pub(crate) fn code_page(
    guest: &Guest,
    status: StatusCode,
    (kept, has_passkeys): (&Kept, bool),
    message: Option<&str>,
) -> HttpResponse {
    let lang = guest.lang;
    let body = html! {
        (form::refusal(message))
        p.lead { (lang.t(
            "Enter the code that your authenticator app shows, or one of your recovery codes.",
            "Escribe el código que muestra tu aplicación de autenticación, o uno de tus códigos de recuperación.",
        )) }
        form method="post" action={ (PATH) "/sign-in/code" } {
            (kept.hidden())
            (code_field(lang))
            @if has_passkeys && guest.portal.relying_party().is_some() { (passkey::button("/sign-in/code/passkey", Some(CODE), lang)) }
            button.primary type="submit" { (lang.t("Sign in", "Iniciar sesión")) }
        }
        p.hint { (lang.t(
            "Lost both? Ask your administrator for a sign-in link.",
            "¿Perdiste ambos? Pide un enlace de acceso a tu administrador.",
        )) }
        p { a href={ (PATH) "/sign-in" } { (lang.t("Back to sign-in", "Volver a iniciar sesión")) } }
    };
    let title = lang.t("Two-step verification", "Verificación en dos pasos");
    guest.page(status, title, &body)
}

pub(crate) fn page(
    guest: &Guest,
    status: StatusCode,
    kept: &Kept,
    email: &str,
    message: Option<&str>,
) -> HttpResponse {
    let lang = guest.lang;
    let has_passkeys = guest.portal.relying_party().is_some();
    let address = match has_passkeys {
        true => "username webauthn",
        false => "username",
    };
    let body = html! {
        (form::refusal(message))
        @if kept.has_file {
            p.warning { (lang.t(
                "Your session has ended. Your input is kept. Sign in, and choose the file again.",
                "Tu sesión terminó. Lo que escribiste se conserva. Inicia sesión y elige otra vez el archivo.",
            )) }
        }
        @if kept.resume.is_some() {
            p.warning { (lang.t(
                "Your session has ended. Your input is kept. Sign in, and submit it again with one click.",
                "Tu sesión terminó. Lo que escribiste se conserva. Inicia sesión y envíalo de nuevo con un clic.",
            )) }
        }
        @if guest.may_sign_in() {
            form method="post" action={ (PATH) "/sign-in" } {
                (kept.hidden())
                (Input::text("email", lang.t("Email", "Correo electrónico")).kind("email").value(email).autocomplete(address).required())
                (Input::text("password", lang.t("Password", "Contraseña")).kind("password").autocomplete("current-password").required())
                button.primary type="submit" { (lang.t("Sign in", "Iniciar sesión")) }
            }
            @if has_passkeys {
                form method="post" action={ (PATH) "/sign-in/passkey" } {
                    (kept.hidden())
                    (passkey::button("/sign-in/passkey/options", None, lang))
                }
            }
            p.other-way { a.button href={ (PATH) "/sso" } { (lang.t("Continue with single sign-on", "Continuar con inicio de sesión único")) } }
            details.help {
                summary { (lang.t("No account, or forgot your password?", "¿No tienes cuenta u olvidaste tu contraseña?")) }
                p { (lang.t("Ask your administrator for a sign-in link.", "Pide un enlace de acceso a tu administrador.")) }
            }
        } @else { p.warning { (insecure(lang)) } }
    };
    guest.page(status, lang.t("Sign in", "Inicia sesión"), &body)
}

/// The field of a code.
pub(crate) fn code_field(lang: Lang) -> Input<'static> {
    Input::text(CODE, lang.t("Code", "Código"))
        .autocomplete("one-time-code")
        .required()
}
