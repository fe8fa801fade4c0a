//! Settings: the account and what its plan grants, credentials at providers, the audit log, this deployment.

mod audit;
mod credentials;

use maud::{Markup, html};
use offhook_domain::PlanTerms;

use crate::lang::Lang;
use crate::layout::Section;
use crate::parts::{list, words};
use crate::routes::Page;
use crate::trouble::Answer;
use crate::visit::{Viewer, Visit, Visitor};

const SECTION: Section = Section::Settings;

/// The paths.
pub(super) fn routes() -> Vec<Page> {
    vec![
        Page::at("/settings").get(account),
        Page::at("/settings/audit").get(audit::log),
        Page::at("/settings/credentials")
            .get(credentials::shelf)
            .post(credentials::set),
        Page::at("/settings/credentials/{provider}/remove").post(credentials::remove),
    ]
}

async fn account(visit: Visit<Viewer>) -> Answer {
    let t = visit.lang();
    let body = html! {
        div.bar-of-actions {
            a.button href={ (crate::PATH) "/settings/credentials" } { (t.t("Provider credentials", "Credenciales de proveedores")) }
            a.button href={ (crate::PATH) "/settings/audit" } { (t.t("Audit log", "Bitácora de cambios")) }
        }
        h2 { (t.t("Account", "Cuenta")) }
        (facts(&visit))
        h2 { (t.t("What the plan grants", "Qué incluye el plan")) }
        (grants(&visit.caller().terms, t))
        p.soft {
            (t.t(
                "The plan is changed by whoever runs this service.",
                "El plan lo cambia quien opera este servicio.",
            ))
        }
        h2 { (t.t("This deployment", "Este despliegue")) }
        (deployment(&visit))
    };
    Ok(visit.page(SECTION, SECTION.name(t), &body))
}

fn facts(visitor: &Visitor) -> Markup {
    let t = visitor.lang();
    let account = &visitor.caller().account;
    html! {
        dl.facts {
            (list::fact(t.t("Name", "Nombre"), &account.name))
            (list::fact(t.t("Plan", "Plan"), account.plan.as_str()))
            (list::fact(t.t("Account id", "Id de la cuenta"), html! { code { (account.id) } }))
            (list::fact(t.t("Created", "Creada"), words::when(account.created_at)))
        }
    }
}

/// The terms, each as a sentence.
fn grants(terms: &PlanTerms, lang: Lang) -> Markup {
    html! { ul { @for sentence in sentences(terms, lang) { li { (sentence) } } } }
}

fn sentences(terms: &PlanTerms, lang: Lang) -> Vec<String> {
    let limit = |number: i64| words::count(number);
    let mut said = Vec::new();
    said.push(match (terms.api, lang) {
        (true, Lang::En) => format!(
            "API: {} requests a minute, shared by all keys.",
            terms.requests_per_minute
        ),
        (true, Lang::Es) => format!(
            "API: {} solicitudes por minuto, compartidas por todas las claves.",
            terms.requests_per_minute
        ),
        (false, Lang::En) => "No API. It begins with the Starter plan.".to_owned(),
        (false, Lang::Es) => "Sin API. Empieza con el plan Starter.".to_owned(),
    });
    let calls = limit(i64::from(terms.live_calls));
    said.push(match lang {
        Lang::En => format!("{calls} calls at once; more wait in the queue."),
        Lang::Es => format!("{calls} llamadas a la vez; las demás esperan en la cola."),
    });
    said.push(match (terms.retention_days, lang) {
        (Some(days), Lang::En) => format!("Data retention: conversations, transcripts and recordings can be read for {days} days, and are deleted after that."),
        (Some(days), Lang::Es) => format!("Retención de datos: las conversaciones, transcripciones y grabaciones se pueden consultar {days} días; después se eliminan."),
        (None, Lang::En) => "Data retention: conversations, transcripts and recordings are kept for good.".to_owned(),
        (None, Lang::Es) => "Retención de datos: las conversaciones, transcripciones y grabaciones se conservan siempre.".to_owned(),
    });
    said.push(match (terms.seats_max, lang) {
        (Some(seats), Lang::En) => format!("{seats} seats in the team; pending invitations count."),
        (Some(seats), Lang::Es) => {
            format!("{seats} lugares en el equipo; las invitaciones pendientes cuentan.")
        }
        (None, Lang::En) => "As many people in the team as you like.".to_owned(),
        (None, Lang::Es) => "Tantas personas en el equipo como quieras.".to_owned(),
    });
    said.push(match (terms.engine_module, lang) {
        (true, Lang::En) => "The Engine module: agents consult knowledge documents.".to_owned(),
        (true, Lang::Es) => {
            "El módulo Engine: los agentes consultan documentos de conocimiento.".to_owned()
        }
        (false, Lang::En) => {
            "No Engine module: agents cannot consult knowledge documents.".to_owned()
        }
        (false, Lang::Es) => {
            "Sin el módulo Engine: los agentes no pueden consultar documentos de conocimiento."
                .to_owned()
        }
    });
    if let (Some(usd), Some(credits)) = (terms.usd_per_month, terms.credits_per_month) {
        let (usd, credits) = (limit(i64::from(usd)), limit(i64::from(credits)));
        said.push(match lang {
            Lang::En => format!("{credits} credits a month for {usd} USD."),
            Lang::Es => format!("{credits} créditos al mes por {usd} USD."),
        });
    } else {
        said.push(
            lang.t(
                "Price and credits by contract.",
                "Precio y créditos por contrato.",
            )
            .to_owned(),
        );
    }
    said
}

/// What a member may know of the service that answers.
fn deployment(visitor: &Visitor) -> Markup {
    let t = visitor.lang();
    let base = visitor.base_url();
    html! {
        dl.facts {
            (list::fact(t.t("API", "API"), html! { code { (base) "/v1" } }))
            (list::fact(t.t("Portal", "Portal"), html! { code { (base) (crate::PATH) } }))
            (list::fact(t.t("Reference", "Referencia"), html! { a href="/docs" { (base) "/docs" } }))
            (list::fact(t.t("The service's time", "Hora del servicio"), words::when(visitor.now())))
            (list::fact(t.t("Version", "Versión"), env!("CARGO_PKG_VERSION")))
        }
    }
}

#[cfg(test)]
mod tests {
    use offhook_domain::{Plan, Plans};

    use super::*;

    #[test]
    fn every_plan_is_told_in_both_languages() {
        let plans = Plans::default();
        for plan in Plan::ALL {
            for lang in [Lang::En, Lang::Es] {
                assert_eq!(sentences(plans.terms(plan), lang).len(), 6);
            }
        }
        let starter = sentences(plans.terms(Plan::Starter), Lang::En);
        assert_eq!(starter[5], "500 credits a month for 49 USD.");
    }
}
