//! Passkeys: on the sign-in page, after the password, and on the member's own page.

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use actix_web::http::header::CACHE_CONTROL;
use actix_web::web::Payload;
use offhook_services::store::SecondFactors;
use offhook_services::{GivenFactor, RelyingParty, SignInError, TwoStepError};
use serde_json::{Value, json};

use super::passwords;
use super::sign_in::{
    HALF_COOKIE, MAX_KEPT_BYTES, add_cookie_of, address, enter, forget, single_sign_on_required,
};
use super::two_step::{codes_once, password_field, refused, why};
use crate::parts::passkey::{ANSWER, button, failed};
use crate::prelude::*;
use crate::signed_out::{CODE, Kept, insecure, page};
use crate::visit::{Guest, check_origin, read_form_of};

const SECTION: Section = Section::Profile;

/// The cookie that holds the token of a sign-in with a passkey.
const COOKIE: &str = "offhook_passkey";

/// The field of a new passkey.
const NEW: &str = "credential";

/// Where a form asks for the options of a proof.
const PROOF: &str = "/profile/passkeys/proof";

/// The paths.
pub(super) fn routes() -> Vec<Page> {
    vec![
        Page::at("/sign-in/passkey").open_post(sign_in),
        Page::at("/sign-in/passkey/options").open_post(begin_sign_in),
        Page::at("/sign-in/code/passkey").open_post(begin_after_password),
        Page::at("/profile/passkeys").get(show),
        Page::at("/profile/passkeys/new").get(name).post(add),
        Page::at("/profile/passkeys/options").post(begin),
        Page::at(PROOF).post(begin_proof),
        Page::at("/profile/passkeys/remove").post(remove),
    ]
}

/// What a form gives after the password: the code of this field, or a passkey.
pub(super) fn given<'a>(
    party: Option<&'a RelyingParty>,
    fields: &'a Fields,
    code: &'a str,
) -> GivenFactor<'a> {
    let answer = fields.raw(ANSWER);
    let passkey = party.map(|party| (party, answer));
    GivenFactor {
        code: fields.text(code),
        passkey: passkey.filter(|_| !answer.is_empty()),
    }
}

/// The fields of a proof that a second factor needs: a code, or a passkey in its place.
pub(super) fn proof(factors: &SecondFactors, code: &str, lang: Lang) -> Markup {
    let label = match factors.app {
        Some(_) => lang.t("Code", "Código"),
        None => lang.t("Recovery code", "Código de recuperación"),
    };
    html! {
        (Input::text(code, label).autocomplete("one-time-code").required())
        @if !factors.passkeys.is_empty() { (button(PROOF, Some(code), lang)) }
    }
}

pub(super) const fn not_accepted(lang: Lang) -> &'static str {
    lang.t(
        "The passkey was not accepted. Try again.",
        "La llave de acceso no se aceptó. Inténtalo de nuevo.",
    )
}

/// Why passkeys are not offered.
const fn missing(lang: Lang) -> &'static str {
    lang.t(
        "Passkeys are not available at this address. Ask the service operator to serve Offhook over https:// with a host name (http.public_url).",
        "Las llaves de acceso no están disponibles en esta dirección. Pide al operador del servicio que sirva Offhook por https:// con un nombre de dominio (http.public_url).",
    )
}

/// Answers the script.
fn options(options: &Value) -> HttpResponse {
    HttpResponse::Ok()
        .insert_header((CACHE_CONTROL, "no-store"))
        .json(options)
}

fn refusing(status: StatusCode, message: &str) -> HttpResponse {
    HttpResponse::build(status).json(json!({ "message": message }))
}

/// The service as passkeys know it, if they are offered.
fn party(portal: &crate::Portal) -> Result<RelyingParty> {
    portal.relying_party().ok_or_else(Trouble::not_found)
}

/// `POST /portal/sign-in/passkey/options`
async fn begin_sign_in(guest: Guest, _: Payload) -> Answer {
    check_origin(&guest.req)?;
    if !guest.may_sign_in() {
        return Ok(refusing(StatusCode::FORBIDDEN, insecure(guest.lang)));
    }
    let people = guest.portal.services.people();
    let party = party(&guest.portal)?;
    let begun = people.begin_passkey_sign_in(&party, address(&guest.req));
    let (token, asked) = begun.await?;
    let mut answer = options(&asked);
    add_cookie_of(&mut answer, &guest.portal, COOKIE, &token)?;
    Ok(answer)
}

/// `POST /portal/sign-in/passkey`
async fn sign_in(guest: Guest, body: Payload) -> Answer {
    check_origin(&guest.req)?;
    let fields = read_form_of(&guest.req, body, None, MAX_KEPT_BYTES).await?;
    let (kept, lang) = (Kept::of(&fields), guest.lang);
    let again = |status, message: &str| page(&guest, status, &kept, "", Some(message));
    if !guest.may_sign_in() {
        return Ok(again(StatusCode::FORBIDDEN, insecure(lang)));
    }
    let cookie = guest.req.cookie(COOKIE);
    let token = cookie.as_ref().map_or("", |cookie| cookie.value());
    let (people, party) = (guest.portal.services.people(), party(&guest.portal)?);
    let (answer, address) = (fields.raw(ANSWER), address(&guest.req));
    let signed_in = people.sign_in_with_passkey(&party, token, answer, address);
    let mut answer = match signed_in.await {
        Ok(signed_in) => enter(&guest, &kept, signed_in).await?,
        Err(SignInError::Wrong | SignInError::CodeRequired { .. }) => {
            again(StatusCode::UNPROCESSABLE_ENTITY, not_accepted(lang))
        }
        Err(SignInError::SingleSignOnRequired) => {
            again(StatusCode::FORBIDDEN, single_sign_on_required(lang))
        }
        Err(SignInError::Throttled { seconds }) => passwords::too_many(seconds, lang, again),
        Err(SignInError::Store(error)) => return Err(error.into()),
    };
    forget(&mut answer, COOKIE)?;
    Ok(answer)
}

/// `POST /portal/sign-in/code/passkey`
async fn begin_after_password(guest: Guest, _: Payload) -> Answer {
    check_origin(&guest.req)?;
    let cookie = guest.req.cookie(HALF_COOKIE);
    let token = cookie.as_ref().map_or("", |cookie| cookie.value());
    let (people, party) = (guest.portal.services.people(), party(&guest.portal)?);
    Ok(
        match people.begin_passkey_after_password(&party, token).await? {
            Some(asked) => options(&asked),
            None => refusing(StatusCode::UNPROCESSABLE_ENTITY, not_accepted(guest.lang)),
        },
    )
}

/// An account's identity provider may name any person: its sessions learn nothing of their passkeys.
pub(super) fn check_own(visitor: &Visitor) -> Result<()> {
    match visitor.person.by_single_sign_on {
        true => Err(Trouble::not_found()),
        false => Ok(()),
    }
}

/// `POST /portal/profile/passkeys/proof`
async fn begin_proof(post: Post<Viewer>) -> Answer {
    check_own(&post)?;
    let (people, party) = (post.services().people(), party(&post.portal)?);
    let asked = people.begin_passkey_proof(&party, &post.person).await?;
    Ok(options(&asked))
}

fn title(visitor: &Visitor) -> &'static str {
    visitor.lang().t("Passkeys", "Llaves de acceso")
}

/// The section of *Profile*.
pub(super) fn section(visitor: &Visitor) -> Markup {
    let t = visitor.lang();
    html! {
        section aria-labelledby="passkeys" {
            h2 #passkeys { (title(visitor)) }
            p { (t.t(
                "Sign in with your fingerprint, your face or the lock of your screen in place of your password.",
                "Inicia sesión con tu huella, tu rostro o el bloqueo de tu pantalla en lugar de tu contraseña.",
            )) }
            p { a.button href={ (PATH) "/profile/passkeys" } { (t.t("Manage passkeys", "Administrar llaves de acceso")) } }
        }
    }
}

/// `GET /portal/profile/passkeys`
async fn show(visit: Visit<Viewer>) -> Answer {
    check_own(&visit)?;
    let body = body(&visit, None).await?;
    Ok(visit.page(SECTION, title(&visit), &body))
}

async fn body(visitor: &Visitor, refusal: Option<&str>) -> Result<Markup> {
    let t = visitor.lang();
    let people = visitor.services().people();
    let factors = people.second_factors(&visitor.person).await?;
    let passkeys = &factors.passkeys;
    Ok(html! {
        (form::refusal(refusal))
        @match visitor.portal.relying_party() {
            None => p.warning { (missing(t)) }
            Some(_) => div.page-actions { a.button.primary href={ (PATH) "/profile/passkeys/new" } { (t.t("Add a passkey", "Agregar una llave de acceso")) } }
        }
        @if passkeys.is_empty() {
            (list::empty(
                t.t("No passkeys yet", "Aún no hay llaves de acceso"),
                t.t(
                    "With a passkey you sign in without a password. Your password then needs a second step: the passkey or a recovery code.",
                    "Con una llave de acceso entras sin contraseña. Tu contraseña pide entonces un segundo paso: la llave de acceso o un código de recuperación.",
                ),
                None,
            ))
        } @else {
            (Table::of(title(visitor), passkeys)
                .column(t.t("Name", "Nombre"), |passkey| html! { (passkey.name) })
                .column(t.t("Created", "Creada"), |passkey| words::when(passkey.created_at))
                .column(t.t("Last used", "Último uso"), |passkey| words::when_if(passkey.used_at)))
            (removal(visitor, &factors))
        }
    })
}

fn removal(visitor: &Visitor, factors: &SecondFactors) -> Markup {
    let t = visitor.lang();
    let choices = factors
        .passkeys
        .iter()
        .map(|passkey| (passkey.id.to_string(), passkey.name.clone()));
    let question = t.t(
        "Remove the passkey? Your other sessions end.",
        "¿Quitar la llave de acceso? Tus otras sesiones terminan.",
    );
    html! {
        section aria-labelledby="removal" {
            h2 #removal { (t.t("Remove a passkey", "Quitar una llave de acceso")) }
            (form::form(visitor, "/profile/passkeys/remove", &html! {
                (Select::new("id", t.t("Passkey", "Llave de acceso")).options(choices))
                (password_field(t))
                (proof(factors, CODE, t))
                button.danger type="submit" data-confirm=(question) { (t.t("Remove", "Quitar")) }
            }))
        }
    }
}

/// `POST /portal/profile/passkeys/remove`
async fn remove(post: Post<Viewer>) -> Answer {
    check_own(&post)?;
    let fields = &post.fields;
    let id: CredentialId = fields
        .text("id")
        .parse()
        .map_err(|_| Trouble::not_found())?;
    let party = post.portal.relying_party();
    let entered = (
        fields.raw("current_password"),
        given(party.as_ref(), fields, CODE),
    );
    let people = post.services().people();
    match people.remove_passkey(&post.person, id, entered).await {
        Ok(true) => {
            let message = post.t(
                "Passkey removed. Your other sessions have ended.",
                "La llave de acceso se quitó. Tus otras sesiones terminaron.",
            );
            Ok(post.go("/profile/passkeys", message))
        }
        Ok(false) => Err(Trouble::not_found()),
        Err(error) => {
            refused(&post, title(&post), error, async |message| {
                body(&post, Some(message)).await
            })
            .await
        }
    }
}

/// `GET /portal/profile/passkeys/new`
async fn name(visit: Visit<Viewer>) -> Answer {
    check_own(&visit)?;
    if visit.portal.relying_party().is_none() {
        return Ok(visit.go("/profile/passkeys", ""));
    }
    let body = naming(&visit, None).await?;
    Ok(visit.page(SECTION, title(&visit), &body))
}

async fn naming(visitor: &Visitor, refusal: Option<&str>) -> Result<Markup> {
    let t = visitor.lang();
    if visitor.portal.relying_party().is_none() {
        return Ok(html! {
            p.warning { (form::sentence(missing(t))) }
            p { a.button href={ (PATH) "/profile" } { (t.t("Back to your profile", "Volver a tu perfil")) } }
        });
    }
    let people = visitor.services().people();
    let factors = people.second_factors(&visitor.person).await?;
    let hint = t.t(
        "Where it is kept, such as “Phone” or “Password manager”.",
        "Dónde se guarda, como «Teléfono» o «Administrador de contraseñas».",
    );
    Ok(html! {
        (form::refusal(refusal))
        p.warning data-no-passkeys { (t.t(
            "Your browser knows no passkeys, or runs no JavaScript.",
            "Tu navegador no conoce las llaves de acceso, o no ejecuta JavaScript.",
        )) }
        (form::form(visitor, "/profile/passkeys/new", &html! {
            (Input::text("name", t.t("Name", "Nombre")).hint(hint).required())
            (password_field(t))
            @if factors.is_on() { (proof(&factors, CODE, t)) }
            div hidden data-new-passkey={ (PATH) "/profile/passkeys/options" } data-failed=(failed(t)) {
                input type="hidden" name=(NEW);
                button.primary type="submit" { (t.t("Add passkey", "Agregar llave de acceso")) }
            }
        }))
    })
}

/// `POST /portal/profile/passkeys/options`
async fn begin(post: Post<Viewer>) -> Answer {
    check_own(&post)?;
    let fields = &post.fields;
    let party = party(&post.portal)?;
    let entered = (
        fields.raw("current_password"),
        given(Some(&party), fields, CODE),
    );
    let people = post.services().people();
    let begun = people.begin_passkey(&party, &post.person, fields.text("name"), entered);
    let error = match begun.await {
        Ok(asked) => return Ok(options(&asked)),
        Err(error) => error,
    };
    let status = match error {
        TwoStepError::Throttled { .. } => StatusCode::TOO_MANY_REQUESTS,
        _ => StatusCode::UNPROCESSABLE_ENTITY,
    };
    let (message, wait) = why(error, post.lang())?;
    let mut answer = refusing(status, &message);
    passwords::retry_after(&mut answer, wait);
    Ok(answer)
}

/// `POST /portal/profile/passkeys/new`
async fn add(post: Post<Viewer>) -> Answer {
    check_own(&post)?;
    let (people, party) = (post.services().people(), party(&post.portal)?);
    let added = people.finish_passkey(&party, &post.person, post.fields.raw(NEW));
    match added.await {
        Ok(Some(codes)) => Ok(post.page(SECTION, title(&post), &codes_once(&post, &codes))),
        Ok(None) => {
            let message = post.t("Passkey added.", "La llave de acceso se agregó.");
            Ok(post.go("/profile/passkeys", message))
        }
        Err(error) => {
            refused(&post, title(&post), error, async |message| {
                naming(&post, Some(message)).await
            })
            .await
        }
    }
}
