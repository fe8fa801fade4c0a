//! One-time links: to set a password, and to come to a team.

use actix_web::http::StatusCode;
use actix_web::web::Payload;
use actix_web::{HttpRequest, HttpResponse};
use maud::{Markup, html};
use offhook_services::{InvitationFor, JoinError, LinkError, LinkFor, SignedIn};

use super::passwords;
use super::sign_in::{add_cookie, address, frame, insecure, session_cookie};
use crate::fields::Fields;
use crate::lang::Lang;
use crate::layout::{self, role_name};
use crate::parts::form::{self, Input};
use crate::parts::words;
use crate::routes::Page;
use crate::trouble::Answer;
use crate::visit::{SESSION_COOKIE, check_origin, go, read_form};
use crate::{PATH, Portal};

/// The paths. Looking at one uses nothing up: mail programs look at links too.
pub(super) fn routes() -> Vec<Page> {
    vec![
        Page::at("/welcome/{token}")
            .open_get(welcome)
            .open_post(set_password),
        Page::at("/join/{token}").open_get(invited).open_post(join),
    ]
}

fn token(req: &HttpRequest) -> &str {
    req.match_info().get("token").unwrap_or("")
}

/// `GET /portal/welcome/{token}`
async fn welcome(portal: Portal, req: HttpRequest) -> Answer {
    Ok(
        match portal.services.people().open_link(token(&req)).await? {
            Some(link) => welcome_page(&portal, &req, StatusCode::OK, &link, None),
            None => gone(&req),
        },
    )
}

/// `POST /portal/welcome/{token}`
async fn set_password(portal: Portal, req: HttpRequest, body: Payload) -> Answer {
    check_origin(&req)?;
    let lang = Lang::of(&req);
    let fields = read_form(&req, body).await?;
    let people = portal.services.people();
    let Some(link) = people.open_link(token(&req)).await? else {
        return Ok(gone(&req));
    };
    if !portal.may_sign_in(&req) {
        let said = Some(insecure(lang));
        return Ok(welcome_page(
            &portal,
            &req,
            StatusCode::FORBIDDEN,
            &link,
            said,
        ));
    }
    let password = fields.raw(passwords::NEW);
    match people.set_password_by_link(token(&req), password).await {
        Ok(signed_in) => {
            let said = lang.t("Your password is set.", "Tu contraseña quedó guardada.");
            enter(&portal, &req, &signed_in, said).await
        }
        Err(LinkError::Gone) => Ok(gone(&req)),
        Err(LinkError::Password(fault)) => {
            let said = Some(passwords::fault(fault, lang));
            Ok(welcome_page(
                &portal,
                &req,
                StatusCode::UNPROCESSABLE_ENTITY,
                &link,
                said,
            ))
        }
        Err(LinkError::Store(error)) => Err(error.into()),
    }
}

fn welcome_page(
    portal: &Portal,
    req: &HttpRequest,
    status: StatusCode,
    link: &LinkFor,
    said: Option<&str>,
) -> HttpResponse {
    let lang = Lang::of(req);
    let body = html! {
        (form::refusal(said))
        p.lead {
            @match lang {
                Lang::En => { "Choose the password with which you sign in to " strong { (link.account_name) } "." }
                Lang::Es => { "Elige la contraseña con la que entrarás a " strong { (link.account_name) } "." }
            }
        }
        @if link.has_password {
            p.hint { (lang.t(
                "It replaces the one that you have, in all your accounts, and ends your sessions.",
                "Reemplaza la que tienes, en todas tus cuentas, y termina tus sesiones.",
            )) }
        }
        @if portal.may_sign_in(req) {
            form method="post" action={ (PATH) "/welcome/" (token(req)) } {
                (Input::text("email", lang.t("E-mail", "Correo electrónico")).kind("email").value(link.email.as_str()).autocomplete("username").fixed())
                (passwords::new_field(lang))
                button.primary type="submit" { (lang.t("Set the password and sign in", "Guardar la contraseña e iniciar sesión")) }
            }
        } @else { p.warning { (insecure(lang)) } }
    };
    layout::page(
        &frame(req),
        status,
        lang.t("Welcome", "Te damos la bienvenida"),
        &body,
    )
}

/// `GET /portal/join/{token}`
async fn invited(portal: Portal, req: HttpRequest) -> Answer {
    let none = Fields::default();
    Ok(
        match portal.services.people().invitation(token(&req)).await? {
            Some(invitation) => {
                join_page(&portal, &req, StatusCode::OK, (&invitation, &none), None)
            }
            None => gone(&req),
        },
    )
}

/// `POST /portal/join/{token}`
async fn join(portal: Portal, req: HttpRequest, body: Payload) -> Answer {
    check_origin(&req)?;
    let lang = Lang::of(&req);
    let fields = read_form(&req, body).await?;
    let people = portal.services.people();
    let Some(invitation) = people.invitation(token(&req)).await? else {
        return Ok(gone(&req));
    };
    let again = |status: StatusCode, said: &str| {
        join_page(&portal, &req, status, (&invitation, &fields), Some(said))
    };
    let refused = StatusCode::UNPROCESSABLE_ENTITY;
    if !portal.may_sign_in(&req) {
        return Ok(again(StatusCode::FORBIDDEN, insecure(lang)));
    }
    let password = match invitation.has_password {
        true => fields.raw("password"),
        false => fields.raw(passwords::NEW),
    };
    let name = fields.text("name");
    let joined = people.accept_invitation(token(&req), name, password, address(&req));
    match joined.await {
        Ok(signed_in) => {
            let said = lang.t("You are in the team.", "Ya estás en el equipo.");
            enter(&portal, &req, &signed_in, said).await
        }
        Err(JoinError::Gone) => Ok(gone(&req)),
        Err(JoinError::NeedsLink) => Ok(again(refused, lang.t(
            "This e-mail address needs a sign-in link of whoever runs this service before it can join. Ask them for one (`offhook member link`), choose a password with it, and open this invitation again.",
            "Este correo necesita un enlace de acceso de quien opera este servicio antes de poder unirse. Pídeselo (`offhook member link`), elige con él una contraseña y abre de nuevo esta invitación.",
        ))),
        Err(JoinError::Wrong) => Ok(again(refused, lang.t(
            "This is not the password of this e-mail address. It is the one with which you sign in to your other accounts here.",
            "Esta no es la contraseña de este correo. Es la que usas para entrar a tus otras cuentas de aquí.",
        ))),
        Err(JoinError::Throttled { seconds }) => {
            let mut answer = again(StatusCode::TOO_MANY_REQUESTS, &passwords::throttled(seconds, lang));
            passwords::retry_after(&mut answer, seconds);
            Ok(answer)
        }
        Err(JoinError::Name) => Ok(again(refused, lang.t(
            "Your name must have 1 to 120 characters, none of them a control character.",
            "Tu nombre debe tener de 1 a 120 caracteres, sin caracteres de control.",
        ))),
        Err(JoinError::Password(fault)) => Ok(again(refused, passwords::fault(fault, lang))),
        Err(JoinError::Store(error)) => Err(error.into()),
    }
}

fn join_page(
    portal: &Portal,
    req: &HttpRequest,
    status: StatusCode,
    (invitation, typed): (&InvitationFor, &Fields),
    said: Option<&str>,
) -> HttpResponse {
    let lang = Lang::of(req);
    let role = role_name(invitation.role, lang);
    let body = html! {
        (form::refusal(said))
        p.lead {
            @match lang {
                Lang::En => { "You are invited to " strong { (invitation.account_name) } " as " strong { (role) } "." }
                Lang::Es => { "Te invitaron a " strong { (invitation.account_name) } " como " strong { (role) } "." }
            }
        }
        p.hint { (lang.t("The invitation ends ", "La invitación vence ")) (words::when(invitation.expires_at)) "." }
        @if portal.may_sign_in(req) { (join_fields(req, invitation, typed)) } @else { p.warning { (insecure(lang)) } }
    };
    layout::page(
        &frame(req),
        status,
        lang.t("Join the team", "Únete al equipo"),
        &body,
    )
}

fn join_fields(req: &HttpRequest, invitation: &InvitationFor, typed: &Fields) -> Markup {
    let lang = Lang::of(req);
    let name = typed.get("name").unwrap_or(&invitation.name);
    html! {
        form method="post" action={ (PATH) "/join/" (token(req)) } {
            (Input::text("email", lang.t("E-mail", "Correo electrónico")).kind("email").value(invitation.email.as_str()).autocomplete("username").fixed())
            (Input::text("name", lang.t("Your name", "Tu nombre")).value(name).autocomplete("name").required())
            @if invitation.has_password {
                (Input::text("password", lang.t("Your password", "Tu contraseña"))
                    .kind("password")
                    .autocomplete("current-password")
                    .hint(lang.t(
                        "You have one already: the one of your other accounts here.",
                        "Ya tienes una: la de tus otras cuentas de aquí.",
                    ))
                    .required())
            } @else { (passwords::new_field(lang)) }
            button.primary type="submit" { (lang.t("Join", "Unirme")) }
        }
    }
}

/// Into the portal, with the cookie of the new session.
async fn enter(portal: &Portal, req: &HttpRequest, signed_in: &SignedIn, said: &str) -> Answer {
    // A session is never taken over from before: this browser's old one ends.
    if let Some(old) = req.cookie(SESSION_COOKIE) {
        portal.services.people().sign_out(old.value()).await?;
    }
    let mut answer = go(portal, "/", said);
    add_cookie(&mut answer, &session_cookie(portal, &signed_in.token))?;
    Ok(answer)
}

/// A link that opens nothing: the same page whatever the reason.
fn gone(req: &HttpRequest) -> HttpResponse {
    let lang = Lang::of(req);
    let body = html! {
        p.lead { (lang.t(
            "It was used already, it has expired, or it was withdrawn. Ask for a new one where you got it.",
            "Ya se usó, venció o fue retirado. Pide uno nuevo a quien te lo dio.",
        )) }
        p { a.button href={ (PATH) "/sign-in" } { (lang.t("To sign in", "Iniciar sesión")) } }
    };
    let title = lang.t("This link opens nothing", "Este enlace no abre nada");
    layout::page(&frame(req), StatusCode::NOT_FOUND, title, &body)
}
