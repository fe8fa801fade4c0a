//! Signing in by an account's identity provider.

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use actix_web::web::Payload;
use offhook_services::SingleSignOnError;
use url::Url;

use super::sign_in::{add_cookie_of, enter, forget};
use crate::page::to_its_end;
use crate::prelude::*;
use crate::signed_out::{Kept, insecure};
use crate::visit::{Guest, portal_url};

/// The cookie that holds the token of a sign-in at an identity provider.
const COOKIE: &str = "offhook_sso";

/// The paths. The callback is not a page: it redirects to one, so that its code stays in no address.
pub(super) fn routes() -> Vec<Page> {
    vec![
        Page::at("/sso").open_get(show).open_post(find),
        Page::at("/sso/{account}").open_get(begin),
        Page::at("/sso/{account}/callback").open_part(finish),
    ]
}

/// Where the account's identity provider sends people back to.
pub(super) fn callback(base_url: &str, account: AccountId) -> String {
    format!("{base_url}{PATH}/sso/{account}/callback")
}

/// The address that members of the account sign in at.
pub(super) fn link(base_url: &str, account: AccountId) -> String {
    format!("{base_url}{PATH}/sso/{account}")
}

/// `GET /portal/sso`
async fn show(guest: Guest) -> Answer {
    Ok(page(&guest, StatusCode::OK, "", None))
}

/// `POST /portal/sso`: the answer is the same for every address of a domain.
async fn find(guest: Guest, body: Payload) -> Answer {
    let fields = guest.form(body).await?;
    let email = fields.text("email");
    let people = guest.portal.services.people();
    if let Some(account) = people.account_of_address(email).await? {
        return Ok(guest.go(&format!("/sso/{account}"), ""));
    }
    let message = guest.t(
        "No account uses single sign-on for addresses of this domain. Sign in with your password, or use the sign-in link of your company.",
        "Ninguna cuenta usa inicio de sesión único para correos de este dominio. Entra con tu contraseña, o usa el enlace de acceso de tu empresa.",
    );
    let status = StatusCode::UNPROCESSABLE_ENTITY;
    Ok(page(&guest, status, email, Some(message)))
}

fn page(guest: &Guest, status: StatusCode, email: &str, message: Option<&str>) -> HttpResponse {
    let lang = guest.lang;
    let body = html! {
        (form::refusal(message))
        @if guest.may_sign_in() {
            form method="post" action={ (PATH) "/sso" } {
                (Input::text("email", lang.t("Work email", "Correo de tu empresa"))
                    .kind("email").value(email).autocomplete("username").required())
                button.primary type="submit" { (lang.t("Continue", "Continuar")) }
            }
        } @else { p.warning { (insecure(lang)) } }
        p { a href={ (PATH) "/sign-in" } { (lang.t("Sign in with a password", "Entrar con contraseña")) } }
    };
    let title = lang.t("Single sign-on", "Inicio de sesión único");
    guest.page(status, title, &body)
}

fn account_of(guest: &Guest) -> Option<AccountId> {
    guest.req.match_info().get("account")?.parse().ok()
}

/// `GET /portal/sso/{account}`: a page with an ordinary link, which names the account and shows where it leads.
async fn begin(guest: Guest) -> Answer {
    let lang = guest.lang;
    if !guest.may_sign_in() {
        return Ok(refused(&guest, StatusCode::FORBIDDEN, insecure(lang)));
    }
    let Some(account) = account_of(&guest) else {
        return failed(&guest, SingleSignOnError::NotSetUp);
    };
    let redirect_uri = callback(&portal_url(&guest), account);
    let people = guest.portal.services.people();
    let begun = match people.begin_single_sign_on(account, &redirect_uri).await {
        Ok(begun) => begun,
        Err(error) => return failed(&guest, error),
    };
    let url = Url::parse(&begun.url).ok();
    let host = url.as_ref().and_then(Url::host_str).unwrap_or_default();
    let lead = text!(
        lang,
        "You sign in to {} at {host}. Then you return here.",
        "Inicias sesión en {} por medio de {host}. Después regresas aquí.",
        begun.account_name
    );
    let go = text!(lang, "Continue to {host}", "Continuar a {host}");
    let body = html! {
        p.lead { (lead) }
        p { a.button.primary href=(begun.url) rel="noreferrer" { (go) } }
        p { a href={ (PATH) "/sign-in" } { (lang.t("Sign in with a password", "Entrar con contraseña")) } }
    };
    let title = lang.t("Single sign-on", "Inicio de sesión único");
    let mut answer = guest.page(StatusCode::OK, title, &body);
    add_cookie_of(&mut answer, &guest.portal, COOKIE, &begun.token)?;
    Ok(answer)
}

/// `GET /portal/sso/{account}/callback?state&code|error`: the identity provider sends the person back here.
async fn finish(guest: Guest) -> Answer {
    to_its_end(&guest.portal.clone(), finished(guest)).await
}

async fn finished(guest: Guest) -> Answer {
    let Some(account) = account_of(&guest) else {
        return failed(&guest, SingleSignOnError::NotSetUp);
    };
    let query = Fields::parse(guest.req.query_string().as_bytes());
    let cookie = guest.req.cookie(COOKIE);
    let token = cookie.as_ref().map_or("", |cookie| cookie.value());
    let redirect_uri = callback(&portal_url(&guest), account);
    let told = (query.text("state"), query.get("code"));
    let people = guest.portal.services.people();
    let signed_in = people.finish_single_sign_on((account, &redirect_uri), token, told);
    let mut answer = match signed_in.await {
        Ok(signed_in) => enter(&guest, &Kept::default(), signed_in).await?,
        Err(error) => failed(&guest, error)?,
    };
    forget(&mut answer, COOKIE)?;
    Ok(answer)
}

fn failed(guest: &Guest, error: SingleSignOnError) -> Answer {
    let status = match &error {
        SingleSignOnError::NotSetUp => StatusCode::NOT_FOUND,
        SingleSignOnError::Provider(fault) => {
            tracing::warn!(%fault, "an identity provider signed nobody in");
            StatusCode::BAD_GATEWAY
        }
        SingleSignOnError::Store(_) => StatusCode::INTERNAL_SERVER_ERROR,
        _ => StatusCode::FORBIDDEN,
    };
    let message = match sentence(&error, guest.lang) {
        Some(message) => message,
        None => match error {
            SingleSignOnError::Store(error) => return Err(error.into()),
            _ => "",
        },
    };
    Ok(refused(guest, status, message))
}

/// Why nobody was signed in; `None` if the store failed.
fn sentence(error: &SingleSignOnError, lang: Lang) -> Option<&'static str> {
    Some(match error {
        SingleSignOnError::NotSetUp => lang.t(
            "Single sign-on is not set up here.",
            "El inicio de sesión único no está configurado aquí.",
        ),
        SingleSignOnError::Stale => lang.t(
            "This sign-in has expired or was begun in another browser. Start again.",
            "Este inicio de sesión venció o se empezó en otro navegador. Empieza de nuevo.",
        ),
        SingleSignOnError::Denied => lang.t(
            "The identity provider did not sign you in.",
            "El proveedor de identidad no inició tu sesión.",
        ),
        SingleSignOnError::Provider(_) => lang.t(
            "The identity provider did not respond as expected. Try again; if it happens again, tell an owner of the account.",
            "El proveedor de identidad no respondió como se esperaba. Inténtalo de nuevo; si vuelve a pasar, avisa a un propietario de la cuenta.",
        ),
        SingleSignOnError::NoEmail => lang.t(
            "The identity provider named no verified email address for you.",
            "El proveedor de identidad no dio un correo verificado para ti.",
        ),
        SingleSignOnError::NotMember => lang.t(
            "You are not a member of this account. Ask an owner or admin for an invitation.",
            "No eres miembro de esta cuenta. Pide una invitación a un propietario o administrador.",
        ),
        SingleSignOnError::NoSeat => lang.t(
            "The team has no free seat. Ask an owner or admin to free one.",
            "El equipo no tiene lugares libres. Pide a un propietario o administrador que libere uno.",
        ),
        SingleSignOnError::Store(_) => return None,
    })
}

fn refused(guest: &Guest, status: StatusCode, message: &str) -> HttpResponse {
    let lang = guest.lang;
    let body = html! {
        (form::refusal(Some(message)))
        p { a.button href={ (PATH) "/sign-in" } { (lang.t("Go to sign-in", "Ir a iniciar sesión")) } }
    };
    let title = lang.t("Single sign-on", "Inicio de sesión único");
    guest.page(status, title, &body)
}
