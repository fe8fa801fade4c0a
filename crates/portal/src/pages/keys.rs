//! API keys. A token is on the page that answers its form and nowhere else.

mod creation;

use maud::{Markup, html};
use offhook_domain::{KeyId, MemberRole, Scopes, Timestamp};
use offhook_services::Keys;
use offhook_services::store::ApiKey;

use crate::fields::Fields;
use crate::lang::{Lang, tell};
use crate::layout::Section;
use crate::parts::list::{self, Table};
use crate::parts::{form, words};
use crate::routes::Page;
use crate::trouble::{Answer, Trouble};
use crate::visit::{Developer, Post, Viewer, Visit, Visitor};

const SECTION: Section = Section::Keys;

/// The paths. The interface names the first.
pub(super) fn routes() -> Vec<Page> {
    vec![
        Page::at("/developers").get(shelf).post(creation::create),
        Page::at("/developers/{id}/revoke").post(revoke),
    ]
}

/// Keys in the hands of the member: the audit log says so.
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
        (tables(&visit, &keys))
        @if visit.may(MemberRole::Developer) { (creation::form_of(&visit, &Fields::default(), None)) }
    };
    Ok(visit.page(SECTION, title(&visit), &body))
}

fn introduction(visitor: &Visitor) -> Markup {
    let t = visitor.lang();
    html! {
        p {
            (t.t(
                "Your systems use the API with a key. Give each system its own, with no more than it needs.",
                "Tus sistemas usan la API con una clave. Da a cada sistema la suya, con no más de lo que necesita.",
            ))
            " "
            a href={ (crate::PATH) "/quick-start" } { (t.t("Quick start", "Inicio rápido")) }
            " · "
            a href="/docs" { (t.t("Reference", "Referencia")) }
        }
        @if !visitor.caller().terms.api {
            p.warning { (t.t(
                "The account's plan has no API: its keys may only ask who they are (GET /v1/me). The API begins with the Starter plan.",
                "El plan de la cuenta no incluye la API: sus claves solo pueden preguntar quiénes son (GET /v1/me). La API empieza con el plan Starter.",
            )) }
        }
    }
}

/// Whether a key still opens something.
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

/// Keys in force, the newest first; behind them those that open nothing any more.
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
                t.t("No key in force", "Ninguna clave vigente"),
                t.t(
                    "Create a key for the system that is to use the API. You see its token once, right after.",
                    "Crea una clave para el sistema que usará la API. Verás su token una sola vez, justo después.",
                ),
                None,
            ))
        } @else {
            (table(visitor, t.t("Keys in force", "Claves vigentes"), &open))
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
            .column(t.t("State", "Estado"), |key| badge(key, now, t))
            .column(t.t("Scopes", "Permisos"), |key| scopes_told(key, t))
            .column(t.t("Last use", "Último uso"), |key| words::when_if(key.last_used_at))
            .column(t.t("Limits", "Límites"), |key| limits_told(key, t))
            .column_if(may, t.t("Action", "Acción"), |key| html! {
                @if key.revoked_at.is_none() { (revocation(visitor, key)) }
            }))
    }
}

fn badge(key: &ApiKey, now: Timestamp, lang: Lang) -> Markup {
    let (tone, text) = match state(key, now) {
        State::InForce => (words::Tone::Good, lang.t("In force", "Vigente")),
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

/// Until when it opens something, and how much it may spend.
fn limits_told(key: &ApiKey, lang: Lang) -> Markup {
    let budget = key.monthly_credit_budget.map(words::count);
    let budget =
        budget.map(|budget| tell!(lang, "{budget} credits a month", "{budget} créditos al mes"));
    html! {
        @if let Some(end) = key.expires_at {
            (lang.t("until ", "hasta ")) (words::when(end)) br;
        }
        @if let Some(budget) = &budget { (budget) }
        @if key.expires_at.is_none() && budget.is_none() { span.none { (lang.t("none", "ninguno")) } }
    }
}

fn revocation(visitor: &Visitor, key: &ApiKey) -> Markup {
    let question = tell!(
        visitor.lang(),
        "Revoke the key “{}”? Every request with it is refused at once, for ever.",
        "¿Revocar la clave «{}»? Toda solicitud con ella se rechaza de inmediato y para siempre.",
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
    let said = tell!(
        t,
        "The key “{name}” is revoked.",
        "La clave «{name}» está revocada."
    );
    Ok(post.go("/developers", &said))
}
