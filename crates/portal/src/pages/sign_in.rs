//! Signing in and out.

use std::net::{IpAddr, Ipv4Addr};

use actix_web::cookie::{Cookie, SameSite, time::Duration as CookieTime};
use actix_web::http::StatusCode;
use actix_web::web::Payload;
use actix_web::{HttpRequest, HttpResponse};
use maud::{Markup, html};
use offhook_domain::AccountId;
use offhook_http::address_of;
use offhook_services::{SignInError, SignedIn};

use super::passwords;
use crate::fields::{Fields, local_path};
use crate::lang::{self, Lang};
use crate::parts::form::{self, Input};
use crate::parts::version::SHOWN_VERSION;
use crate::routes::Page;
use crate::trouble::{Answer, Earlier, Result, Trouble, Typed};
use crate::visit::{
    Guest, Post, SESSION_COOKIE, TOKEN_FIELD, Viewer, account_named, check_origin, read_form_of,
    token_of,
};
use crate::{PATH, Portal};

/// The form that a session's end interrupted: its path.
const RESUME_PATH: &str = "resume_path";

/// Its fields, encoded as a form's body.
const RESUME_BODY: &str = "resume_body";

const RESUME_ACCOUNT: &str = "resume_account";

/// That it has a file, which is to be chosen again.
const RESUME_FILE: &str = "resume_file";

/// The longest address in which the fields of a form with a file go along: what is longer goes without them.
const MAX_ADDRESS: usize = 4_000;

/// The largest form of signing in: one that was interrupted, encoded in a field of it.
const MAX_KEPT_BYTES: usize = 8 * 1024 * 1024;

/// Where one signs out, behind `/portal`.
pub(crate) const SIGN_OUT: &str = "/sign-out";

/// The paths.
pub(super) fn routes() -> Vec<Page> {
    vec![
        Page::at("/sign-in").open_get(show).open_post(sign_in),
        Page::at(SIGN_OUT).post(sign_out),
        Page::at("/language").post(choose_language),
    ]
}

/// What the page keeps for after signing in.
#[derive(Debug, Default)]
struct Kept {
    /// The page that was asked for.
    next: String,
    /// The form that was sent.
    resume: Option<(String, Fields)>,
    /// The account that the form was of, as its token says: a wish, not a right.
    account: Option<AccountId>,
    /// Whether `next` is the page of a form whose file is to be chosen again.
    has_file: bool,
}

/// Instead of a page that needs somebody who is signed in. What was typed into a form is kept in the page: nothing of it
/// is stored.
pub(crate) async fn instead(guest: &Guest, typed: Option<Typed>) -> HttpResponse {
    // A part of a page cannot hold the form: the page's script sends it once more, as browsers send a form by themselves.
    if guest.req.headers().contains_key("hx-request") {
        return HttpResponse::Unauthorized().finish();
    }
    let Some(typed) = typed else {
        // Nobody can sign in yet. A store that does not answer is told of where it is asked for more.
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
    // Whoever wants to be signed out is.
    if typed.path.strip_prefix(PATH) == Some(SIGN_OUT) {
        return guest.go("/sign-in", "");
    }
    let kept = Kept::from(typed);
    page(guest, StatusCode::UNAUTHORIZED, &kept, "", None)
}

/// Instead of doing what a form says that was drawn for an earlier session of this browser: what was typed, to be sent in
/// the present one. As after signing in, whoever sits there says so with a click.
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

/// To the page that was asked for.
fn onward(guest: &Guest, kept: &Kept) -> HttpResponse {
    let next = local_path(&kept.next).and_then(|path| path.strip_prefix(PATH));
    let next = next.filter(|path| !path.starts_with("/sign-in"));
    let said = match kept.has_file {
        true => guest.t(
            "You are signed in again. What you typed is in the form; choose the file once more.",
            "Iniciaste sesión de nuevo. Lo que escribiste está en el formulario; elige otra vez el archivo.",
        ),
        false => "",
    };
    guest.go(next.unwrap_or("/"), said)
}

/// `GET /portal/sign-in`
async fn show(guest: Guest) -> Answer {
    let people = guest.portal.services.people();
    if people.awaits_first_account().await? {
        return Ok(guest.go("/first", ""));
    }
    let query = Fields::parse(guest.req.query_string().as_bytes());
    let kept = Kept {
        next: query.text("next").to_owned(),
        ..Kept::default()
    };
    Ok(page(&guest, StatusCode::OK, &kept, "", None))
}

/// `POST /portal/sign-in`
async fn sign_in(guest: Guest, body: Payload) -> Answer {
    check_origin(&guest.req)?;
    let fields = read_form_of(&guest.req, body, None, MAX_KEPT_BYTES).await?;
    let kept = Kept::of(&fields);
    let email = fields.text("email");
    let again = |status, said: &str| page(&guest, status, &kept, email, Some(said));
    if !guest.may_sign_in() {
        return Ok(again(StatusCode::FORBIDDEN, insecure(guest.lang)));
    }
    let address = address(&guest.req);
    let people = guest.portal.services.people();
    let signed_in = match people.sign_in(email, fields.raw("password"), address).await {
        Ok(signed_in) => signed_in,
        Err(SignInError::Wrong) => {
            let said = guest.t(
                "This e-mail address and password do not belong together.",
                "Este correo y esta contraseña no corresponden.",
            );
            return Ok(again(StatusCode::UNPROCESSABLE_ENTITY, said));
        }
        Err(SignInError::Throttled { seconds }) => {
            let said = passwords::throttled(seconds, guest.lang);
            let mut answer = again(StatusCode::TOO_MANY_REQUESTS, &said);
            passwords::retry_after(&mut answer, seconds);
            return Ok(answer);
        }
        Err(SignInError::Store(error)) => return Err(error.into()),
    };
    // A session is never taken over from before: this browser's old one ends.
    if let Some(old) = guest.req.cookie(SESSION_COOKIE) {
        people.sign_out(old.value()).await?;
    }
    let signed_in = moved(&guest.portal, signed_in, kept.account).await?;
    let here = signed_in.person.caller.account.id;
    let mut answer = match &kept.resume {
        // Somebody else's, who used this browser before: it is not theirs to read.
        _ if kept.account.is_some_and(|account| account != here) => {
            let said = guest.t(
                "What was typed before is of an account that you are no member of. It was not kept.",
                "Lo que se escribió antes es de una cuenta de la que no eres miembro. No se conservó.",
            );
            guest.go("/", said)
        }
        Some((path, typed)) => {
            let account = &signed_in.person.caller.account;
            let token = token_of(&signed_in.token, account.id);
            resume(&guest, (token.as_str(), account.name.as_str()), path, typed)
        }
        None => onward(&guest, &kept),
    };
    add_session(&mut answer, &guest.portal, &signed_in.token)?;
    Ok(answer)
}

/// Takes a session that has just begun into the account of the form that its person could not send, if they are its member.
async fn moved(portal: &Portal, begun: SignedIn, account: Option<AccountId>) -> Result<SignedIn> {
    let Some(account) = account.filter(|id| *id != begun.person.caller.account.id) else {
        return Ok(begun);
    };
    let people = portal.services.people();
    if !people.switch(&begun.token, account).await? {
        return Ok(begun);
    }
    Ok(match people.who(&begun.token).await? {
        Some(person) => SignedIn { person, ..begun },
        None => begun,
    })
}

/// The form that was interrupted, with what was typed: to be sent with one click. It is not sent by itself, since it
/// came from outside the session, whose forms carry `token`.
fn resume(
    guest: &Guest,
    (token, account): (&str, &str),
    path: &str,
    typed: &Fields,
) -> HttpResponse {
    let lang = guest.lang;
    let fields = || typed.iter().filter(|(name, _)| *name != TOKEN_FIELD);
    let body = html! {
        p.lead { (lang.t(
            "You are signed in again. What you had typed was not sent yet.",
            "Iniciaste sesión de nuevo. Lo que habías escrito aún no se envió.",
        )) }
        p { (lang.t("It is sent in the account", "Se envía en la cuenta")) " " strong { (account) } "." }
        form method="post" action=(path) {
            input type="hidden" name=(TOKEN_FIELD) value=(token);
            @for (name, value) in fields() { input type="hidden" name=(name) value=(value); }
            // Whoever wrote it knows it by its words: the names of fields are the form's.
            @for (_, value) in fields().filter(|(name, value)| !is_secret(name) && value.contains(' ')) {
                pre.prose dir="auto" { (value) }
            }
            p { button.primary type="submit" { (lang.t("Send it now", "Enviar ahora")) } }
        }
    };
    let title = lang.t("Welcome back", "Bienvenido de nuevo");
    guest.page(StatusCode::OK, title, &body)
}

/// What a field of this name holds is not shown: it is a secret, or nothing that somebody typed.
fn is_secret(name: &str) -> bool {
    let is_header = name.starts_with("http.headers[") && name.ends_with("].value");
    is_header
        || name == SHOWN_VERSION
        || ["password", "secret", "token", "code"]
            .iter()
            .any(|word| name.contains(word))
}

/// The client's address.
pub(super) fn address(req: &HttpRequest) -> IpAddr {
    address_of(req).unwrap_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED))
}

/// `POST /portal/sign-out`
async fn sign_out(post: Post<Viewer>) -> Answer {
    post.services().people().sign_out(post.session()).await?;
    let mut answer = post.go("/sign-in", "");
    let mut gone = Cookie::build(SESSION_COOKIE, "").path(PATH).finish();
    gone.make_removal();
    add_cookie(&mut answer, &gone)?;
    Ok(answer)
}

/// `POST /portal/language`
async fn choose_language(post: Post<Viewer>) -> Answer {
    let back = local_path(post.fields.text("back")).and_then(|path| path.strip_prefix(PATH));
    let mut answer = post.go(back.unwrap_or("/"), "");
    if let Some(chosen) = Lang::named(post.fields.text("lang")) {
        let mut cookie = cookie(&post.portal, lang::COOKIE, chosen.t("en", "es"));
        cookie.set_max_age(CookieTime::days(365));
        add_cookie(&mut answer, &cookie)?;
    }
    Ok(answer)
}

/// The cookie of a session that was just begun. It ends with the browser, or earlier on the server.
pub(super) fn add_session(answer: &mut HttpResponse, portal: &Portal, token: &str) -> Result<()> {
    add_cookie(answer, &cookie(portal, SESSION_COOKIE, token))
}

fn cookie<'a>(portal: &Portal, name: &'a str, value: &'a str) -> Cookie<'a> {
    Cookie::build(name, value)
        .path(PATH)
        .http_only(true)
        .secure(portal.is_https())
        .same_site(SameSite::Lax)
        .finish()
}

fn add_cookie(answer: &mut HttpResponse, cookie: &Cookie<'_>) -> Result<()> {
    answer.add_cookie(cookie).map_err(|_| Trouble::Unreadable)
}

/// Why somebody at this address cannot sign in.
pub(super) fn insecure(lang: Lang) -> &'static str {
    lang.t(
        "Without HTTPS you can sign in from this machine alone: your password and session could be read on the way. Set `http.public_url` to the https:// address of this service.",
        "Sin HTTPS solo puedes iniciar sesión desde esta misma máquina: tu contraseña y tu sesión podrían leerse en el camino. Pon en `http.public_url` la dirección https:// de este servicio.",
    )
}

impl Kept {
    fn of(fields: &Fields) -> Self {
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
    /// A form with a file is drawn anew with what was typed into it, since no page can hold the file; any other one is
    /// kept to be sent.
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

fn page(
    guest: &Guest,
    status: StatusCode,
    kept: &Kept,
    email: &str,
    said: Option<&str>,
) -> HttpResponse {
    let lang = guest.lang;
    let body = html! {
        (form::refusal(said))
        @if kept.has_file {
            p.warning { (lang.t(
                "Your session has ended. What you typed is kept: sign in, and choose the file once more.",
                "Tu sesión terminó. Lo que escribiste se conserva: inicia sesión y elige otra vez el archivo.",
            )) }
        }
        @if kept.resume.is_some() {
            p.warning { (lang.t(
                "Your session has ended. Nothing you typed is lost: sign in, and send it again with one click.",
                "Tu sesión terminó. No se perdió nada de lo que escribiste: inicia sesión y envíalo de nuevo con un clic.",
            )) }
        }
        @if guest.may_sign_in() {
            form method="post" action={ (PATH) "/sign-in" } {
                (kept.hidden())
                (Input::text("email", lang.t("E-mail", "Correo electrónico")).kind("email").value(email).autocomplete("username").required())
                (Input::text("password", lang.t("Password", "Contraseña")).kind("password").autocomplete("current-password").required())
                button.primary type="submit" { (lang.t("Sign in", "Iniciar sesión")) }
            }
            p.hint { (lang.t(
                "No account, or the password is lost? Whoever runs this service makes a link with `offhook member link`.",
                "¿Sin cuenta o sin contraseña? Quien opera este servicio crea un enlace con `offhook member link`.",
            )) }
        } @else { p.warning { (insecure(lang)) } }
    };
    guest.page(status, lang.t("Sign in", "Inicia sesión"), &body)
}
