//! Making a key.

use maud::{Markup, html};
use offhook_domain::{Scope, Scopes, Timestamp};
use offhook_services::store::ApiKey;
use offhook_services::{KeyError, KeyFault};

use super::{SECTION, keys, tables, title};
use crate::fields::Fields;
use crate::lang::Lang;
use crate::parts::form;
use crate::trouble::Answer;
use crate::visit::{Developer, Post, Visitor};

/// Resources with their scopes, in the interface's order.
fn resources() -> Vec<(&'static str, Vec<Scope>)> {
    let mut resources: Vec<(&str, Vec<Scope>)> = Vec::new();
    for scope in Scope::ALL {
        let resource = scope.as_str().split(':').next().unwrap_or("");
        match resources.iter_mut().find(|(name, _)| *name == resource) {
            Some((_, scopes)) => scopes.push(*scope),
            None => resources.push((resource, vec![*scope])),
        }
    }
    resources
}

fn resource_name(resource: &str, lang: Lang) -> &str {
    match resource {
        "agents" => lang.t(
            "Agents, voices, tools and widgets",
            "Agentes, voces, herramientas y widgets",
        ),
        "calls" => lang.t("Calls", "Llamadas"),
        "conversations" => lang.t("Conversations", "Conversaciones"),
        "knowledge" => lang.t("Knowledge", "Conocimiento"),
        "phone_numbers" => lang.t("Phone numbers", "Números"),
        "campaigns" => lang.t("Batch calls", "Llamadas por lote"),
        "webhooks" => lang.t("Webhooks", "Webhooks"),
        "integrations" => lang.t("Integrations", "Integraciones"),
        "team" => lang.t("Team", "Equipo"),
        "billing" => lang.t("Billing", "Facturación"),
        "logs" => lang.t("Logs", "Registros"),
        other => other,
    }
}

/// The form that makes a key; `typed` is what was sent where it was refused.
pub(super) fn form_of(visitor: &Visitor, typed: &Fields, said: Option<&str>) -> Markup {
    let t = visitor.lang();
    let is_chosen = |scope: Scope| typed.all("scope").any(|name| name == scope.as_str());
    html! {
        section.form-card aria-labelledby="create" {
            h2 #create { (t.t("Create a key", "Crear una clave")) }
            (form::refusal(said))
            (form::form(visitor, "/developers", &html! {
                (form::Input::text("name", t.t("Name", "Nombre"))
                    .value(typed.text("name"))
                    .hint(t.t("Which system uses it, such as “CRM”.", "Qué sistema la usa, por ejemplo «CRM»."))
                    .required())
                fieldset {
                    legend { (t.t("Scopes: what it opens", "Permisos: qué abre")) }
                    div.scope-grid {
                        @for (resource, scopes) in resources() {
                            fieldset.scope {
                                legend { (resource_name(resource, t)) }
                                @for scope in scopes {
                                    (form::check("scope", scope.as_str(), scope.as_str(), is_chosen(scope)))
                                }
                            }
                        }
                    }
                }
                fieldset {
                    legend { (t.t("Limits", "Límites")) }
                    (form::check("read_only", "on", t.t(
                        "Read-only: refuses every scope that ends in :write, chosen or not",
                        "Solo lectura: rechaza todo permiso que termine en :write, elegido o no",
                    ), typed.is_set("read_only")))
                    (form::Input::text("expires_at", t.t("Expires (UTC)", "Vence (UTC)"))
                        .kind("date")
                        .value(typed.text("expires_at"))
                        .hint(t.t(
                            "From the first moment of this day it is refused. Empty: it does not expire.",
                            "Desde el primer momento de este día se rechaza. Vacío: no vence.",
                        )))
                    (form::Input::text("monthly_credit_budget", t.t("Credits that it may spend a month", "Créditos que puede gastar al mes"))
                        .kind("number")
                        .value(typed.text("monthly_credit_budget"))
                        .hint(t.t("Per calendar month in UTC. Empty: no limit of its own.", "Por mes calendario en UTC. Vacío: sin límite propio.")))
                }
                button.primary type="submit" { (t.t("Create the key", "Crear la clave")) }
            }))
        }
    }
}

/// What the form says.
struct Wanted {
    scopes: Scopes,
    expires_at: Option<Timestamp>,
    budget: Option<i64>,
}

fn wanted(fields: &Fields, lang: Lang) -> Result<Wanted, &'static str> {
    let scopes = fields.all("scope").map(str::parse::<Scope>);
    let scopes: Result<Scopes, _> = scopes.collect();
    let expires_at = fields.get("expires_at").map(Timestamp::parse_from);
    let budget = fields.get("monthly_credit_budget").map(str::parse);
    Ok(Wanted {
        scopes: scopes.map_err(|_| {
            lang.t(
                "One of the scopes is none: choose from the list.",
                "Uno de los permisos no existe: elige de la lista.",
            )
        })?,
        expires_at: expires_at.transpose().map_err(|_| {
            lang.t(
                "“Expires” is no date. Write it as 2027-01-31.",
                "«Vence» no es una fecha. Escríbela como 2027-01-31.",
            )
        })?,
        budget: budget.transpose().map_err(|_| {
            lang.t(
                "The credits a month must be a whole number.",
                "Los créditos al mes deben ser un número entero.",
            )
        })?,
    })
}

const fn fault_told(fault: &KeyFault, lang: Lang) -> &'static str {
    match fault {
        KeyFault::Name => lang.t(
            "Give the key a name of 1 to 120 characters.",
            "Da a la clave un nombre de 1 a 120 caracteres.",
        ),
        KeyFault::Scopes => lang.t(
            "Choose at least one scope: a key without one opens nothing.",
            "Elige al menos un permiso: una clave sin permisos no abre nada.",
        ),
        KeyFault::Budget => lang.t(
            "The credits a month must not be negative.",
            "Los créditos al mes no pueden ser negativos.",
        ),
        KeyFault::Past(_) => lang.t(
            "“Expires” has passed. Name a day to come, or leave it empty.",
            "«Vence» ya pasó. Escribe un día futuro o déjalo vacío.",
        ),
        KeyFault::Account(_) => lang.t("The account is gone.", "La cuenta ya no existe."),
        KeyFault::Randomness => lang.t(
            "The machine gives no randomness at the moment. Try again.",
            "La máquina no da aleatoriedad en este momento. Inténtalo de nuevo.",
        ),
    }
}

pub(super) async fn create(post: Post<Developer>) -> Answer {
    let wanted = match wanted(&post.fields, post.lang()) {
        Ok(wanted) => wanted,
        Err(said) => return refuse(&post, said).await,
    };
    let keys = keys(&post);
    let made = keys.create(
        post.account(),
        post.fields.text("name"),
        wanted.scopes,
        post.fields.is_set("read_only"),
        wanted.expires_at,
        wanted.budget,
    );
    match made.await {
        Ok((key, token)) => {
            let title = post.t("Key created", "Clave creada");
            Ok(post.page(SECTION, title, &token_once(&post, &key, &token)))
        }
        Err(KeyError::Invalid(fault)) => refuse(&post, fault_told(&fault, post.lang())).await,
        Err(KeyError::Store(error)) => Err(error.into()),
    }
}

async fn refuse(post: &Post<Developer>, said: &str) -> Answer {
    let keys = keys(post).list(post.account()).await?;
    let body = html! {
        (form_of(post, &post.fields, Some(said)))
        h2 { (title(post)) }
        (tables(post, &keys))
    };
    Ok(post.refused(SECTION, title(post), &body))
}

/// The token, on the page that answers the form and nowhere else.
fn token_once(visitor: &Visitor, key: &ApiKey, token: &str) -> Markup {
    let t = visitor.lang();
    html! {
        p.lead {
            (t.t("This is the token of the key ", "Este es el token de la clave "))
            strong { (key.name) }
            "."
        }
        p.secret #token { (token) }
        div.bar-of-actions {
            button type="button" data-copy="token" { (t.t("Copy", "Copiar")) }
        }
        p.warning { (t.t(
            "It is shown this once and kept by nobody here. If it is lost, revoke the key and create another.",
            "Solo se muestra esta vez y aquí nadie lo conserva. Si se pierde, revoca la clave y crea otra.",
        )) }
        h2 { (t.t("Try it", "Pruébala")) }
        pre tabindex="0" { "curl " (visitor.base_url()) "/v1/me -H \"Authorization: Bearer $OFFHOOK_KEY\"" }
        div.bar-of-actions {
            a.button.primary href={ (crate::PATH) "/developers" } { (t.t("I have kept it", "Ya lo guardé")) }
            a.button href={ (crate::PATH) "/quick-start" } { (t.t("Quick start", "Inicio rápido")) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_scope_stands_under_a_resource_that_has_a_name() {
        let resources = resources();
        let scopes: Vec<Scope> = resources
            .iter()
            .flat_map(|(_, scopes)| scopes.clone())
            .collect();
        assert_eq!(scopes, Scope::ALL);
        for (resource, _) in resources {
            assert_ne!(resource_name(resource, Lang::En), resource);
        }
    }
}
