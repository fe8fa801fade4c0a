//! Two-step verification: setting it up, and the code that finishes a sign-in.

use actix_web::http::StatusCode;
use actix_web::web::Payload;
use offhook_services::store::SecondFactors;
use offhook_services::{CodeError, NewFactor, TwoStepError, new_factor};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use qrcode::{Color, EcLevel, QrCode};

use super::passkeys::{check_own, given, not_accepted, proof};
use super::passwords;
use super::sign_in::{HALF_COOKIE, MAX_KEPT_BYTES, address, enter, forget};
use crate::prelude::*;
use crate::signed_out::{CODE, Kept, code_field, code_page, insecure};
use crate::visit::{Guest, check_origin, read_form_of};

const SECTION: Section = Section::Profile;

/// The light border around a QR code, in modules: what scanners need.
const QUIET_ZONE: usize = 4;

/// The field of a proof beside the code of a new app.
const PROOF: &str = "proof_code";

/// The paths.
pub(super) fn routes() -> Vec<Page> {
    vec![
        Page::at("/sign-in/code").open_get(ask).open_post(finish),
        Page::at("/profile/two-step").get(set_up).post(turn_on),
        Page::at("/profile/two-step/off").post(turn_off),
        Page::at("/profile/two-step/codes")
            .get(ask_renewal)
            .post(renew),
    ]
}

/// `GET /portal/sign-in/code`
async fn ask(guest: Guest) -> Answer {
    let cookie = guest.req.cookie(HALF_COOKIE);
    let token = cookie.as_ref().map_or("", |cookie| cookie.value());
    let people = guest.portal.services.people();
    Ok(match people.waits_for_code(token).await? {
        true => {
            let has_passkeys = people.waits_for_passkey(token).await?;
            let kept = (&Kept::default(), has_passkeys);
            code_page(&guest, StatusCode::OK, kept, None)
        }
        false => {
            let (status, kept) = (StatusCode::OK, Kept::default());
            let message = expired(guest.lang);
            crate::signed_out::page(&guest, status, &kept, "", Some(message))
        }
    })
}

/// `POST /portal/sign-in/code`
async fn finish(guest: Guest, body: Payload) -> Answer {
    check_origin(&guest.req)?;
    let fields = read_form_of(&guest.req, body, None, MAX_KEPT_BYTES).await?;
    let kept = Kept::of(&fields);
    let cookie = guest.req.cookie(HALF_COOKIE);
    let token = cookie.as_ref().map_or("", |cookie| cookie.value());
    let people = guest.portal.services.people();
    let shown = (&kept, people.waits_for_passkey(token).await?);
    let again = |status, message: &str| code_page(&guest, status, shown, Some(message));
    if !guest.may_sign_in() {
        return Ok(again(StatusCode::FORBIDDEN, insecure(guest.lang)));
    }
    let party = guest.portal.relying_party();
    let given = given(party.as_ref(), &fields, CODE);
    match people
        .finish_sign_in(token, given, address(&guest.req))
        .await
    {
        Ok(signed_in) => {
            let mut answer = enter(&guest, &kept, signed_in).await?;
            forget(&mut answer, HALF_COOKIE)?;
            Ok(answer)
        }
        Err(CodeError::Expired) => {
            let message = expired(guest.lang);
            let status = StatusCode::UNPROCESSABLE_ENTITY;
            Ok(crate::signed_out::page(
                &guest,
                status,
                &kept,
                "",
                Some(message),
            ))
        }
        Err(CodeError::Wrong) => {
            let why = match given.passkey {
                Some(_) => not_accepted(guest.lang),
                None => wrong_code(guest.lang),
            };
            Ok(again(StatusCode::UNPROCESSABLE_ENTITY, why))
        }
        Err(CodeError::Throttled { seconds }) => {
            Ok(passwords::too_many(seconds, guest.lang, again))
        }
        Err(CodeError::Store(error)) => Err(error.into()),
    }
}

const fn expired(lang: Lang) -> &'static str {
    lang.t(
        "Your sign-in has expired. Enter your password again.",
        "Tu inicio de sesión venció. Escribe otra vez tu contraseña.",
    )
}

const fn wrong_code(lang: Lang) -> &'static str {
    lang.t(
        "Wrong code, or already used. Enter the code that your app shows now.",
        "El código es incorrecto o ya se usó. Escribe el que tu aplicación muestra ahora.",
    )
}

/// `GET /portal/profile/two-step`
async fn set_up(visit: Visit<Viewer>) -> Answer {
    let people = visit.services().people();
    let factors = people.second_factors(&visit.person).await?;
    if factors.app.is_some() {
        return Ok(visit.go("/profile", ""));
    }
    let body = set_up_form(&visit, &factors, &new_factor(None)?, None);
    Ok(visit.page(SECTION, title(&visit), &body))
}

fn title(visitor: &Visitor) -> &'static str {
    visitor
        .lang()
        .t("Two-step verification", "Verificación en dos pasos")
}

/// `POST /portal/profile/two-step`
async fn turn_on(post: Post<Viewer>) -> Answer {
    let fields = &post.fields;
    let party = post.portal.relying_party();
    let entered = (
        fields.raw("current_password"),
        given(party.as_ref(), fields, PROOF),
    );
    let confirmed = (fields.text("secret"), fields.text(CODE));
    let people = post.services().people();
    let error = match people
        .turn_on_two_step(&post.person, entered, confirmed)
        .await
    {
        Ok(codes) => return Ok(post.page(SECTION, title(&post), &codes_once(&post, &codes))),
        Err(error) => error,
    };
    let factor = new_factor(Some(fields.text("secret")))?;
    refused(&post, title(&post), error, async |message| {
        let factors = people.second_factors(&post.person).await?;
        Ok(set_up_form(&post, &factors, &factor, Some(message)))
    })
    .await
}

/// `POST /portal/profile/two-step/off`
async fn turn_off(post: Post<Viewer>) -> Answer {
    let fields = &post.fields;
    let (people, party) = (post.services().people(), post.portal.relying_party());
    let (password, given) = (
        fields.raw("current_password"),
        given(party.as_ref(), fields, CODE),
    );
    match people
        .turn_off_two_step(&post.person, password, given)
        .await
    {
        Ok(()) => {
            let message = match people.second_factors(&post.person).await?.is_on() {
                true => post.t(
                    "Authenticator app removed. Your other sessions have ended.",
                    "La aplicación de autenticación se quitó. Tus otras sesiones terminaron.",
                ),
                false => post.t(
                    "Two-step verification is off. Your other sessions have ended.",
                    "La verificación en dos pasos está desactivada. Tus otras sesiones terminaron.",
                ),
            };
            Ok(post.go("/profile", message))
        }
        Err(error) => {
            refused(&post, title(&post), error, async |message| {
                super::profile::body_refusing_two_step(&post, message).await
            })
            .await
        }
    }
}

/// `GET /portal/profile/two-step/codes`
async fn ask_renewal(visit: Visit<Viewer>) -> Answer {
    check_own(&visit)?;
    let people = visit.services().people();
    let factors = people.second_factors(&visit.person).await?;
    if !factors.is_on() {
        return Ok(visit.go("/profile", visit.t(
            "Recovery codes come with two-step verification. Turn it on first.",
            "Los códigos de recuperación vienen con la verificación en dos pasos. Actívala primero.",
        )));
    }
    let body = renewal(&visit, &factors, None);
    Ok(visit.page(SECTION, renewal_title(&visit), &body))
}

fn renewal_title(visitor: &Visitor) -> &'static str {
    let t = visitor.lang();
    t.t("New recovery codes", "Nuevos códigos de recuperación")
}

fn renewal(visitor: &Visitor, factors: &SecondFactors, message: Option<&str>) -> Markup {
    let t = visitor.lang();
    html! {
        (form::refusal(message))
        p.lead { (t.t(
            "Your present recovery codes stop working.",
            "Tus códigos de recuperación actuales dejan de servir.",
        )) }
        (form::form(visitor, "/profile/two-step/codes", &html! {
            (password_field(t))
            (proof(factors, CODE, t))
            button.primary type="submit" { (renewal_title(visitor)) }
        }))
    }
}

/// `POST /portal/profile/two-step/codes`
async fn renew(post: Post<Viewer>) -> Answer {
    check_own(&post)?;
    let fields = &post.fields;
    let (people, party) = (post.services().people(), post.portal.relying_party());
    let (password, given) = (
        fields.raw("current_password"),
        given(party.as_ref(), fields, CODE),
    );
    let renewed = people.renew_recovery_codes(&post.person, password, given);
    match renewed.await {
        Ok(codes) => Ok(post.page(SECTION, renewal_title(&post), &codes_shown(&post, &codes))),
        Err(error) => {
            refused(&post, renewal_title(&post), error, async |message| {
                let factors = people.second_factors(&post.person).await?;
                Ok(renewal(&post, &factors, Some(message)))
            })
            .await
        }
    }
}

/// Why a change of the second factors was refused, and for how many seconds to wait.
pub(super) fn why(error: TwoStepError, lang: Lang) -> Result<(String, Option<u64>)> {
    let message = match error {
        TwoStepError::Password => lang.t("The password is wrong.", "La contraseña es incorrecta."),
        TwoStepError::Code => wrong_code(lang),
        TwoStepError::Name => lang.t(
            "Enter a name of 1 to 120 characters.",
            "Escribe un nombre de 1 a 120 caracteres.",
        ),
        TwoStepError::TooMany => lang.t(
            "You have 20 passkeys. Remove one first.",
            "Tienes 20 llaves de acceso. Quita una primero.",
        ),
        TwoStepError::Passkey => lang.t(
            "The passkey was not added. Try again.",
            "La llave de acceso no se agregó. Inténtalo de nuevo.",
        ),
        TwoStepError::Changed => lang.t(
            "Two-step verification has changed meanwhile. Load the page again.",
            "La verificación en dos pasos cambió mientras tanto. Vuelve a cargar la página.",
        ),
        TwoStepError::Throttled { seconds } => {
            return Ok((passwords::throttled(seconds, lang), Some(seconds)));
        }
        TwoStepError::Store(error) => return Err(error.into()),
    };
    Ok((message.to_owned(), None))
}

/// Answers a refused form with its page, which `body` draws with the reason.
pub(super) async fn refused(
    post: &Post<Viewer>,
    title: &str,
    error: TwoStepError,
    body: impl AsyncFnOnce(&str) -> Result<Markup>,
) -> Answer {
    if let TwoStepError::Changed = error {
        return Ok(post.go("/profile", ""));
    }
    let (message, wait) = why(error, post.lang())?;
    let mut answer = post.refused(SECTION, title, &body(&message).await?);
    passwords::retry_after(&mut answer, wait);
    Ok(answer)
}

fn set_up_form(
    visitor: &Visitor,
    factors: &SecondFactors,
    factor: &NewFactor,
    message: Option<&str>,
) -> Markup {
    let t = visitor.lang();
    let email = visitor.person.member.email.as_str();
    html! {
        (form::refusal(message))
        (form::form(visitor, "/profile/two-step", &html! {
            ol {
                li { (t.t(
                    "Scan the code with an authenticator app, or type the key into it.",
                    "Escanea el código con una aplicación de autenticación, o escribe en ella la clave.",
                )) }
                li { (t.t(
                    "Enter your password and the six digits that the app shows.",
                    "Escribe tu contraseña y los seis dígitos que muestra la aplicación.",
                )) }
                li { (t.t(
                    "Keep the recovery codes that you are shown then.",
                    "Guarda los códigos de recuperación que se te muestran después.",
                )) }
            }
            div.scan {
                (drawn(&address_of(factor, email), t))
                dl.facts { (list::copied(t, "key", t.t("Key", "Clave"), &factor.key)) }
            }
            input type="hidden" name="secret" value=(factor.secret);
            (password_field(t))
            (code_field(t))
            @if factors.is_on() { (proof(factors, PROOF, t)) }
            button.primary type="submit" { (t.t("Turn on", "Activar")) }
        }))
    }
}

/// The section of *Profile*.
pub(super) fn section(visitor: &Visitor, factors: &SecondFactors, message: Option<&str>) -> Markup {
    let t = visitor.lang();
    let left = factors.recovery_codes;
    html! {
        section aria-labelledby="two-step" {
            h2 #two-step { (title(visitor)) }
            (form::refusal(message))
            @if factors.is_on() {
                p { (t.t("On. Recovery codes left: ", "Activada. Códigos de recuperación restantes: ")) (left) "." }
                p { a.button href={ (crate::PATH) "/profile/two-step/codes" } { (renewal_title(visitor)) } }
            } @else {
                p { (t.t(
                    "Off. Turn it on to be asked for a code from your phone after your password.",
                    "Desactivada. Actívala para que se te pida un código de tu teléfono después de la contraseña.",
                )) }
            }
            @if factors.app.is_none() {
                p { a.button href={ (crate::PATH) "/profile/two-step" } { (t.t("Set up an authenticator app", "Configurar una aplicación de autenticación")) } }
            } @else {
                (form::form(visitor, "/profile/two-step/off", &html! {
                    (password_field(t))
                    (proof(factors, CODE, t))
                    button.danger type="submit" {
                        @if factors.passkeys.is_empty() { (t.t("Turn off", "Desactivar")) }
                        @else { (t.t("Remove authenticator app", "Quitar la aplicación de autenticación")) }
                    }
                }))
            }
        }
    }
}

pub(super) fn password_field(lang: Lang) -> Input<'static> {
    Input::text("current_password", lang.t("Password", "Contraseña"))
        .kind("password")
        .autocomplete("current-password")
        .required()
}

/// The recovery codes of who has just turned two-step verification on, only on the page that answers the form.
pub(super) fn codes_once(visitor: &Visitor, codes: &[String]) -> Markup {
    let t = visitor.lang();
    html! {
        p.lead { (t.t(
            "Two-step verification is on. Your other sessions have ended.",
            "La verificación en dos pasos está activada. Tus otras sesiones terminaron.",
        )) }
        (codes_shown(visitor, codes))
    }
}

fn codes_shown(visitor: &Visitor, codes: &[String]) -> Markup {
    let t = visitor.lang();
    html! {
        p { (t.t(
            "Keep these recovery codes where you will find them without your phone. Each works once in place of a code. They are not shown again.",
            "Guarda estos códigos de recuperación donde los encuentres sin tu teléfono. Cada uno sirve una vez en lugar de un código. No se muestran de nuevo.",
        )) }
        pre #codes { (codes.join("\n")) }
        div.bar-of-actions {
            button type="button" data-copy="codes" { (t.t("Copy", "Copiar")) }
            a.button.primary href={ (crate::PATH) "/profile" } { (t.t("Done", "Listo")) }
        }
    }
}

/// What an authenticator app reads (the key URI format).
fn address_of(factor: &NewFactor, email: &str) -> String {
    let email = utf8_percent_encode(email, NON_ALPHANUMERIC);
    let key = factor.key.replace(' ', "");
    format!("otpauth://totp/Offhook:{email}?secret={key}&issuer=Offhook")
}

/// A QR code of this text, black on white in every theme.
fn drawn(text: &str, lang: Lang) -> Markup {
    let Ok(code) = QrCode::with_error_correction_level(text, EcLevel::L) else {
        return html! {};
    };
    let width = code.width();
    let side = width + 2 * QUIET_ZONE;
    let mut path = String::new();
    for (index, color) in code.to_colors().into_iter().enumerate() {
        if color == Color::Dark {
            let (x, y) = (index % width + QUIET_ZONE, index / width + QUIET_ZONE);
            path.push_str(&format!("M{x} {y}h1v1h-1z"));
        }
    }
    html! {
        svg role="img" aria-label=(lang.t("QR code", "Código QR")) width="220" height="220"
            viewBox=(format!("0 0 {side} {side}")) shape-rendering="crispEdges" {
            rect width="100%" height="100%" fill="#fff" {}
            path d=(path) fill="#000" {}
        }
    }
}
