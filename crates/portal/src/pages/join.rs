//! One-time links: to set a password and to join a team.

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use actix_web::web::Payload;
use offhook_services::{InvitationFor, JoinError, LinkError, LinkFor, SignedIn};

use super::passwords;
use super::sign_in::{HALF_COOKIE, add_cookie_of, add_session, address, single_sign_on_required};
use crate::parts::words::role_name;
use crate::prelude::*;
use crate::signed_out::insecure;
use crate::visit::{Guest, SESSION_COOKIE};

/// The paths. Opening a link does not use it up: mail scanners open links too.
pub(super) fn routes() -> Vec<Page> {
    vec![
        Page::at("/welcome/{token}")
            .open_get(welcome)
            .open_post(set_password),
        Page::at("/join/{token}").open_get(invited).open_post(join),
    ]
}

fn token(guest: &Guest) -> &str {
    guest.req.match_info().get("token").unwrap_or("")
}

/// `GET /portal/welcome/{token}`
async fn welcome(guest: Guest) -> Answer {
    let people = guest.portal.services.people();
    Ok(match people.open_link(token(&guest)).await? {
        Some(link) => welcome_page(&guest, StatusCode::OK, &link, None),
        None => gone(&guest),
    })
}

/// `POST /portal/welcome/{token}`
async fn set_password(guest: Guest, body: Payload) -> Answer {
    let fields = guest.form(body).await?;
    let people = guest.portal.services.people();
    let Some(link) = people.open_link(token(&guest)).await? else {
        return Ok(gone(&guest));
    };
    let again = |status, message| Ok(welcome_page(&guest, status, &link, Some(message)));
    if !guest.may_sign_in() {
        return again(StatusCode::FORBIDDEN, insecure(guest.lang));
    }
    let password = fields.raw(passwords::NEW);
    match people.set_password_by_link(token(&guest), password).await {
        Ok(signed_in) => {
            let message = guest.t("Password set.", "Contraseña guardada.");
            enter(&guest, &signed_in, message).await
        }
        Err(LinkError::Gone) => Ok(gone(&guest)),
        Err(LinkError::SingleSignOnRequired) => {
            Ok(guest.go("/sso", single_sign_on_required(guest.lang)))
        }
        Err(LinkError::Password(fault)) => again(
            StatusCode::UNPROCESSABLE_ENTITY,
            passwords::fault(fault, guest.lang),
        ),
        Err(LinkError::Store(error)) => Err(error.into()),
    }
}

fn welcome_page(
    guest: &Guest,
    status: StatusCode,
    link: &LinkFor,
    message: Option<&str>,
) -> HttpResponse {
    let lang = guest.lang;
    let body = html! {
        (form::refusal(message))
        p.lead {
            (lang.t(
                "Choose your password for ",
                "Elige tu contraseña para ",
            )) strong { (link.account_name) } "."
        }
        @if link.has_password {
            p.hint { (lang.t(
                "It replaces your current password in all your accounts and ends your sessions.",
                "Reemplaza tu contraseña actual en todas tus cuentas y termina tus sesiones.",
            )) }
        }
        @if link.has_two_step {
            p.hint { (lang.t(
                "It also turns your two-step verification off. Set it up again on Profile.",
                "También desactiva tu verificación en dos pasos. Configúrala de nuevo en Perfil.",
            )) }
        }
        @if guest.may_sign_in() {
            form method="post" action={ (PATH) "/welcome/" (token(guest)) } {
                (email_field(link.email.as_str(), lang))
                (passwords::new_field(lang))
                button.primary type="submit" { (lang.t("Set password and sign in", "Guardar contraseña e iniciar sesión")) }
            }
        } @else { p.warning { (insecure(lang)) } }
    };
    guest.page(status, lang.t("Welcome", "Te damos la bienvenida"), &body)
}

/// The email that the link belongs to.
fn email_field(email: &str, lang: Lang) -> Input<'_> {
    Input::text("email", lang.t("Email", "Correo electrónico"))
        .kind("email")
        .value(email)
        .autocomplete("username")
        .fixed()
}

/// `GET /portal/join/{token}`
async fn invited(guest: Guest) -> Answer {
    let people = guest.portal.services.people();
    Ok(match people.invitation(token(&guest)).await? {
        Some(invitation) => {
            let none = Fields::default();
            join_page(&guest, StatusCode::OK, &invitation, &none, None)
        }
        None => gone(&guest),
    })
}

/// `POST /portal/join/{token}`
async fn join(guest: Guest, body: Payload) -> Answer {
    let lang = guest.lang;
    let fields = guest.form(body).await?;
    let people = guest.portal.services.people();
    let Some(invitation) = people.invitation(token(&guest)).await? else {
        return Ok(gone(&guest));
    };
    let again = |status: StatusCode, message: &str| {
        join_page(&guest, status, &invitation, &fields, Some(message))
    };
    if !guest.may_sign_in() {
        return Ok(again(StatusCode::FORBIDDEN, insecure(lang)));
    }
    let password = fields.raw("password");
    let name = fields.text("name");
    let joined = people.accept_invitation(token(&guest), name, password, address(&guest.req));
    let message = match joined.await {
        Ok(signed_in) => {
            let message = lang.t("Welcome to the team.", "Te damos la bienvenida al equipo.");
            return enter(&guest, &signed_in, message).await;
        }
        Err(JoinError::Gone) => return Ok(gone(&guest)),
        Err(JoinError::CodeRequired { token }) => {
            let mut answer = guest.go("/sign-in/code", "");
            add_cookie_of(&mut answer, &guest.portal, HALF_COOKIE, &token)?;
            return Ok(answer);
        }
        Err(JoinError::SingleSignOnRequired) => {
            return Ok(guest.go("/sso", single_sign_on_required(lang)));
        }
        Err(JoinError::Throttled { seconds }) => {
            return Ok(passwords::too_many(seconds, lang, again));
        }
        Err(JoinError::Wrong) => lang.t(
            "You cannot join with this password. If you have other accounts here, use the password you sign in to them with. If you know none, ask the service operator for a sign-in link, choose a password with it, and open this invitation again.",
            "No puedes unirte con esta contraseña. Si tienes otras cuentas aquí, escribe la que usas para entrar a ellas. Si no conoces ninguna, pide al operador del servicio un enlace de acceso, elige con él una contraseña y abre de nuevo esta invitación.",
        ),
        Err(JoinError::Name) => passwords::name_fault(lang),
        Err(JoinError::Password(fault)) => passwords::fault(fault, lang),
        Err(JoinError::Store(error)) => return Err(error.into()),
    };
    Ok(again(StatusCode::UNPROCESSABLE_ENTITY, message))
}

fn join_page(
    guest: &Guest,
    status: StatusCode,
    invitation: &InvitationFor,
    typed: &Fields,
    message: Option<&str>,
) -> HttpResponse {
    let lang = guest.lang;
    let role = role_name(invitation.role, lang);
    let body = html! {
        (form::refusal(message))
        p.lead {
            (lang.t("You are invited to ", "Te invitaron a ")) strong { (invitation.account_name) }
            (lang.t(" as ", " como ")) strong { (role) } "."
        }
        p.hint { (lang.t("The invitation expires ", "La invitación vence ")) (words::when(invitation.expires_at)) "." }
        @if guest.may_sign_in() { (join_fields(guest, invitation, typed)) } @else { p.warning { (insecure(lang)) } }
    };
    guest.page(status, lang.t("Join the team", "Únete al equipo"), &body)
}

fn join_fields(guest: &Guest, invitation: &InvitationFor, typed: &Fields) -> Markup {
    let lang = guest.lang;
    let name = typed.get("name").unwrap_or(&invitation.name);
    html! {
        form method="post" action={ (PATH) "/join/" (token(guest)) } {
            (email_field(invitation.email.as_str(), lang))
            (Input::text("name", lang.t("Your name", "Tu nombre")).value(name).autocomplete("name").required())
            (Input::text("password", lang.t("Your password", "Tu contraseña"))
                .kind("password")
                .hint(lang.t(
                    "If you have other accounts here, use their password. Otherwise choose a new one: at least 12 characters, spaces allowed.",
                    "Si tienes otras cuentas aquí, usa su contraseña. Si no, elige una nueva: al menos 12 caracteres, se permiten espacios.",
                ))
                .required())
            button.primary type="submit" { (lang.t("Join", "Unirme")) }
        }
    }
}

/// Redirects into the portal with the cookie of the new session.
async fn enter(guest: &Guest, signed_in: &SignedIn, message: &str) -> Answer {
    // The browser's old session ends: no session is carried over a sign-in.
    if let Some(old) = guest.req.cookie(SESSION_COOKIE) {
        guest.portal.services.people().sign_out(old.value()).await?;
    }
    let mut answer = guest.go("/", message);
    add_session(&mut answer, &guest.portal, &signed_in.token)?;
    Ok(answer)
}

/// The page for an invalid link: the same whatever the reason.
fn gone(guest: &Guest) -> HttpResponse {
    let body = html! {
        p.lead { (guest.t(
            "It was already used, has expired or was withdrawn. Ask the person who sent it for a new one.",
            "Ya se usó, venció o fue retirado. Pide uno nuevo a quien te lo envió.",
        )) }
        p { a.button href={ (PATH) "/sign-in" } { (guest.t("Go to sign-in", "Ir a iniciar sesión")) } }
    };
    let title = guest.t("This link is not valid", "Este enlace no es válido");
    guest.page(StatusCode::NOT_FOUND, title, &body)
}
