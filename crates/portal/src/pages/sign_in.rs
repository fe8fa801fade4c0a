//! Signing in and out.

use std::net::{IpAddr, Ipv4Addr};

use actix_web::cookie::{Cookie, SameSite, time::Duration as CookieTime};
use actix_web::http::StatusCode;
use actix_web::web::Payload;
use actix_web::{HttpRequest, HttpResponse};
use offhook_http::address_of;
use offhook_services::{SignInError, SignedIn};

use super::passwords;
use crate::Portal;
use crate::fields::local_path;
use crate::lang;
use crate::prelude::*;
use crate::signed_out::{Kept, code_page, insecure, onward, page, resume};
use crate::theme::{self, Theme};
use crate::visit::{Guest, SESSION_COOKIE, SIGN_OUT, check_origin, read_form_of, token_of};

/// The cookie that holds the token of a sign-in that waits for a code.
pub(super) const HALF_COOKIE: &str = "offhook_sign_in";

/// The largest sign-in form: it may carry an interrupted form in a field.
pub(super) const MAX_KEPT_BYTES: usize = 8 * 1024 * 1024;

/// The paths.
pub(super) fn routes() -> Vec<Page> {
    vec![
        Page::at("/sign-in").open_get(show).open_post(sign_in),
        Page::at(SIGN_OUT).post(sign_out),
        Page::at("/language").post(choose_language),
        Page::at("/theme").post(choose_theme),
    ]
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
    let again = |status, message: &str| page(&guest, status, &kept, email, Some(message));
    if !guest.may_sign_in() {
        return Ok(again(StatusCode::FORBIDDEN, insecure(guest.lang)));
    }
    let address = address(&guest.req);
    let people = guest.portal.services.people();
    let signed_in = match people.sign_in(email, fields.raw("password"), address).await {
        Ok(signed_in) => signed_in,
        Err(SignInError::Wrong) => {
            let message = guest.t(
                "Wrong email or password.",
                "Correo o contraseña incorrectos.",
            );
            return Ok(again(StatusCode::UNPROCESSABLE_ENTITY, message));
        }
        Err(SignInError::CodeRequired { token }) => {
            let has_passkeys = people.waits_for_passkey(&token).await?;
            let mut answer = code_page(&guest, StatusCode::OK, (&kept, has_passkeys), None);
            add_cookie_of(&mut answer, &guest.portal, HALF_COOKIE, &token)?;
            return Ok(answer);
        }
        Err(SignInError::SingleSignOnRequired) => {
            return Ok(again(
                StatusCode::FORBIDDEN,
                single_sign_on_required(guest.lang),
            ));
        }
        Err(SignInError::Throttled { seconds }) => {
            return Ok(passwords::too_many(seconds, guest.lang, again));
        }
        Err(SignInError::Store(error)) => return Err(error.into()),
    };
    enter(&guest, &kept, signed_in).await
}

/// Why a right password opens nothing.
pub(super) const fn single_sign_on_required(lang: Lang) -> &'static str {
    lang.t(
        "Your account requires single sign-on. Choose “Continue with single sign-on”.",
        "Tu cuenta exige inicio de sesión único. Elige «Continuar con inicio de sesión único».",
    )
}

/// Goes on after a sign-in, with the cookie of the new session.
pub(super) async fn enter(guest: &Guest, kept: &Kept, signed_in: SignedIn) -> Answer {
    let people = guest.portal.services.people();
    // The browser's old session ends: no session is carried over a sign-in.
    if let Some(old) = guest.req.cookie(SESSION_COOKIE) {
        people.sign_out(old.value()).await?;
    }
    let signed_in = moved(&guest.portal, signed_in, kept.account).await?;
    let here = signed_in.person.caller.account.id;
    let mut answer = match &kept.resume {
        // The input of another person who used this browser before.
        _ if kept.account.is_some_and(|account| account != here) => {
            let message = guest.t(
                "Your earlier input belongs to an account you are not a member of. It was discarded.",
                "Lo que escribiste antes es de una cuenta de la que no eres miembro. Se descartó.",
            );
            guest.go("/", message)
        }
        Some((path, typed)) => {
            let account = &signed_in.person.caller.account;
            let token = token_of(&signed_in.token, account.id);
            resume(guest, (token.as_str(), account.name.as_str()), path, typed)
        }
        None => onward(guest, kept),
    };
    add_session(&mut answer, &guest.portal, &signed_in.token)?;
    Ok(answer)
}

/// Moves a new session into the account of the interrupted form, if the person is its member.
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

/// The client's address.
pub(super) fn address(req: &HttpRequest) -> IpAddr {
    address_of(req).unwrap_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED))
}

/// `POST /portal/sign-out`
async fn sign_out(post: Post<Viewer>) -> Answer {
    post.services().people().sign_out(post.session()).await?;
    let mut answer = post.go("/sign-in", "");
    forget(&mut answer, SESSION_COOKIE)?;
    Ok(answer)
}

/// `POST /portal/language`
async fn choose_language(post: Post<Viewer>) -> Answer {
    let chosen = Lang::named(post.fields.text("lang"));
    choose(
        &post,
        lang::COOKIE,
        chosen.map(|chosen| chosen.t("en", "es")),
    )
}

/// `POST /portal/theme`
async fn choose_theme(post: Post<Viewer>) -> Answer {
    let chosen = Theme::named(post.fields.text("theme"));
    choose(&post, theme::COOKIE, chosen.map(Theme::as_str))
}

/// Keeps a choice in the browser, and goes back to the page where it was made.
fn choose(post: &Post<Viewer>, name: &str, chosen: Option<&str>) -> Answer {
    let back = local_path(post.fields.text("back")).and_then(|path| path.strip_prefix(PATH));
    let mut answer = post.go(back.unwrap_or("/"), "");
    if let Some(chosen) = chosen {
        let mut cookie = cookie(&post.portal, name, chosen);
        cookie.set_max_age(CookieTime::days(365));
        add_cookie(&mut answer, &cookie)?;
    }
    Ok(answer)
}

/// The cookie of a new session. It ends with the browser, or earlier on the server.
pub(super) fn add_session(answer: &mut HttpResponse, portal: &Portal, token: &str) -> Result<()> {
    add_cookie_of(answer, portal, SESSION_COOKIE, token)
}

/// A cookie of the portal, which ends with the browser.
pub(super) fn add_cookie_of(
    answer: &mut HttpResponse,
    portal: &Portal,
    name: &str,
    value: &str,
) -> Result<()> {
    add_cookie(answer, &cookie(portal, name, value))
}

/// Removes a cookie.
pub(super) fn forget(answer: &mut HttpResponse, name: &str) -> Result<()> {
    let mut gone = Cookie::build(name, "").path(PATH).finish();
    gone.make_removal();
    add_cookie(answer, &gone)
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
