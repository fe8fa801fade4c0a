//! Settings: the account and its plan, provider credentials, the audit log, this deployment.

mod audit;
pub(super) mod credentials;
mod error_bodies;
mod single_sign_on;
mod time_zone;

use std::fmt::Display;

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use offhook_services::store::AccountSettings;

use crate::prelude::*;
use crate::visit::layout;

const SECTION: Section = Section::Settings;

/// The paths.
pub(super) fn routes() -> Vec<Page> {
    vec![
        Page::at("/settings").get(account),
        Page::at("/settings/error-bodies").post(error_bodies::set),
        Page::at("/settings/time-zone").post(time_zone::set),
        Page::at("/settings/audit").get(audit::log),
        Page::at("/settings/credentials")
            .get(credentials::shelf)
            .post(credentials::set),
        Page::at("/settings/credentials/{provider}/remove").post(credentials::remove),
        Page::at("/settings/single-sign-on")
            .get(single_sign_on::show)
            .post(single_sign_on::set),
        Page::at("/settings/single-sign-on/remove").post(single_sign_on::remove),
    ]
}

async fn account(visit: Visit<Viewer>) -> Answer {
    let t = visit.lang();
    let body = html! {
        (facts(&visit))
        @if visit.may(MemberRole::Admin) {
            section {
                h2 { (t.t("Time zone", "Zona horaria")) }
                (time_zone::form_of(&visit, None))
            }
            section {
                h2 { (t.t("Request log", "Registro de solicitudes")) }
                (error_bodies::form_of(&visit).await?)
            }
        }
        section {
            h2 { (t.t("Included in your plan", "Incluido en tu plan")) }
            (grants(&visit.caller().terms, t))
            p.soft { (t.t(
                "Ask the service operator to change your plan.",
                "Pide al operador del servicio que cambie tu plan.",
            )) }
        }
        h2 { (t.t("This deployment", "Este despliegue")) }
        (deployment(&visit))
    };
    Ok(tab(&visit, "/settings", StatusCode::OK, &body))
}

/// A page of the settings, of this path.
fn tab(visitor: &Visitor, path: &str, status: StatusCode, body: &Markup) -> HttpResponse {
    let t = visitor.lang();
    let mut tabs = vec![
        ("/settings".to_owned(), t.t("Account", "Cuenta")),
        (
            "/settings/credentials".to_owned(),
            t.t("Provider credentials", "Credenciales de proveedores"),
        ),
        (
            "/settings/single-sign-on".to_owned(),
            t.t("Single sign-on", "Inicio de sesión único"),
        ),
        (
            "/settings/audit".to_owned(),
            t.t("Audit log", "Bitácora de cambios"),
        ),
    ];
    if !visitor.may(MemberRole::Admin) {
        tabs.remove(2);
    }
    layout::tabbed(
        visitor,
        (SECTION, SECTION.name(t)),
        &tabs,
        path,
        (status, body),
    )
}

fn facts(visitor: &Visitor) -> Markup {
    let t = visitor.lang();
    let account = &visitor.caller().account;
    html! {
        dl.facts {
            (list::fact(t.t("Name", "Nombre"), &account.name))
            (list::fact(t.t("Plan", "Plan"), html! { a href={ (crate::PATH) "/billing" } { (words::plan_name(account.plan.as_str())) } }))
            (list::copied(t, "id", t.t("Account ID", "ID de la cuenta"), account.id))
            (list::fact(t.t("Created", "Creada"), words::when(account.created_at)))
        }
    }
}

/// The plan's terms, each as a sentence.
fn grants(terms: &PlanTerms, lang: Lang) -> Markup {
    html! { ul { @for sentence in sentences(terms, lang) { li { (sentence) } } } }
}

fn sentences(terms: &PlanTerms, lang: Lang) -> [String; 6] {
    let limit = |number: u32| words::count(i64::from(number));
    let api = match terms.api {
        true => text!(
            lang,
            "API: {} requests per minute, shared by all keys.",
            "API: {} solicitudes por minuto, compartidas por todas las claves.",
            limit(terms.requests_per_minute)
        ),
        false => text!(
            lang,
            "No API. It starts with the Starter plan.",
            "Sin API. Empieza con el plan Starter."
        ),
    };
    let calls = text!(
        lang,
        "{} concurrent calls; more wait in the queue.",
        "{} llamadas simultáneas; las demás esperan en la cola.",
        limit(terms.live_calls)
    );
    let retention = match terms.retention_days {
        Some(days) => text!(
            lang,
            "Retention: conversations, transcripts and recordings are kept for {days} days, then deleted.",
            "Retención: las conversaciones, transcripciones y grabaciones se conservan {days} días; después se eliminan."
        ),
        None => text!(
            lang,
            "Retention: conversations, transcripts and recordings are kept indefinitely.",
            "Retención: las conversaciones, transcripciones y grabaciones se conservan siempre."
        ),
    };
    let seats = match terms.seats_max {
        Some(seats) => text!(
            lang,
            "{seats} seats in the team; pending invitations count.",
            "{seats} lugares en el equipo; las invitaciones pendientes cuentan."
        ),
        None => text!(
            lang,
            "Unlimited seats in the team.",
            "Lugares ilimitados en el equipo."
        ),
    };
    let engine = match terms.engine_module {
        true => lang.t(
            "The Engine module: agents consult knowledge documents.",
            "El módulo Engine: los agentes consultan documentos de conocimiento.",
        ),
        false => lang.t(
            "No Engine module: agents cannot consult knowledge documents.",
            "Sin el módulo Engine: los agentes no pueden consultar documentos de conocimiento.",
        ),
    };
    let price = match (terms.usd_per_month, terms.credits_per_month) {
        (Some(usd), Some(credits)) => text!(
            lang,
            "{} credits per month for {} USD.",
            "{} créditos al mes por {} USD.",
            limit(credits),
            limit(usd)
        ),
        _ => text!(
            lang,
            "Price and credits by contract.",
            "Precio y créditos por contrato."
        ),
    };
    [api, calls, retention, seats, engine.to_owned(), price]
}

/// Back to the page of a form that changed the account's settings, with what it changed in the audit log.
pub(crate) async fn saved(
    post: &Post<Admin>,
    before: &AccountSettings,
    (action, target): (&str, impl Display),
    path: &str,
) -> Answer {
    let after = post.services().accounts().settings(post.account()).await?;
    let changes = Changes::between(&told(before), &told(&after));
    let message = post.t("Saved.", "Guardado.");
    post.done_change((action, target), changes, path, message)
        .await
}

/// The settings as the audit log names them.
fn told(settings: &AccountSettings) -> Json {
    let AccountSettings {
        time_zone,
        keeps_error_bodies,
        thresholds,
        buyer,
    } = settings;
    Json::object([
        ("time_zone", Json::from(time_zone.as_str())),
        ("keeps_error_bodies", Json::from(*keeps_error_bodies)),
        ("alert_credits", Json::from(thresholds.spent)),
        ("alert_credits_2", Json::from(thresholds.spent_2)),
        ("alert_credits_3", Json::from(thresholds.spent_3)),
        ("alert_balance", Json::from(thresholds.balance)),
        ("buyer_name", Json::from(buyer.name.as_str())),
        ("buyer_address", Json::from(buyer.address.as_str())),
        ("buyer_tax_id", Json::from(buyer.tax_id.as_str())),
    ])
}

/// What members may know about this service.
fn deployment(visitor: &Visitor) -> Markup {
    let t = visitor.lang();
    let base = visitor.base_url();
    html! {
        dl.facts {
            (list::copied(t, "api", "API", format!("{base}/v1")))
            (list::copied(t, "portal", "Portal", format!("{base}{}", crate::PATH)))
            (list::fact(t.t("API reference", "Referencia de la API"), html! { a href="/docs" { (base) "/docs" } }))
            (list::fact(t.t("Server time", "Hora del servidor"), words::when(visitor.now())))
            (list::fact(t.t("Version", "Versión"), env!("CARGO_PKG_VERSION")))
        }
    }
}

#[cfg(test)]
mod tests {
    use offhook_domain::{Plan, Plans};

    use super::*;

    #[test]
    fn a_plan_is_told_with_its_price() {
        let plans = Plans::default();
        let starter = sentences(plans.terms(Plan::Starter), Lang::En);
        assert_eq!(starter[5], "500 credits per month for 49 USD.");
    }
}
