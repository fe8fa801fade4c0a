//! The member's own page: name, password, language, sessions, accounts.

use offhook_services::{ChangePasswordError, TeamRefusal};

use super::passwords;
use super::sign_in::add_session;
use super::team::refusal;
use super::{passkeys, two_step};
use crate::parts::version;
use crate::parts::words::role_name;
use crate::prelude::*;

const SECTION: Section = Section::Profile;

/// The paths.
pub(super) fn routes() -> Vec<Page> {
    vec![
        Page::at("/profile").get(show),
        Page::at("/profile/name").post(rename),
        Page::at("/profile/password").post(change_password),
        Page::at("/profile/sessions").post(end_sessions),
        Page::at("/profile/account").post(switch),
        Page::at("/profile/leave").post(leave),
    ]
}

fn title(visitor: &Visitor) -> &'static str {
    SECTION.name(visitor.lang())
}

/// Why a form of this page was refused, shown beside that form.
#[derive(Default)]
struct Refused<'a> {
    /// The form of the name, and why it was refused.
    name: Option<(&'a Fields, &'a str)>,
    password: Option<&'a str>,
    two_step: Option<&'a str>,
    leaving: Option<&'a str>,
}

/// `GET /portal/profile`
async fn show(visit: Visit<Viewer>) -> Answer {
    let body = body(&visit, &Refused::default()).await?;
    Ok(visit.page(SECTION, title(&visit), &body))
}

/// `POST /portal/profile/name`
async fn rename(post: Post<Viewer>) -> Answer {
    let lang = post.lang();
    let again = async |typed: &Fields, why: &str| {
        let shown = Refused {
            name: Some((typed, why)),
            ..Refused::default()
        };
        refused(&post, &shown).await
    };
    if let Some(late) = version::stale(&name_of(&post), &post.fields) {
        return again(&late, version::message(lang)).await;
    }
    let name = post.fields.text("name");
    match post.services().people().rename(&post.person, name).await {
        Ok(()) => {
            let message = lang.t("Name changed.", "Nombre cambiado.");
            Ok(post.go("/profile", message))
        }
        Err(TeamRefusal::Store(error)) => Err(error.into()),
        Err(why) => again(&post.fields, &refusal(&why, lang)).await,
    }
}

/// `POST /portal/profile/password`
async fn change_password(post: Post<Viewer>) -> Answer {
    let lang = post.lang();
    let (present, new) = (post.fields.raw("password"), post.fields.raw(passwords::NEW));
    let people = post.services().people();
    let (message, wait) = match people.change_password(&post.person, present, new).await {
        Ok(token) => {
            let message = lang.t(
                "Password changed. Your other sessions have ended.",
                "Contraseña cambiada. Tus otras sesiones terminaron.",
            );
            let mut answer = post.go("/profile", message);
            add_session(&mut answer, &post.portal, &token)?;
            return Ok(answer);
        }
        Err(ChangePasswordError::Wrong) => {
            let message = lang.t(
                "The current password is wrong.",
                "La contraseña actual es incorrecta.",
            );
            (message.to_owned(), None)
        }
        Err(ChangePasswordError::Throttled { seconds }) => {
            (passwords::throttled(seconds, lang), Some(seconds))
        }
        Err(ChangePasswordError::Password(fault)) => {
            (passwords::fault(fault, lang).to_owned(), None)
        }
        Err(ChangePasswordError::Store(error)) => return Err(error.into()),
    };
    let shown = Refused {
        password: Some(&message),
        ..Refused::default()
    };
    let mut answer = refused(&post, &shown).await?;
    passwords::retry_after(&mut answer, wait);
    Ok(answer)
}

/// `POST /portal/profile/sessions`
async fn end_sessions(post: Post<Viewer>) -> Answer {
    let people = post.services().people();
    people.end_other_sessions(&post.person).await?;
    let message = post.t(
        "Your other sessions have ended.",
        "Tus otras sesiones terminaron.",
    );
    let member = post.person.member.id;
    post.done("sessions.end", member, "/profile", message).await
}

/// `POST /portal/profile/account`
async fn switch(post: Post<Viewer>) -> Answer {
    let account = post.fields.text("account").parse();
    let account: AccountId = account.map_err(|_| Trouble::not_found())?;
    let people = post.services().people();
    match people.switch(post.session(), account).await? {
        true => Ok(post.go("/", "")),
        false => Err(Trouble::not_found()),
    }
}

/// `POST /portal/profile/leave`
async fn leave(post: Post<Viewer>) -> Answer {
    let people = post.services().people();
    match people.remove(&post.person, post.person.member.id).await {
        Ok(_) => {
            let message = post.t("You have left the team.", "Saliste del equipo.");
            Ok(post.go("/sign-in", message))
        }
        Err(TeamRefusal::Store(error)) => Err(error.into()),
        Err(why) => {
            let why = refusal(&why, post.lang());
            let shown = Refused {
                leaving: Some(&why),
                ..Refused::default()
            };
            refused(&post, &shown).await
        }
    }
}

async fn refused(visitor: &Visitor, shown: &Refused<'_>) -> Answer {
    let body = body(visitor, shown).await?;
    Ok(visitor.refused(SECTION, title(visitor), &body))
}

/// The page with the reason why two-step verification was not turned off.
pub(super) async fn body_refusing_two_step(visitor: &Visitor, why: &str) -> Result<Markup> {
    let shown = Refused {
        two_step: Some(why),
        ..Refused::default()
    };
    body(visitor, &shown).await
}

async fn body(visitor: &Visitor, shown: &Refused<'_>) -> Result<Markup> {
    let t = visitor.lang();
    let person = &visitor.person;
    let people = visitor.services().people();
    let others = people.other_sessions(person).await?;
    let factors = people.second_factors(person).await?;
    Ok(html! {
        dl.facts {
            (list::fact(t.t("Name", "Nombre"), &person.member.name))
            (list::fact(t.t("Email", "Correo electrónico"), person.member.email.as_str()))
            (list::fact(t.t("Role", "Rol"), role_name(person.member.role, t)))
            (list::fact(t.t("Account", "Cuenta"), &person.caller.account.name))
        }
        (naming(visitor, shown.name))
        // Whom an identity provider signs in may have no password, and another owner of the same address one elsewhere.
        @if !person.by_single_sign_on {
            section aria-labelledby="password" {
                h2 #password { (t.t("Change password", "Cambiar contraseña")) }
                (form::refusal(shown.password))
                (form::form(visitor, "/profile/password", &html! {
                    (Input::text("password", t.t("Current password", "Contraseña actual")).kind("password").autocomplete("current-password").required())
                    (passwords::new_field(t))
                    button.primary type="submit" { (t.t("Change password", "Cambiar contraseña")) }
                }))
            }
            (passkeys::section(visitor))
            (two_step::section(visitor, &factors, shown.two_step))
        }
        section aria-labelledby="language" {
            h2 #language { (t.t("Language", "Idioma")) }
            div.bar-of-actions {
                @for (name, label) in [("en", "English"), ("es", "Español")] {
                    (form::form(visitor, "/language", &html! {
                        input type="hidden" name="lang" value=(name);
                        input type="hidden" name="back" value="/portal/profile";
                        button type="submit" aria-pressed=(t.tag().starts_with(name)) { (label) }
                    }))
                }
            }
        }
        @if !person.by_single_sign_on {
            section aria-labelledby="sessions" {
                h2 #sessions { (t.t("Other sessions", "Otras sesiones")) }
                p {
                    @match others {
                        0 => { (t.t("No other sessions.", "No hay otras sesiones.")) }
                        1 => { (t.t("You have 1 other session.", "Tienes 1 sesión más.")) }
                        _ => { (text!(t, "You have {others} other sessions.", "Tienes {others} sesiones más.")) }
                    }
                }
                @if others > 0 {
                    (form::button(visitor, "/profile/sessions", t.t("End other sessions", "Terminar otras sesiones"), &[]))
                }
            }
        }
        (accounts(visitor))
        section aria-labelledby="leaving" {
            h2 #leaving { (t.t("Leave this account", "Salir de esta cuenta")) }
            (form::refusal(shown.leaving))
            p { (t.t(
                "You need a new invitation to come back. What you created is kept.",
                "Necesitas una nueva invitación para volver. Lo que creaste se conserva.",
            )) }
            (form::danger(visitor, "/profile/leave", t.t("Leave team", "Salir del equipo"), t.t(
                "Leave the team of this account? Your sessions in it end.",
                "¿Salir del equipo de esta cuenta? Tus sesiones en ella terminan.",
            )))
        }
    })
}

fn name_of(visitor: &Visitor) -> Fields {
    Fields::of([("name", visitor.person.member.name.as_str())])
}

/// The form that changes the name.
fn naming(visitor: &Visitor, refused: Option<(&Fields, &str)>) -> Markup {
    let t = visitor.lang();
    let stored = version::stamped(name_of(visitor));
    let fields = refused.map_or(&stored, |(typed, _)| typed);
    let hint = t.t("How your teammates see you.", "Como te ve tu equipo.");
    html! {
        section aria-labelledby="name" {
            h2 #name { (t.t("Change name", "Cambiar nombre")) }
            (form::refusal(refused.map(|(_, why)| why)))
            (form::form(visitor, "/profile/name", &html! {
                (version::hidden(fields))
                (Input::text("name", t.t("Your name", "Tu nombre"))
                    .value(fields.text("name")).hint(hint).autocomplete("name").required())
                button.primary type="submit" { (t.t("Change name", "Cambiar nombre")) }
            }))
        }
    }
}

/// The member's other accounts.
fn accounts(visitor: &Visitor) -> Markup {
    let t = visitor.lang();
    let here = visitor.account();
    let all = visitor.person.accounts.iter();
    let others: Vec<_> = all.filter(|(id, _)| *id != here).collect();
    html! {
        @if !others.is_empty() {
            section aria-labelledby="accounts" {
                h2 #accounts { (t.t("Your other accounts", "Tus otras cuentas")) }
                div.bar-of-actions {
                    @for (id, name) in others {
                        (form::button(visitor, "/profile/account", name, &[("account", &id.to_string())]))
                    }
                }
            }
        }
    }
}
