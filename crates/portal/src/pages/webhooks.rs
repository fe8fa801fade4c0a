//! Webhooks: endpoints, their secrets, their deliveries.

mod deeds;
mod deliveries;
mod delivery;
mod endpoint;
mod events;
mod wording;

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use offhook_services::Registered;
use offhook_services::store::{Endpoint, EndpointHealth, EndpointView};

use crate::parts::secret;
use crate::prelude::*;
use crate::visit::layout;

pub(super) use wording::{delivery_tone, state_badge};

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
        Page::at("/webhooks/{id}/secret").get(show_secret),
        Page::at("/webhooks/{id}/test").post(deeds::test),
        Page::at("/webhooks/{id}/recover").post(deeds::recover),
        Page::at("/webhooks/{id}/delete").post(deeds::delete),
    ]
}

fn title(visitor: &Visitor) -> &'static str {
    SECTION.name(visitor.lang())
}

/// Every endpoint, and the form that adds one.
async fn shelf(visit: Visit<Viewer>) -> Answer {
    let page = visit.page_of(EndpointId::from_uuid);
    let webhooks = visit.services().webhooks();
    let endpoints = webhooks.list(visit.account(), page).await?;
    let health = webhooks.health(visit.account()).await?;
    let body = html! {
        (introduction(&visit))
        @if visit.may(MemberRole::Developer) {
            @let fields = with_events(Fields::default(), None);
            (registration(&visit, &fields, None, endpoints.items.is_empty()))
        }
        (endpoints_table(&visit, &endpoints.items, &health))
        (list::more(&visit, &endpoints, |view| (view.endpoint.created_at, view.endpoint.id.uuid())))
    };
    Ok(tab(&visit, "/webhooks", StatusCode::OK, &body))
}

/// A page of several of the section, of this path.
fn tab(visitor: &Visitor, path: &str, status: StatusCode, body: &Markup) -> HttpResponse {
    let t = visitor.lang();
    let tabs = [
        (
            "/webhooks".to_owned(),
            t.t("Endpoints", "Puntos de conexión"),
        ),
        (
            "/webhooks/deliveries".to_owned(),
            t.t("Deliveries", "Entregas"),
        ),
        (
            "/webhooks/events".to_owned(),
            t.t("Event types", "Tipos de evento"),
        ),
    ];
    layout::tabbed(
        visitor,
        (SECTION, title(visitor)),
        &tabs,
        path,
        (status, body),
    )
}

fn introduction(visitor: &Visitor) -> Markup {
    let t = visitor.lang();
    html! {
        div.page-actions {
            a.button href={ (crate::PATH) "/quick-start/webhooks" } { (t.t("Verify signatures", "Verificar firmas")) }
        }
        p { (t.t(
            "Offhook notifies your system over HTTPS about the events that each endpoint has chosen: by default when a call is placed through the API, and when a call completes or fails.",
            "Offhook avisa a tu sistema por HTTPS de los eventos que eligió cada punto de conexión: de forma predeterminada, cuando se inicia una llamada por la API y cuando una llamada se completa o falla.",
        )) }
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
            t.t("No endpoints yet", "Aún no hay puntos de conexión"),
            t.t(
                "Add the URL of your server that receives events. Its signing secret is shown once, right after you add it.",
                "Agrega la URL de tu servidor que recibirá los eventos. Su secreto de firma se muestra una sola vez, justo después de agregarla.",
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
            .column(t.t("URL", "URL"), |view| html! {
                a.url href={ (crate::PATH) "/webhooks/" (view.endpoint.id) } { (view.endpoint.url) }
                @if let Some(description) = &view.endpoint.description { br; span.soft { (description) } }
            })
            .column(t.t("Status", "Estado"), |view| wording::endpoint_badge(visitor, &view.endpoint, health_of(view)))
            .column(t.t("Secret", "Secreto"), |view| html! { code { (view.secret_prefix) "…" } })
            .column(t.t("Last event", "Último evento"), |view| html! {
                @if let Some(delivery) = health_of(view).and_then(|health| health.newest.as_ref()) {
                    a href={ (crate::PATH) "/webhooks/deliveries/" (delivery.id) } { (words::when(delivery.created_at)) }
                    " " (state_badge(visitor, delivery.state))
                } @else { span.none { "–" } }
            })
            .column(t.t("Added", "Agregado"), |view| words::when(view.endpoint.created_at)))
    }
}

fn registration(
    visitor: &Visitor,
    fields: &Fields,
    message: Option<&str>,
    is_open: bool,
) -> Markup {
    let t = visitor.lang();
    html! {
        details.group open[is_open || message.is_some()] {
            summary { (t.t("New endpoint", "Nuevo punto de conexión")) }
            (form::refusal(message))
            (form::form(visitor, "/webhooks", &html! {
                (address_fields(visitor, fields))
                button.primary type="submit" { (t.t("Add endpoint", "Agregar punto de conexión")) }
            }))
        }
    }
}

/// The name of the checkboxes of event types.
const EVENTS: &str = "events";

/// The URL, description and event types of an endpoint.
fn address_fields(visitor: &Visitor, fields: &Fields) -> Markup {
    let t = visitor.lang();
    html! {
        (form::Input::text("url", t.t("URL", "URL"))
            .kind("url")
            .value(fields.text("url"))
            .hint(t.t(
                "A public https:// URL that needs no login and is not behind a firewall, such as https://example.com/offhook.",
                "Una URL https:// pública, sin inicio de sesión ni firewall, como https://example.com/offhook.",
            ))
            .required())
        (form::Input::text("description", t.t("Description", "Descripción"))
            .value(fields.text("description"))
            .hint(t.t("Optional, for your team. Up to 500 characters.", "Opcional, para tu equipo. Hasta 500 caracteres.")))
        fieldset {
            legend { (t.t("Events", "Eventos")) }
            @for kind in EventType::ALL {
                @let is_set = fields.all(EVENTS).any(|chosen| chosen == kind.as_str());
                (form::check_about(EVENTS, kind.as_str(), kind.as_str(), events::meaning(*kind, t), is_set))
            }
        }
    }
}

/// The fields of an endpoint with these event types, or of one that has chosen none.
fn with_events(mut fields: Fields, events: Option<EventTypes>) -> Fields {
    for kind in events.unwrap_or_else(EventTypes::by_default).iter() {
        fields.push(EVENTS, kind.as_str());
    }
    fields
}

/// The fields as the API's body.
fn address_of(fields: &Fields) -> Json {
    Json::object([
        ("url", Json::from(fields.text("url"))),
        ("description", Json::from(fields.get("description"))),
        (EVENTS, events_of(fields)),
    ])
}

/// The checked event types; null for the default ones, so that an endpoint that was never given any has none set.
fn events_of(fields: &Fields) -> Json {
    let chosen: Vec<&str> = fields.all(EVENTS).collect();
    let by_default = EventType::BY_DEFAULT.iter();
    if by_default
        .map(|kind| kind.as_str())
        .eq(chosen.iter().copied())
    {
        return Json::Null;
    }
    Json::Array(chosen.into_iter().map(Json::from).collect())
}

/// The labels of an endpoint's fields.
const fn labels(t: Lang) -> [(&'static str, &'static str); 6] {
    [
        (EVENTS, t.t("Events", "Eventos")),
        ("url", t.t("URL", "URL")),
        ("description", t.t("Description", "Descripción")),
        (
            "overlap_hours",
            t.t(
                "Old secret stays valid for",
                "El secreto anterior sigue vigente durante",
            ),
        ),
        ("type", t.t("Event type", "Tipo de evento")),
        ("since", t.t("Since", "Desde")),
    ]
}

async fn register(post: Post<Developer>) -> Answer {
    let webhooks = post.services().webhooks();
    let body = address_of(&post.fields);
    match webhooks.create(post.account(), &body).await {
        Ok(registered) => {
            let id = registered.view.endpoint.id;
            post.note("webhook.create", id).await;
            to_secret(&post, &registered).await
        }
        Err(error) => {
            let message = post.message_of(error, &labels(post.lang()))?;
            let page = post.page_of(EndpointId::from_uuid);
            let endpoints = webhooks.list(post.account(), page).await?;
            let health = webhooks.health(post.account()).await?;
            let body = html! {
                (registration(&post, &post.fields, Some(&message), true))
                h2 { (post.t("Endpoints", "Puntos de conexión")) }
                (endpoints_table(&post, &endpoints.items, &health))
            };
            Ok(tab(
                &post,
                "/webhooks",
                StatusCode::UNPROCESSABLE_ENTITY,
                &body,
            ))
        }
    }
}

/// The answer of a form that made a secret: the page that shows it.
async fn to_secret(post: &Post<Developer>, registered: &Registered) -> Answer {
    let id = registered.view.endpoint.id;
    post.show_once(id.uuid(), &registered.secret).await?;
    Ok(post.go(&format!("/webhooks/{id}/secret"), ""))
}

/// `GET /portal/webhooks/{id}/secret`: the newest secret, once.
async fn show_secret(visit: Visit<Developer>) -> Answer {
    let id: EndpointId = visit.id("id")?;
    let view = visit.services().webhooks().get(visit.account(), id).await?;
    let secret = visit.shown_once(id.uuid()).await?;
    let title = visit.t("Signing secret", "Secreto de firma");
    let body = secret_once(&visit, &view.endpoint, secret.as_deref());
    Ok(visit.page(SECTION, title, &body))
}

fn secret_once(visitor: &Visitor, endpoint: &Endpoint, secret: Option<&str>) -> Markup {
    let t = visitor.lang();
    html! {
        p.lead {
            (t.t("This is the signing secret of ", "Este es el secreto de firma de "))
            strong.url { (endpoint.url) }
            "."
        }
        (secret::once(t, "secret", secret, t.t(
            "Store it where your server reads it. If you lose it, rotate it.",
            "Guárdalo donde tu servidor lo lea. Si lo pierdes, rótalo.",
        )))
        div.bar-of-actions {
            a.button.primary href={ (crate::PATH) "/webhooks/" (endpoint.id) } {
                (secret::done(t, secret, t.t("Back to the endpoint", "Volver al punto de conexión")))
            }
            a.button href={ (crate::PATH) "/quick-start/webhooks" } { (t.t("Verify signatures", "Verificar firmas")) }
        }
    }
}
