//! The first account of a service, made by whoever reads its log.

use actix_web::http::StatusCode;
use actix_web::web::Payload;
use actix_web::{HttpRequest, HttpResponse};
use maud::{Markup, html};
use offhook_domain::Plan;
use offhook_services::{BeginError, NewService};

use super::passwords;
use super::sign_in::{add_cookie, frame, insecure, session_cookie};
use crate::fields::Fields;
use crate::lang::Lang;
use crate::layout;
use crate::parts::form::{self, Input, Select};
use crate::routes::Page;
use crate::trouble::{Answer, Result};
use crate::visit::{check_origin, go, read_form};
use crate::{PATH, Portal};

/// The plan that stands there at first: the smallest with everything that a page shows.
const PLAN: Plan = Plan::Pro;

/// The paths.
pub(super) fn routes() -> Vec<Page> {
    vec![Page::at("/first").open_get(show).open_post(begin)]
}

/// `GET /portal/first`
async fn show(portal: Portal, req: HttpRequest) -> Answer {
    if !portal.services.people().awaits_first_account().await? {
        return Ok(go(&portal, "/sign-in", ""));
    }
    Ok(page(
        &portal,
        &req,
        StatusCode::OK,
        &Fields::default(),
        None,
    ))
}

/// `POST /portal/first`
async fn begin(portal: Portal, req: HttpRequest, body: Payload) -> Answer {
    check_origin(&req)?;
    let lang = Lang::of(&req);
    let fields = read_form(&req, body).await?;
    if !portal.may_sign_in(&req) {
        return Ok(page(
            &portal,
            &req,
            StatusCode::FORBIDDEN,
            &fields,
            Some(insecure(lang)),
        ));
    }
    // The form offers the plans that there are: another one came from elsewhere, and is not taken for one of them.
    let Ok(plan) = fields.get("plan").map_or(Ok(PLAN), str::parse) else {
        return Ok(refused(&portal, &req, &fields, unknown_plan(lang)));
    };
    let new = NewService {
        code: fields.text("code"),
        account_name: fields.text("account_name"),
        plan,
        email: fields.text("email"),
        name: fields.text("name"),
        password: fields.raw(passwords::NEW),
    };
    match portal.services.people().begin(new).await {
        Ok(signed_in) => {
            let said = lang.t(
                "Your account is made. This page says what to do next.",
                "Tu cuenta está lista. Esta página dice qué sigue.",
            );
            let mut answer = go(&portal, "/", said);
            add_cookie(&mut answer, &session_cookie(&portal, &signed_in.token))?;
            Ok(answer)
        }
        Err(BeginError::Begun) => Ok(go(&portal, "/sign-in", "")),
        Err(error) => {
            let said = sentence(error, lang)?;
            Ok(refused(&portal, &req, &fields, said))
        }
    }
}

/// The form with what was typed, and why it was refused.
fn refused(portal: &Portal, req: &HttpRequest, typed: &Fields, said: &str) -> HttpResponse {
    let status = StatusCode::UNPROCESSABLE_ENTITY;
    page(portal, req, status, typed, Some(said))
}

const fn unknown_plan(lang: Lang) -> &'static str {
    lang.t(
        "There is no such plan: choose one of the list.",
        "No existe ese plan: elige uno de la lista.",
    )
}

fn sentence(error: BeginError, lang: Lang) -> Result<&'static str> {
    Ok(match error {
        BeginError::Begun => lang.t("There is an account already.", "Ya existe una cuenta."),
        BeginError::Code => lang.t(
            "This is not the code of this service's log. It is new with each start: look for the last one.",
            "Este no es el código del registro de este servicio. Cambia con cada arranque: busca el último.",
        ),
        BeginError::AccountName => lang.t(
            "The account's name must have 1 to 120 characters.",
            "El nombre de la cuenta debe tener de 1 a 120 caracteres.",
        ),
        BeginError::Email => lang.t(
            "The e-mail address must be one, such as ana@example.com.",
            "El correo debe ser una dirección, como ana@example.com.",
        ),
        BeginError::Name => lang.t(
            "Your name must have 1 to 120 characters, none of them a control character.",
            "Tu nombre debe tener de 1 a 120 caracteres, sin caracteres de control.",
        ),
        BeginError::Password(fault) => passwords::fault(fault, lang),
        BeginError::Store(error) => return Err(error.into()),
    })
}

fn page(
    portal: &Portal,
    req: &HttpRequest,
    status: StatusCode,
    typed: &Fields,
    said: Option<&str>,
) -> HttpResponse {
    let lang = Lang::of(req);
    let is_open = portal.may_sign_in(req);
    let body = html! {
        (form::refusal(said))
        p.lead { (lang.t(
            "This service has no account yet. Make the first one, and its owner: you.",
            "Este servicio aún no tiene cuentas. Crea la primera y su propietario: tú.",
        )) }
        @if is_open { (fields(typed, lang)) } @else { p.warning { (insecure(lang)) } }
    };
    let title = lang.t("Welcome to Offhook", "Te damos la bienvenida a Offhook");
    layout::page(&frame(req), status, title, &body)
}

fn fields(typed: &Fields, lang: Lang) -> Markup {
    let plan = typed.get("plan").unwrap_or(PLAN.as_str());
    html! {
        form method="post" action={ (PATH) "/first" } {
            (Input::text("code", lang.t("Code of the log", "Código del registro"))
                .value(typed.text("code"))
                .hint(lang.t(
                    "The service has written it to its log as it started: four groups of four characters.",
                    "El servicio lo escribió en su registro al arrancar: cuatro grupos de cuatro caracteres.",
                ))
                .required())
            (Input::text("account_name", lang.t("Name of the account", "Nombre de la cuenta"))
                .value(typed.text("account_name"))
                .autocomplete("organization")
                .required())
            (Select::new("plan", lang.t("Plan", "Plan"))
                .options(Plan::ALL.iter().map(|plan| (plan.as_str(), plan.as_str())))
                .chosen(plan)
                .hint(lang.t(
                    "What the account may do; `offhook account set-plan` changes it later.",
                    "Lo que la cuenta puede hacer; `offhook account set-plan` lo cambia después.",
                )))
            (Input::text("name", lang.t("Your name", "Tu nombre"))
                .value(typed.text("name"))
                .autocomplete("name")
                .required())
            (Input::text("email", lang.t("Your e-mail", "Tu correo electrónico"))
                .kind("email")
                .value(typed.text("email"))
                .autocomplete("username")
                .required())
            (passwords::new_field(lang))
            button.primary type="submit" { (lang.t("Make the account", "Crear la cuenta")) }
        }
    }
}
