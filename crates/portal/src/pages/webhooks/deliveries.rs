//! Deliveries: the list, with its filters.

use actix_web::http::StatusCode;
use offhook_services::Page;
use offhook_services::store::{
    Delivery, DeliveryFilter, DeliveryState, EndpointDeliveryFilter, EndpointView,
};

use super::wording;
use crate::parts::period;
use crate::prelude::*;
use crate::visit::first;

/// The most endpoints that an account has, and the filter offers.
const ALL_ENDPOINTS: u32 = 20;

/// Every endpoint of the account.
pub(super) async fn endpoints(visitor: &Visitor) -> Result<Vec<EndpointView>> {
    let webhooks = visitor.services().webhooks();
    let all = webhooks.list(visitor.account(), first(ALL_ENDPOINTS));
    Ok(all.await?.items)
}

/// The list, with its filters.
pub(super) async fn history(visit: Visit<Viewer>) -> Answer {
    let t = visit.lang();
    let endpoints = endpoints(&visit).await?;
    let (page, message) = filtered(&visit).await?;
    let is_filtered = ["status", "type", "endpoint", "from", "to"]
        .iter()
        .any(|name| visit.query().get(name).is_some());
    let body = html! {
        p { (t.t(
            "Every event that was sent to an endpoint in the last 30 days. A failed delivery is retried three times within three hours.",
            "Cada evento enviado a un punto de conexión en los últimos 30 días. Una entrega fallida se reintenta tres veces en tres horas.",
        )) }
        (form::refusal(message))
        (filters(&visit, &endpoints))
        @if !page.items.is_empty() {
            (table(&visit, &page.items, &endpoints))
        } @else if is_filtered {
            (list::empty(
                t.t("No matching deliveries", "Ninguna entrega coincide"),
                t.t("Change the filters or clear them.", "Cambia los filtros o quítalos."),
                Some(("/webhooks/deliveries", t.t("All deliveries", "Todas las entregas"))),
            ))
        } @else {
            (list::empty(
                t.t("Nothing sent yet", "Aún no se envía nada"),
                t.t(
                    "Once you have an endpoint, deliveries appear here as soon as an event occurs. They are kept for 30 days.",
                    "Cuando tengas un punto de conexión, las entregas aparecen aquí en cuanto ocurre un evento. Se conservan 30 días.",
                ),
                Some(("/webhooks", t.t("Go to endpoints", "Ir a los puntos de conexión"))),
            ))
        }
        (list::more(&visit, &page, |delivery| (delivery.created_at, delivery.id.uuid())))
    };
    Ok(super::tab(
        &visit,
        "/webhooks/deliveries",
        StatusCode::OK,
        &body,
    ))
}

/// The page that the query asks for. Invalid filters are left out and reported.
async fn filtered(visit: &Visit<Viewer>) -> Result<(Page<Delivery>, Option<&'static str>)> {
    let (t, query) = (visit.lang(), visit.query());
    let mut message = None;
    let state = query.get("status").map(str::parse::<DeliveryState>);
    let state = state.transpose().unwrap_or_else(|_| {
        message = Some(t.t(
            "Unknown status. The list shows all deliveries.",
            "Ese estado no existe. La lista muestra todas las entregas.",
        ));
        None
    });
    let kind = query.get("type").map(str::parse::<EventType>);
    let kind = kind.transpose().unwrap_or_else(|_| {
        message = Some(t.t(
            "Unknown event type. The list shows all deliveries.",
            "Ese tipo de evento no existe. La lista muestra todas las entregas.",
        ));
        None
    });
    let page = visit.page_of(DeliveryId::from_uuid);
    let webhooks = visit.services().webhooks();
    if let Some(endpoint) = query.get("endpoint") {
        let endpoint = endpoint.parse().map_err(|_| Trouble::not_found())?;
        let filter = EndpointDeliveryFilter { state, kind };
        let page = webhooks.deliveries_to(visit.account(), endpoint, filter, page);
        return Ok((page.await?, message));
    }
    let ((since, until), wrong) = period::read(visit);
    let filter = DeliveryFilter {
        state,
        kind,
        endpoint: None,
        since,
        until,
    };
    let page = webhooks.deliveries(visit.account(), filter, page).await?;
    Ok((page, wrong.or(message)))
}

fn filters(visitor: &Visitor, endpoints: &[EndpointView]) -> Markup {
    let t = visitor.lang();
    let states = DeliveryState::ALL.iter();
    let kinds = EventType::ALL.iter();
    let places = endpoints.iter().map(|view| &view.endpoint);
    let any = t.t("Any", "Cualquiera");
    let is_of_one = visitor.query().get("endpoint").is_some();
    html! {
        form.filters method="get" action={ (crate::PATH) "/webhooks/deliveries" } {
            (list::filter(visitor, "status", t.t("Status", "Estado"), any,
                states.map(|state| (state.as_str(), wording::state_name(*state, t)))))
            (list::filter(visitor, "type", t.t("Event type", "Tipo de evento"), any,
                kinds.map(|kind| (kind.as_str(), kind.as_str()))))
            (list::filter(visitor, "endpoint", t.t("Endpoint", "Punto de conexión"), any,
                places.map(|endpoint| (endpoint.id.to_string(), endpoint.url.as_str()))))
            // The deliveries of one endpoint have no filter by day.
            @if !is_of_one { (period::fields(visitor)) }
            button type="submit" { (t.t("Filter", "Filtrar")) }
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
    let address = |delivery: &Delivery| {
        let mut all = endpoints.iter().map(|view| &view.endpoint);
        all.find(|endpoint| endpoint.id == delivery.endpoint_id)
    };
    html! {
        (Table::of(t.t("Deliveries", "Entregas"), deliveries)
            .column(t.t("Event", "Evento"), |delivery| html! {
                a href={ (crate::PATH) "/webhooks/deliveries/" (delivery.id) } { code { (delivery.kind) } }
            })
            .column(t.t("Status", "Estado"), |delivery| wording::state_badge(visitor, delivery.state))
            .number(t.t("Attempts", "Intentos"), |delivery| delivery.attempts_count)
            .column(t.t("Next attempt", "Próximo intento"), |delivery| words::when_if(delivery.next_attempt_at))
            .column(t.t("Occurred", "Ocurrió"), |delivery| words::when_exactly(delivery.created_at))
            .column_if(!endpoints.is_empty(), t.t("Endpoint", "Punto de conexión"), |delivery| html! {
                @match address(delivery) {
                    Some(endpoint) => a.url href={ (crate::PATH) "/webhooks/" (endpoint.id) } { (endpoint.url) },
                    None => span.none { (t.t("deleted", "eliminado")) },
                }
            }))
    }
}
