//! The first account of a service, created with the code in its log.

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use actix_web::web::Payload;
use offhook_services::{BeginError, NewService};

use super::passwords;
use super::sign_in::add_session;
use crate::prelude::*;
use crate::signed_out::insecure;
use crate::visit::Guest;

/// The preselected plan: the smallest that includes everything a page shows.
const PLAN: Plan = Plan::Pro;

/// The paths.
pub(super) fn routes() -> Vec<Page> {
    vec![Page::at("/first").open_get(show).open_post(begin)]
}

/// `GET /portal/first`
async fn show(guest: Guest) -> Answer {
    let people = guest.portal.services.people();
    if !people.awaits_first_account().await? {
        return Ok(guest.go("/sign-in", ""));
    }
    Ok(page(&guest, StatusCode::OK, &Fields::default(), None))
}

/// `POST /portal/first`
async fn begin(guest: Guest, body: Payload) -> Answer {
    let fields = guest.form(body).await?;
    let refused = |status, message| Ok(page(&guest, status, &fields, Some(message)));
    if !guest.may_sign_in() {
        return refused(StatusCode::FORBIDDEN, insecure(guest.lang));
    }
    // The form offers only known plans.
    let Ok(plan) = fields.get("plan").map_or(Ok(PLAN), str::parse) else {
        let message = guest.t(
            "Unknown plan. Choose one from the list.",
            "Ese plan no existe. Elige uno de la lista.",
        );
        return refused(StatusCode::UNPROCESSABLE_ENTITY, message);
    };
    let new = NewService {
        code: fields.text("code"),
        account_name: fields.text("account_name"),
        plan,
        email: fields.text("email"),
        name: fields.text("name"),
        password: fields.raw(passwords::NEW),
    };
    match guest.portal.services.people().begin(new).await {
        Ok(signed_in) => {
            let message = guest.t(
                "Account created. Follow the steps on this page to get started.",
                "Cuenta creada. Sigue los pasos de esta página para empezar.",
            );
            let mut answer = guest.go("/", message);
            add_session(&mut answer, &guest.portal, &signed_in.token)?;
            Ok(answer)
        }
        Err(BeginError::Begun) => Ok(guest.go("/sign-in", "")),
        Err(error) => refused(
            StatusCode::UNPROCESSABLE_ENTITY,
            sentence(error, guest.lang)?,
        ),
    }
}

fn sentence(error: BeginError, lang: Lang) -> Result<&'static str> {
    Ok(match error {
        BeginError::Begun => lang.t("An account already exists.", "Ya existe una cuenta."),
        BeginError::Code => lang.t(
            "Wrong setup code. The code changes each time the service starts: use the last one in the log.",
            "Código de instalación incorrecto. Cambia con cada arranque del servicio: usa el último del registro.",
        ),
        BeginError::AccountName => lang.t(
            "The account name must have 1 to 120 characters.",
            "El nombre de la cuenta debe tener de 1 a 120 caracteres.",
        ),
        BeginError::Email => lang.t(
            "Enter a valid email address, such as ana@example.com.",
            "Escribe un correo válido, como ana@example.com.",
        ),
        BeginError::Name => passwords::name_fault(lang),
        BeginError::Password(fault) => passwords::fault(fault, lang),
        BeginError::Store(error) => return Err(error.into()),
    })
}

fn page(guest: &Guest, status: StatusCode, typed: &Fields, message: Option<&str>) -> HttpResponse {
    let lang = guest.lang;
    let body = html! {
        (form::refusal(message))
        p.lead { (lang.t(
            "This service has no account yet. Create the first one. You will be its owner.",
            "Este servicio aún no tiene cuentas. Crea la primera. Serás su propietario.",
        )) }
        @if guest.may_sign_in() { (fields(typed, lang)) } @else { p.warning { (insecure(lang)) } }
    };
    let title = lang.t("Welcome to Offhook", "Te damos la bienvenida a Offhook");
    guest.page(status, title, &body)
}

fn fields(typed: &Fields, lang: Lang) -> Markup {
    let plan = typed.get("plan").unwrap_or(PLAN.as_str());
    html! {
        form method="post" action={ (PATH) "/first" } {
            (Input::text("code", lang.t("Setup code", "Código de instalación"))
                .value(typed.text("code"))
                .hint(lang.t(
                    "Find it in the service's log, written at startup: four groups of four characters.",
                    "Está en el registro del servicio, escrito al arrancar: cuatro grupos de cuatro caracteres.",
                ))
                .required())
            (Input::text("account_name", lang.t("Account name", "Nombre de la cuenta"))
                .value(typed.text("account_name"))
                .autocomplete("organization")
                .required())
            (Select::new("plan", lang.t("Plan", "Plan"))
                .options(Plan::ALL.iter().map(|plan| (plan.as_str(), plan.as_str())))
                .chosen(plan)
                .hint(lang.t(
                    "Sets what the account can do. Change it later with offhook account set-plan.",
                    "Define lo que puede hacer la cuenta. Cámbialo después con offhook account set-plan.",
                )))
            (Input::text("name", lang.t("Your name", "Tu nombre"))
                .value(typed.text("name"))
                .autocomplete("name")
                .required())
            (Input::text("email", lang.t("Your email", "Tu correo electrónico"))
                .kind("email")
                .value(typed.text("email"))
                .autocomplete("username")
                .required())
            (passwords::new_field(lang))
            button.primary type="submit" { (lang.t("Create account", "Crear cuenta")) }
        }
    }
}
