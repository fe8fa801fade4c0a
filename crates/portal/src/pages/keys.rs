//! API keys.

mod creation;

use offhook_services::Keys;
use offhook_services::store::ApiKey;

use crate::prelude::*;

const SECTION: Section = Section::Keys;

/// The paths. The interface names the first.
pub(super) fn routes() -> Vec<Page> {
    vec![
        Page::at("/developers").get(shelf).post(creation::create),
        Page::at("/developers/{id}/token").get(creation::show_token),
        Page::at("/developers/{id}/revoke").post(revoke),
    ]
}

/// Keys, with the member as actor in the audit log.
fn keys(visitor: &Visitor) -> Keys {
    visitor.services().keys().by(&visitor.person)
}

fn title(visitor: &Visitor) -> &'static str {
    SECTION.name(visitor.lang())
}

async fn shelf(visit: Visit<Viewer>) -> Answer {
    let keys = keys(&visit).list(visit.account()).await?;
    let body = html! {
        (introduction(&visit))
        @if visit.may(MemberRole::Developer) { (creation::form_of(&visit, &Fields::default(), None, keys.is_empty())) }
        (tables(&visit, &keys))
    };
    Ok(visit.page(SECTION, title(&visit), &body))
}

fn introduction(visitor: &Visitor) -> Markup {
    let t = visitor.lang();
    html! {
        p {
            (t.t(
                "Your systems use the API with a key. Give each system its own key, with only the scopes it needs.",
                "Tus sistemas usan la API con una clave. Da a cada sistema la suya, solo con los permisos que necesita.",
            ))
            " "
            a href={ (crate::PATH) "/quick-start" } { (t.t("Quick start", "Inicio rápido")) }
            " · "
            a href="/docs" { (t.t("API reference", "Referencia de la API")) }
        }
        @if !visitor.caller().terms.api {
            p.warning { (t.t(
                "Your plan does not include the API. A key can only identify itself. The API starts with the Starter plan.",
                "Tu plan no incluye la API. Una clave solo puede identificarse. La API empieza con el plan Starter.",
            )) }
        }
    }
}

/// Whether a key is active.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    InForce,
    Expired,
    Revoked,
}

fn state(key: &ApiKey, now: Timestamp) -> State {
    match (key.revoked_at, key.expires_at) {
        (Some(_), _) => State::Revoked,
        (None, Some(end)) if end <= now => State::Expired,
        (None, _) => State::InForce,
    }
}

/// Active keys, newest first, then revoked and expired ones.
fn tables(visitor: &Visitor, keys: &[ApiKey]) -> Markup {
    let t = visitor.lang();
    let now = visitor.now();
    let (open, over): (Vec<&ApiKey>, Vec<&ApiKey>) = keys
        .iter()
        .rev()
        .partition(|key| state(key, now) == State::InForce);
    html! {
        @if open.is_empty() {
            (list::empty(
                t.t("No active keys", "Ninguna clave activa"),
                t.t(
                    "Create a key for the system that uses the API. Its token is shown once, right after you create it.",
                    "Crea una clave para el sistema que usará la API. Su token se muestra una sola vez, justo después de crearla.",
                ),
                None,
            ))
        } @else {
            (table(visitor, t.t("Active keys", "Claves activas"), &open))
        }
        @if !over.is_empty() {
            details {
                summary {
                    (t.t("Revoked and expired keys", "Claves revocadas y vencidas")) " (" (over.len()) ")"
                }
                (table(visitor, t.t("Revoked and expired keys", "Claves revocadas y vencidas"), &over))
            }
        }
    }
}

fn table(visitor: &Visitor, caption: &str, keys: &[&ApiKey]) -> Markup {
    let (t, now) = (visitor.lang(), visitor.now());
    let may = visitor.may(MemberRole::Developer);
    html! {
        (Table::of(caption, keys)
            .column(t.t("Key", "Clave"), |key| html! {
                (key.name) br;
                code { (key.prefix) "…" } br;
                span.soft { (t.t("created ", "creada ")) (words::when(key.created_at)) }
            })
            .column(t.t("Status", "Estado"), |key| badge(key, now, t))
            .column(t.t("Scopes", "Permisos"), |key| scopes_told(key, t))
            .column(t.t("Last used", "Último uso"), |key| words::when_if(key.last_used_at))
            .column(t.t("Limits", "Límites"), |key| limits_told(key, t))
            .column_if(may, t.t("Action", "Acción"), |key| html! {
                @if key.revoked_at.is_none() { (revocation(visitor, key)) }
            }))
    }
}

fn badge(key: &ApiKey, now: Timestamp, lang: Lang) -> Markup {
    let (tone, text) = match state(key, now) {
        State::InForce => (words::Tone::Good, lang.t("Active", "Activa")),
        State::Expired => (words::Tone::Plain, lang.t("Expired", "Vencida")),
        State::Revoked => (words::Tone::Bad, lang.t("Revoked", "Revocada")),
    };
    words::badge(tone, text)
}

fn scopes_told(key: &ApiKey, lang: Lang) -> Markup {
    html! {
        @if key.scopes == Scopes::all() {
            (lang.t("all", "todos"))
        } @else {
            span.scopes { @for scope in key.scopes.iter() { code { (scope) } " " } }
        }
        @if key.read_only { " " (words::badge(words::Tone::Plain, lang.t("read-only", "solo lectura"))) }
    }
}

/// A key's expiry and monthly limit.
fn limits_told(key: &ApiKey, lang: Lang) -> Markup {
    let budget = key.monthly_credit_budget.map(words::count);
    let budget =
        budget.map(|budget| text!(lang, "{budget} credits/month", "{budget} créditos/mes"));
    html! {
        @if let Some(end) = key.expires_at {
            (lang.t("expires ", "vence ")) (words::when(end)) br;
        }
        @if let Some(budget) = &budget { (budget) }
        @if key.expires_at.is_none() && budget.is_none() { span.none { (lang.t("none", "ninguno")) } }
    }
}

fn revocation(visitor: &Visitor, key: &ApiKey) -> Markup {
    let question = text!(
        visitor.lang(),
        "Revoke the key “{}”? Requests with it fail immediately. This cannot be undone.",
        "¿Revocar la clave «{}»? Las solicitudes con ella fallan de inmediato. No se puede deshacer.",
        key.name
    );
    let path = format!("/developers/{}/revoke", key.id);
    form::danger(visitor, &path, visitor.t("Revoke", "Revocar"), &question)
}

async fn revoke(post: Post<Developer>) -> Answer {
    let id: KeyId = post.id("id")?;
    let revoked = keys(&post).revoke_of(post.account(), id).await?;
    let key = revoked.ok_or_else(Trouble::not_found)?;
    let (t, name) = (post.lang(), &key.name);
    let message = text!(t, "Key “{name}” revoked.", "Clave «{name}» revocada.");
    Ok(post.go("/developers", &message))
}
