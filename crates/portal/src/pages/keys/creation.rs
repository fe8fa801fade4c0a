//! Creating a key.

use offhook_services::store::ApiKey;
use offhook_services::{KeyError, KeyFault, Zone};

use super::{SECTION, keys, tables, title};
use crate::parts::{sample, secret};
use crate::prelude::*;

/// Resources with their scopes, in the API's order.
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
        "campaigns" => lang.t("Campaigns and batch calls", "Campañas y llamadas por lote"),
        "suppressions" => lang.t("Calling rules", "Reglas de llamada"),
        "webhooks" => lang.t("Webhooks", "Webhooks"),
        "integrations" => lang.t("Integrations", "Integraciones"),
        "team" => lang.t("Team", "Equipo"),
        "billing" => lang.t("Billing", "Facturación"),
        "logs" => lang.t("Logs", "Registros"),
        other => other,
    }
}

/// What most keys are for, so that nobody has to know the scopes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Access {
    Full,
    Read,
    Calls,
    /// The scopes that are checked.
    Custom,
}

impl Access {
    const ALL: [Self; 4] = [Self::Full, Self::Read, Self::Calls, Self::Custom];

    /// A form without presets has the scopes checked.
    fn of(fields: &Fields) -> Self {
        let named = fields.text("access");
        let mut all = Self::ALL.into_iter();
        all.find(|access| access.value() == named)
            .unwrap_or(Self::Custom)
    }

    const fn value(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Read => "read",
            Self::Calls => "calls",
            Self::Custom => "custom",
        }
    }

    const fn name(self, t: Lang) -> (&'static str, &'static str) {
        match self {
            Self::Full => (
                t.t("Full access", "Acceso completo"),
                t.t("Every scope.", "Todos los permisos."),
            ),
            Self::Read => (
                t.t("Read only", "Solo lectura"),
                t.t(
                    "Every scope that ends in :read.",
                    "Todos los permisos que terminan en :read.",
                ),
            ),
            Self::Calls => (
                t.t("Place calls only", "Solo hacer llamadas"),
                t.t(
                    "calls:write, and calls:read to see how they ended.",
                    "calls:write, y calls:read para ver cómo terminaron.",
                ),
            ),
            Self::Custom => (
                t.t("Custom", "Personalizado"),
                t.t("The scopes below.", "Los permisos de abajo."),
            ),
        }
    }

    /// The scopes of a preset; `None` for those that are checked.
    fn scopes(self) -> Option<Scopes> {
        match self {
            Self::Full => Some(Scopes::all()),
            Self::Read => {
                let reads = Scope::ALL.iter().copied();
                Some(reads.filter(|scope| !scope.writes()).collect())
            }
            Self::Calls => Some([Scope::CallsRead, Scope::CallsWrite].into_iter().collect()),
            Self::Custom => None,
        }
    }
}

/// The presets, and the scopes of a key with neither of them; the style sheet hides those until they count.
fn scopes_field(typed: &Fields, t: Lang) -> Markup {
    let chosen = Access::of(typed);
    let is_chosen = |scope: Scope| typed.all("scope").any(|name| name == scope.as_str());
    html! {
        fieldset {
            legend { (t.t("Scopes", "Permisos")) }
            div.presets {
                @for access in Access::ALL {
                    @let (name, text) = access.name(t);
                    label.check {
                        input type="radio" name="access" value=(access.value()) checked[access == chosen];
                        span { strong { (name) } " " span.soft { (text) } }
                    }
                }
            }
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
    }
}

/// The form that creates a key; `typed` is the input of a refused one.
pub(super) fn form_of(
    visitor: &Visitor,
    typed: &Fields,
    message: Option<&str>,
    is_open: bool,
) -> Markup {
    let t = visitor.lang();
    let zone = visitor.zone().name();
    html! {
        details.group open[is_open || message.is_some()] {
            summary { (t.t("New key", "Nueva clave")) }
            (form::refusal(message))
            (form::form(visitor, "/developers", &html! {
                (form::Input::text("name", t.t("Name", "Nombre"))
                    .value(typed.text("name"))
                    .hint(t.t("The system that uses it, such as “CRM”.", "El sistema que la usa, por ejemplo «CRM»."))
                    .required())
                (scopes_field(typed, t))
                fieldset {
                    legend { (t.t("Limits", "Límites")) }
                    (form::check("read_only", "on", t.t(
                        "Read-only: scopes that end in :write are refused, even if selected",
                        "Solo lectura: los permisos que terminan en :write se rechazan, aunque estén elegidos",
                    ), typed.is_set("read_only")))
                    (form::Input::text("expires_at", &text!(t, "Expires ({zone})", "Vence ({zone})"))
                        .kind("date")
                        .value(typed.text("expires_at"))
                        .hint(t.t(
                            "The key stops working at the start of this day. Leave empty for no expiration.",
                            "La clave deja de funcionar al comenzar este día. Déjalo vacío para que no venza.",
                        )))
                    (form::Input::text("monthly_credit_budget", t.t("Credits per month", "Créditos al mes"))
                        .kind("number")
                        .value(typed.text("monthly_credit_budget"))
                        .hint(t.t("The most this key can spend per calendar month (UTC). Leave empty for no limit of its own.", "Lo máximo que puede gastar esta clave por mes calendario (UTC). Déjalo vacío para no ponerle un límite propio.")))
                }
                button.primary type="submit" { (t.t("Create key", "Crear clave")) }
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

fn wanted(fields: &Fields, zone: &Zone, lang: Lang) -> Result<Wanted, &'static str> {
    let checked = || fields.all("scope").map(str::parse::<Scope>);
    let preset = Access::of(fields).scopes();
    let scopes = preset.map_or_else(|| checked().collect::<Result<Scopes, _>>(), Ok);
    let begin = |day| {
        zone.day(day)
            .map_or_else(|| Timestamp::parse_from(day), |(first, _)| Ok(first))
    };
    let expires_at = fields.get("expires_at").map(begin);
    let budget = fields.get("monthly_credit_budget").map(str::parse);
    Ok(Wanted {
        scopes: scopes.map_err(|_| {
            lang.t(
                "Unknown scope. Choose from the list.",
                "Un permiso no existe. Elige de la lista.",
            )
        })?,
        expires_at: expires_at.transpose().map_err(|_| {
            lang.t(
                "“Expires” is not a date. Write it as 2027-01-31.",
                "«Vence» no es una fecha. Escríbela como 2027-01-31.",
            )
        })?,
        budget: budget.transpose().map_err(|_| {
            lang.t(
                "The credits per month must be a whole number.",
                "Los créditos al mes deben ser un número entero.",
            )
        })?,
    })
}

const fn fault_told(fault: &KeyFault, lang: Lang) -> &'static str {
    match fault {
        KeyFault::Name => lang.t(
            "The name must have 1 to 120 characters.",
            "El nombre debe tener de 1 a 120 caracteres.",
        ),
        KeyFault::Scopes => lang.t("Choose at least one scope.", "Elige al menos un permiso."),
        KeyFault::Budget => lang.t(
            "The credits per month must not be negative.",
            "Los créditos al mes no pueden ser negativos.",
        ),
        KeyFault::Past(_) => lang.t(
            "“Expires” is in the past. Choose a future date or leave it empty.",
            "«Vence» ya pasó. Elige una fecha futura o déjalo vacío.",
        ),
        KeyFault::Account(_) => lang.t("The account no longer exists.", "La cuenta ya no existe."),
        KeyFault::Randomness => lang.t(
            "The server could not generate a random token. Try again.",
            "El servidor no pudo generar un token aleatorio. Inténtalo de nuevo.",
        ),
    }
}

pub(super) async fn create(post: Post<Developer>) -> Answer {
    let wanted = match wanted(&post.fields, post.zone(), post.lang()) {
        Ok(wanted) => wanted,
        Err(message) => return refuse(&post, message).await,
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
            let id = key.id.uuid();
            post.show_once(id, &token).await?;
            Ok(post.go(&format!("/developers/{id}/token"), ""))
        }
        Err(KeyError::Invalid(fault)) => refuse(&post, fault_told(&fault, post.lang())).await,
        Err(KeyError::Store(error)) => Err(error.into()),
    }
}

async fn refuse(post: &Post<Developer>, message: &str) -> Answer {
    let keys = keys(post).list(post.account()).await?;
    let body = html! {
        (form_of(post, &post.fields, Some(message), true))
        h2 { (title(post)) }
        (tables(post, &keys))
    };
    Ok(post.refused(SECTION, title(post), &body))
}

/// `GET /portal/developers/{id}/token`: the token, once.
pub(super) async fn show_token(visit: Visit<Developer>) -> Answer {
    let id: KeyId = visit.id("id")?;
    let keys = keys(&visit).list(visit.account()).await?;
    let key = keys.iter().find(|key| key.id == id);
    let key = key.ok_or_else(Trouble::not_found)?;
    let token = visit.shown_once(id.uuid()).await?;
    let title = match token {
        Some(_) => visit.t("Key created", "Clave creada"),
        None => &key.name,
    };
    Ok(visit.page(SECTION, title, &token_once(&visit, key, token.as_deref())))
}

fn token_once(visitor: &Visitor, key: &ApiKey, token: Option<&str>) -> Markup {
    let t = visitor.lang();
    html! {
        p.lead {
            (t.t("The token of the key ", "El token de la clave "))
            strong { (key.name) } ": " code { (key.prefix) "…" }
        }
        (secret::once(t, "token", token, t.t(
            "If you lose it, revoke the key and create another.",
            "Si lo pierdes, revoca la clave y crea otra.",
        )))
        (sample::code(t, "try", t.t("Try it", "Pruébala"), &format!("curl {}/v1/me -H \"Authorization: Bearer $OFFHOOK_KEY\"", visitor.base_url())))
        div.bar-of-actions {
            a.button.primary href={ (crate::PATH) "/developers" } { (secret::done(t, token, t.t("Back to API keys", "Volver a las claves de API"))) }
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
