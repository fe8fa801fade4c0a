//! Webhooks: endpoints, their secrets, what was sent to them.

mod deeds;
mod deliveries;
mod delivery;
mod endpoint;
mod events;
mod wording;

use maud::{Markup, html};
use offhook_domain::{EndpointId, Json, MemberRole};
use offhook_services::Registered;
use offhook_services::store::{EndpointHealth, EndpointView};

use crate::fields::Fields;
use crate::lang::Lang;
use crate::layout::Section;
use crate::parts::list::{self, Table};
use crate::parts::{form, words};
use crate::routes::Page;
use crate::trouble::Answer;
use crate::visit::{Developer, Post, Viewer, Visit, Visitor};

pub(super) use wording::delivery_tone;

const SECTION: Section = Section::Webhooks;

/// The paths.
pub(super) fn routes() -> Vec<Page> {
    vec![
        Page::at("/webhooks").get(shelf).post(register),
        Page::at("/webhooks/events").get(events::catalog),
        Page::at("/webhooks/deliveries").get(deliveries::history),
        Page::at("/webhooks/deliveries/{id}").get(delivery::show),
        Page::at("/webhooks/deliveries/{id}/attempts").part(delivery::progress),
        Page::at("/webhooks/deliveries/{id}/redeliver").post(delivery::redeliver),
        Page::at("/webhooks/{id}")
            .get(endpoint::show)
            .post(deeds::change),
        Page::at("/webhooks/{id}/status").post(deeds::set_status),
        Page::at("/webhooks/{id}/rotate-secret").post(deeds::rotate),
        Page::at("/webhooks/{id}/test").post(deeds::test),
        Page::at("/webhooks/{id}/recover").post(deeds::recover),
        Page::at("/webhooks/{id}/delete").post(deeds::delete),
    ]
}

fn title(visitor: &Visitor) -> &'static str {
    SECTION.name(visitor.lang())
}

/// Every endpoint, and the form that registers one.
async fn shelf(visit: Visit<Viewer>) -> Answer {
    let page = visit.page_of(EndpointId::from_uuid);
    let webhooks = visit.services().webhooks();
    let endpoints = webhooks.list(visit.account(), page).await?;
    let health = webhooks.health(visit.account()).await?;
    let body = html! {
        (introduction(&visit))
        (endpoints_table(&visit, &endpoints.items, &health))
        (list::more(&visit, &endpoints, |view| (view.endpoint.created_at, view.endpoint.id.uuid())))
        @if visit.may(MemberRole::Developer) { (registration(&visit, &Fields::default(), None)) }
    };
    Ok(visit.page(SECTION, title(&visit), &body))
}

fn introduction(visitor: &Visitor) -> Markup {
    let t = visitor.lang();
    html! {
        p { (t.t(
            "Offhook tells your system by HTTPS when a call is placed, completed or failed. Every event goes to every enabled endpoint.",
            "Offhook avisa a tu sistema por HTTPS cuando una llamada se inicia, se completa o falla. Cada evento llega a todos los puntos de conexión habilitados.",
        )) }
        div.bar-of-actions {
            a.button href={ (crate::PATH) "/webhooks/deliveries" } { (t.t("Delivery history", "Historial de entregas")) }
            a.button href={ (crate::PATH) "/webhooks/events" } { (t.t("What is sent", "Qué se envía")) }
            a.button href={ (crate::PATH) "/quick-start/webhooks" } { (t.t("Verify signatures", "Verificar firmas")) }
        }
    }
}

fn endpoints_table(
    visitor: &Visitor,
    endpoints: &[EndpointView],
    health: &[EndpointHealth],
) -> Markup {
    let t = visitor.lang();
    if endpoints.is_empty() {
        return list::empty(
            t.t("No endpoint yet", "Aún no hay puntos de conexión"),
            t.t(
                "Register the address of your server that is to receive events. You see its signing secret once, right after.",
                "Registra la dirección de tu servidor que recibirá los eventos. Verás su secreto de firma una sola vez, justo después.",
            ),
            None,
        );
    }
    let health_of = |view: &EndpointView| {
        let mut health = health.iter();
        health.find(|health| health.endpoint == view.endpoint.id)
    };
    html! {
        (Table::of(t.t("Endpoints", "Puntos de conexión"), endpoints)
            .column(t.t("Address", "Dirección"), |view| html! {
                a.url href={ (crate::PATH) "/webhooks/" (view.endpoint.id) } { (view.endpoint.url) }
                @if let Some(description) = &view.endpoint.description { br; span.soft { (description) } }
            })
            .column(t.t("State", "Estado"), |view| wording::endpoint_badge(visitor, &view.endpoint, health_of(view)))
            .column(t.t("Secret", "Secreto"), |view| html! { code { (view.secret_prefix) "…" } })
            .column(t.t("Last event", "Último evento"), |view| html! {
                @if let Some(delivery) = health_of(view).and_then(|health| health.newest.as_ref()) {
                    a href={ (crate::PATH) "/webhooks/deliveries/" (delivery.id) } { (words::when(delivery.created_at)) }
                    " " (wording::state_badge(visitor, delivery.state))
                } @else { span.none { "–" } }
            })
            .column(t.t("Registered", "Registrado"), |view| words::when(view.endpoint.created_at)))
    }
}

fn registration(visitor: &Visitor, fields: &Fields, said: Option<&str>) -> Markup {
    let t = visitor.lang();
    html! {
        section.form-card aria-labelledby="register" {
            h2 #register { (t.t("Register an endpoint", "Registrar un punto de conexión")) }
            (form::refusal(said))
            (form::form(visitor, "/webhooks", &html! {
                (address_fields(visitor, fields))
                button.primary type="submit" { (t.t("Register", "Registrar")) }
            }))
        }
    }
}

/// The address of an endpoint and what it is for.
fn address_fields(visitor: &Visitor, fields: &Fields) -> Markup {
    let t = visitor.lang();
    html! {
        (form::Input::text("url", t.t("Address (URL)", "Dirección (URL)"))
            .kind("url")
            .value(fields.text("url"))
            .hint(t.t(
                "A public https:// address that answers without a login or a firewall, such as https://example.com/offhook.",
                "Una dirección https:// pública que responda sin inicio de sesión ni firewall, como https://example.com/offhook.",
            ))
            .required())
        (form::Input::text("description", t.t("Description", "Descripción"))
            .value(fields.text("description"))
            .hint(t.t("For your team; up to 500 characters. May stay empty.", "Para tu equipo; hasta 500 caracteres. Puede quedar vacía.")))
    }
}

/// What these fields say.
fn address_of(fields: &Fields) -> Json {
    Json::object([
        ("url", Json::from(fields.text("url"))),
        ("description", Json::from(fields.get("description"))),
    ])
}

/// What the forms call the fields of an endpoint.
const fn labels(t: Lang) -> [(&'static str, &'static str); 5] {
    [
        ("url", t.t("Address (URL)", "Dirección (URL)")),
        ("description", t.t("Description", "Descripción")),
        (
            "overlap_hours",
            t.t(
                "The old one signs along for",
                "El anterior sigue firmando durante",
            ),
        ),
        ("type", t.t("Event type", "Tipo de evento")),
        ("since", t.t("Since (UTC)", "Desde (UTC)")),
    ]
}

async fn register(post: Post<Developer>) -> Answer {
    let webhooks = post.services().webhooks();
    let body = address_of(&post.fields);
    match webhooks.create(post.account(), &body).await {
        Ok(registered) => {
            let id = registered.view.endpoint.id;
            post.note("webhook.create", id).await;
            let title = post.t("Endpoint registered", "Punto de conexión registrado");
            Ok(post.page(SECTION, title, &secret_once(&post, &registered)))
        }
        Err(error) => {
            let said = post.told(error, &labels(post.lang()))?;
            let page = post.page_of(EndpointId::from_uuid);
            let endpoints = webhooks.list(post.account(), page).await?;
            let health = webhooks.health(post.account()).await?;
            let body = html! {
                (registration(&post, &post.fields, Some(&said)))
                h2 { (post.t("Endpoints", "Puntos de conexión")) }
                (endpoints_table(&post, &endpoints.items, &health))
            };
            Ok(post.refused(SECTION, title(&post), &body))
        }
    }
}

/// The secret, on the page that answers the form and nowhere else: not in an address, a cookie or a notice.
fn secret_once(visitor: &Visitor, registered: &Registered) -> Markup {
    let t = visitor.lang();
    let endpoint = &registered.view.endpoint;
    html! {
        p.lead {
            (t.t("This is the signing secret of ", "Este es el secreto de firma de "))
            strong.url { (endpoint.url) }
            "."
        }
        p.secret #secret { (registered.secret) }
        div.bar-of-actions {
            button type="button" data-copy="secret" { (t.t("Copy", "Copiar")) }
        }
        p.warning { (t.t(
            "It is shown this once. Keep it where your server reads it; if it is lost, rotate it.",
            "Solo se muestra esta vez. Guárdalo donde tu servidor lo lea; si se pierde, rótalo.",
        )) }
        div.bar-of-actions {
            a.button.primary href={ (crate::PATH) "/webhooks/" (endpoint.id) } {
                (t.t("I have kept it", "Ya lo guardé"))
            }
            a.button href={ (crate::PATH) "/quick-start/webhooks" } { (t.t("Verify signatures", "Verificar firmas")) }
        }
    }
}
