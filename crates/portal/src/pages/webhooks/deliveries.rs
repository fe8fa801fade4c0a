//! What was sent, when, and what the receivers answered.

use std::time::Duration;

use maud::{Markup, html};
use offhook_domain::{DeliveryId, EndpointId, EventType, MemberRole, Timestamp};
use offhook_services::store::{
    Attempt, AttemptOutcome, Delivery, DeliveryFilter, DeliveryState, DeliveryStory,
    EndpointDeliveryFilter, EndpointView,
};
use offhook_services::{Page, PageRequest};

use super::{SECTION, wording};
use crate::lang::Lang;
use crate::parts::{form, list, words};
use crate::trouble::{Answer, Trouble};
use crate::visit::{Developer, Post, Viewer, Visit, Visitor};

/// How many endpoints the filter offers: an account has no more.
const ALL_ENDPOINTS: u32 = 20;

/// How long a page waits for an attempt that was asked for.
const WATCHED: Duration = Duration::from_secs(120);

async fn endpoints(visitor: &Visitor) -> Result<Vec<EndpointView>, Trouble> {
    let page = PageRequest {
        after: None::<(_, EndpointId)>,
        limit: ALL_ENDPOINTS,
    };
    let webhooks = visitor.services().webhooks();
    Ok(webhooks.list(visitor.account(), page).await?.items)
}

/// The list, with its filters.
pub(super) async fn history(visit: Visit<Viewer>) -> Answer {
    let t = visit.lang();
    let endpoints = endpoints(&visit).await?;
    let page = filtered(&visit).await?;
    let last = page
        .items
        .last()
        .map(|delivery| (delivery.created_at, delivery.id.uuid()));
    let is_filtered = ["status", "type", "endpoint", "from", "to"]
        .iter()
        .any(|name| visit.query().get(name).is_some());
    let body = html! {
        (filters(&visit, &endpoints))
        @if !page.items.is_empty() {
            (table(&visit, &page.items, &endpoints))
        } @else if is_filtered {
            (list::empty(
                t.t("Nothing matches", "Nada coincide"),
                t.t("No delivery matches these filters. Widen them.", "Ninguna entrega coincide con estos filtros. Amplíalos."),
                Some(("/webhooks/deliveries", t.t("All deliveries", "Todas las entregas"))),
            ))
        } @else {
            (list::empty(
                t.t("Nothing sent yet", "Aún no se envía nada"),
                t.t(
                    "Deliveries appear here as soon as an event occurs while an endpoint is registered. They are kept for 30 days.",
                    "Las entregas aparecen aquí cuando ocurre un evento con un punto de conexión registrado. Se conservan 30 días.",
                ),
                Some(("/webhooks", t.t("To the endpoints", "A los puntos de conexión"))),
            ))
        }
        (list::more(&visit, page.has_more, last))
    };
    let title = t.t("Delivery history", "Historial de entregas");
    Ok(visit.page(SECTION, title, &body))
}

/// The page that the query asks for; what it says wrong filters nothing.
async fn filtered(visit: &Visit<Viewer>) -> Result<Page<Delivery>, Trouble> {
    let query = visit.query();
    let state = query.text("status").parse::<DeliveryState>().ok();
    let kind = query.text("type").parse::<EventType>().ok();
    let page = visit.page_of(DeliveryId::from_uuid);
    let webhooks = visit.services().webhooks();
    if let Some(endpoint) = query.get("endpoint") {
        let endpoint = endpoint.parse().map_err(|_| Trouble::not_found())?;
        let filter = EndpointDeliveryFilter { state, kind };
        return Ok(webhooks
            .deliveries_to(visit.account(), endpoint, filter, page)
            .await?);
    }
    let filter = DeliveryFilter {
        state,
        kind,
        since: query
            .get("from")
            .and_then(|text| Timestamp::parse_from(text).ok()),
        until: query
            .get("to")
            .and_then(|text| Timestamp::parse_to(text).ok()),
    };
    Ok(webhooks.deliveries(visit.account(), filter, page).await?)
}

fn filters(visitor: &Visitor, endpoints: &[EndpointView]) -> Markup {
    let (t, query) = (visitor.lang(), visitor.query());
    let states = DeliveryState::ALL.iter();
    let states = states.map(|state| (state.as_str(), wording::state_name(*state, t)));
    let kinds = EventType::ALL
        .iter()
        .map(|kind| (kind.as_str(), kind.as_str()));
    let places = endpoints.iter();
    let places = places.map(|view| (view.endpoint.id.to_string(), view.endpoint.url.clone()));
    let is_of_one = query.get("endpoint").is_some();
    html! {
        form.filters method="get" action={ (crate::PATH) "/webhooks/deliveries" } {
            (form::Select::new("status", t.t("State", "Estado"))
                .option("", t.t("Any", "Cualquiera")).options(states).chosen(query.text("status")))
            (form::Select::new("type", t.t("Event type", "Tipo de evento"))
                .option("", t.t("Any", "Cualquiera")).options(kinds).chosen(query.text("type")))
            (form::Select::new("endpoint", t.t("Endpoint", "Punto de conexión"))
                .option("", t.t("Any", "Cualquiera")).options(places).chosen(query.text("endpoint")))
            // The history of one endpoint goes by its own order, not by days.
            @if !is_of_one {
                (form::Input::text("from", t.t("From (UTC)", "Desde (UTC)")).kind("date").value(query.text("from")))
                (form::Input::text("to", t.t("To (UTC)", "Hasta (UTC)")).kind("date").value(query.text("to")))
            }
            button type="submit" { (t.t("Show", "Mostrar")) }
        }
    }
}

/// Deliveries; with the address of each where `endpoints` are given.
pub(super) fn table(
    visitor: &Visitor,
    deliveries: &[Delivery],
    endpoints: &[EndpointView],
) -> Markup {
    let t = visitor.lang();
    let mut heads = vec![
        t.t("Event", "Evento"),
        t.t("State", "Estado"),
        t.t("Attempts", "Intentos"),
        t.t("Next attempt", "Próximo intento"),
        t.t("Occurred", "Ocurrió"),
    ];
    let shows_endpoint = !endpoints.is_empty();
    if shows_endpoint {
        heads.push(t.t("Endpoint", "Punto de conexión"));
    }
    let address = |delivery: &Delivery| {
        let mut all = endpoints.iter().map(|view| &view.endpoint);
        all.find(|endpoint| endpoint.id == delivery.endpoint_id)
    };
    let row = |delivery: &Delivery| {
        html! {
            tr {
                td { a href={ (crate::PATH) "/webhooks/deliveries/" (delivery.id) } { code { (delivery.kind) } } }
                td { (wording::state_badge(visitor, delivery.state)) }
                td.number { (delivery.attempts_count) }
                td { (words::when_if(delivery.next_attempt_at)) }
                td { (words::when(delivery.created_at)) }
                @if shows_endpoint {
                    td {
                        @match address(delivery) {
                            Some(endpoint) => a.url href={ (crate::PATH) "/webhooks/" (endpoint.id) } { (endpoint.url) },
                            None => span.none { (t.t("deleted", "eliminado")) },
                        }
                    }
                }
            }
        }
    };
    let rows: Vec<Markup> = deliveries.iter().map(row).collect();
    list::table(t.t("Deliveries", "Entregas"), &heads, &rows)
}

/// One delivery with everything that is known of it.
pub(super) async fn delivery(visit: Visit<Viewer>) -> Answer {
    let t = visit.lang();
    let story = story(&visit).await?;
    let endpoints = endpoints(&visit).await?;
    let endpoint = endpoints
        .iter()
        .find(|view| view.endpoint.id == story.delivery.endpoint_id);
    let body = html! {
        (progress_part(&visit, &story))
        h2 { (t.t("Sent to", "Enviado a")) }
        p {
            @match endpoint {
                Some(view) => a.url href={ (crate::PATH) "/webhooks/" (view.endpoint.id) } { (view.endpoint.url) },
                None => span.none { (t.t("an endpoint that is deleted", "un punto de conexión eliminado")) },
            }
        }
        h2 { (t.t("Payload", "Contenido")) }
        (payload(&visit, &story))
        @if endpoint.is_some() && story.payload.is_some() && visit.may(MemberRole::Developer) {
            h2 { (t.t("Send it again", "Enviar de nuevo")) }
            p {
                (t.t(
                    "One more attempt is made with the same event id, besides the schedule. Your server discards what it has already processed.",
                    "Se hace un intento más con el mismo id de evento, fuera del calendario. Tu servidor descarta lo que ya procesó.",
                ))
            }
            (form::button(
                &visit,
                &format!("/webhooks/deliveries/{}/redeliver", story.delivery.id),
                t.t("Send it again", "Enviar de nuevo"),
                &[],
            ))
        }
    };
    Ok(visit.page(SECTION, t.t("Delivery", "Entrega"), &body))
}

async fn story(visit: &Visit<Viewer>) -> Result<DeliveryStory, Trouble> {
    let webhooks = visit.services().webhooks();
    Ok(webhooks.delivery(visit.account(), visit.id("id")?).await?)
}

/// The part of the page that changes while it is looked at.
pub(super) async fn progress(visit: Visit<Viewer>) -> Answer {
    let story = story(&visit).await?;
    Ok(visit.part(&progress_part(&visit, &story)))
}

/// Facts and attempts; it asks for itself again while an attempt is awaited.
fn progress_part(visitor: &Visitor, story: &DeliveryStory) -> Markup {
    let t = visitor.lang();
    let delivery = &story.delivery;
    let asked = visitor.query().get("asked");
    let mut source = format!(
        "{}/webhooks/deliveries/{}/attempts",
        crate::PATH,
        delivery.id
    );
    if let Some(asked) = asked.filter(|text| text.bytes().all(|byte| byte.is_ascii_digit())) {
        source.push_str("?asked=");
        source.push_str(asked);
    }
    let polls = is_awaited(visitor, story).then_some("every 2s");
    html! {
        div #progress hx-get=[polls.map(|_| &source)] hx-trigger=[polls] hx-swap=[polls.map(|_| "outerHTML")] {
            p { (wording::state_badge(visitor, delivery.state)) " " (wording::state_told(delivery.state, t)) }
            (facts(visitor, delivery))
            h2 { (t.t("Attempts", "Intentos")) }
            @if story.attempts.is_empty() {
                p.soft { (t.t("None yet.", "Ninguno todavía.")) }
            }
            @for attempt in &story.attempts { (attempt_card(visitor, attempt)) }
        }
    }
}

fn facts(visitor: &Visitor, delivery: &Delivery) -> Markup {
    let t = visitor.lang();
    list::facts(&[
        (
            t.t("Event type", "Tipo de evento"),
            html! { code { (delivery.kind) } },
        ),
        (
            t.t("Event id", "Id del evento"),
            html! { code { (delivery.event_id) } },
        ),
        (t.t("Occurred", "Ocurrió"), words::when(delivery.created_at)),
        (
            t.t("Scheduled attempts", "Intentos programados"),
            match t {
                Lang::En => html! { (delivery.attempts_count) " of 4" },
                Lang::Es => html! { (delivery.attempts_count) " de 4" },
            },
        ),
        (
            t.t("Next attempt", "Próximo intento"),
            words::when_if(delivery.next_attempt_at),
        ),
    ])
}

/// Whether something is about to change: a first attempt, one under way, or one that was asked for on this page.
fn is_awaited(visitor: &Visitor, story: &DeliveryStory) -> bool {
    let now = visitor.now();
    let under_way = |attempt: &Attempt| {
        attempt.outcome == AttemptOutcome::Begun && now.since(attempt.at) < WATCHED
    };
    let is_first = story.delivery.state == DeliveryState::Pending
        && now.since(story.delivery.created_at) < WATCHED;
    let asked = visitor
        .query()
        .get("asked")
        .and_then(|text| text.parse().ok());
    let is_asked = asked.map(Timestamp::from_micros).is_some_and(|asked| {
        let answered = story
            .attempts
            .iter()
            .any(|attempt| attempt.number == 0 && attempt.at >= asked);
        !answered && now.since(asked) < WATCHED
    });
    is_first || is_asked || story.attempts.iter().any(under_way)
}

fn attempt_card(visitor: &Visitor, attempt: &Attempt) -> Markup {
    let t = visitor.lang();
    let name = match (attempt.number, t) {
        (0, lang) => lang.t("Asked for by hand", "Pedido a mano").to_owned(),
        (number, Lang::En) => format!("Attempt {number}"),
        (number, Lang::Es) => format!("Intento {number}"),
    };
    let dash = || html! { span.none { "–" } };
    html! {
        section.attempt {
            h3 { (name) " " (wording::attempt_badge(visitor, attempt)) }
            (list::facts(&[
                (t.t("Begun", "Inició"), words::when(attempt.at)),
                (
                    t.t("Status", "Estado HTTP"),
                    attempt.status_code.map_or_else(dash, |status| html! { (status) }),
                ),
                (
                    t.t("Duration", "Duración"),
                    attempt.duration_ms.map_or_else(dash, |ms| html! { (ms) " ms" }),
                ),
                (
                    // Receivers see it as a header.
                    "X-Service-Delivery",
                    html! { code { (attempt.id) } },
                ),
            ]))
            @if let Some(error) = &attempt.error {
                p.failure { (wording::failure(error, t)) }
            }
            @if let Some(answer) = attempt.response_snippet.as_deref().filter(|text| !text.is_empty()) {
                details {
                    summary { (t.t("What your server answered (first KiB)", "Qué respondió tu servidor (primer KiB)")) }
                    pre.wrapped tabindex="0" { (answer) }
                }
            }
        }
    }
}

/// The exact bytes that are signed and sent.
fn payload(visitor: &Visitor, story: &DeliveryStory) -> Markup {
    let t = visitor.lang();
    let Some(bytes) = &story.payload else {
        return html! {
            p.soft {
                (t.t(
                    "Payloads are kept for 14 days; this one is gone. Read the call instead.",
                    "Los contenidos se conservan 14 días; este ya no está. Consulta la llamada.",
                ))
            }
        };
    };
    html! {
        p.soft {
            (t.t(
                "Byte for byte as it is sent and signed.",
                "Byte por byte como se envía y se firma.",
            ))
        }
        pre.wrapped #payload tabindex="0" { (String::from_utf8_lossy(bytes)) }
        p { button type="button" data-copy="payload" { (t.t("Copy", "Copiar")) } }
    }
}

pub(super) async fn redeliver(post: Post<Developer>) -> Answer {
    let t = post.lang();
    let id: DeliveryId = post.id("id")?;
    let asked = post.now();
    let delivery = post
        .services()
        .webhooks()
        .redeliver(post.account(), id)
        .await?;
    let said = t.t(
        "One more attempt is on its way.",
        "Un intento más va en camino.",
    );
    let path = format!(
        "/webhooks/deliveries/{}?asked={}",
        delivery.id,
        asked.micros()
    );
    post.done("webhook.redeliver", &id.to_string(), &path, said)
        .await
}
