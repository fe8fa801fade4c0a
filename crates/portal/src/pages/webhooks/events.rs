//! Event types and an example of each.

use actix_web::http::StatusCode;
use offhook_services::event_example;

use crate::pages::agents::document::pretty;
use crate::parts::sample;
use crate::prelude::*;

wording! {
    /// When an event of a type is sent.
    pub(super) meaning(EventType) {
        CallInitiated => "A call was placed through the API.", "Se inició una llamada por la API.";
        CallCompleted => "A call ended successfully.", "Una llamada terminó con éxito.";
        CallFailed => "A call ended with an error or was not answered.",
            "Una llamada terminó con un error o no fue contestada.";
        BillingThreshold => "This month's cost or the balance passed a threshold set under Billing. Once per threshold and month.",
            "El costo de este mes o el saldo pasó un límite configurado en Facturación. Una vez por límite y mes.";
        ContactOptedOut => "A customer asked not to be called again. Once per conversation.",
            "Un cliente pidió que no se le vuelva a llamar. Una vez por conversación.";
        CampaignCompleted => "Every recipient of a campaign has been called.",
            "Se llamó a todos los destinatarios de una campaña.";
        CampaignPaused => "A campaign starts no more calls: someone paused it, it lacks credits or a number, or its calls fail.",
            "Una campaña no inicia más llamadas: alguien la pausó, le faltan créditos o un número, o sus llamadas fallan.";
    }
}

/// Every event type with an example, and the headers.
pub(super) async fn catalog(visit: Visit<Viewer>) -> Answer {
    let t = visit.lang();
    let example = |kind: EventType| -> Markup {
        let body = Json::parse(&event_example(kind))
            .as_ref()
            .map_or_else(|_| String::new(), pretty);
        html! {
            section {
                h2 { code { (kind) } }
                p { (meaning(kind, t)) }
                (sample::code(t, kind.as_str(), "JSON", &body))
            }
        }
    };
    let headers = [
        ("Content-Type", "application/json"),
        ("User-Agent", "Service-Webhook/1.0"),
        ("X-Service-Signature", "t=<unix seconds>,v1=<hex sha256>"),
        (
            "X-Service-Event",
            t.t("the event type", "el tipo del evento"),
        ),
        (
            "X-Service-Event-Id",
            t.t(
                "the event ID: use it to discard duplicates",
                "el ID del evento: úsalo para descartar duplicados",
            ),
        ),
        (
            "X-Service-Delivery",
            t.t("a new ID for each attempt", "un ID nuevo por cada intento"),
        ),
    ];
    let body = html! {
        p { (t.t(
            "Each event is one HTTPS POST. Respond with 200 within 10 seconds and do slow work afterward. Failed attempts are retried after 5 minutes, 30 minutes and 2 hours.",
            "Cada evento es un POST por HTTPS. Responde 200 en 10 segundos y deja lo lento para después. Los intentos fallidos se reintentan a los 5 minutos, 30 minutos y 2 horas.",
        )) }
        @for kind in EventType::ALL { (example(*kind)) }
        h2 { (t.t("Headers", "Encabezados")) }
        dl.facts {
            @for (name, value) in headers { div { dt { code { (name) } } dd { (value) } } }
        }
        p {
            a href={ (crate::PATH) "/quick-start/webhooks" } {
                (t.t("How to verify the signature", "Cómo verificar la firma"))
            }
        }
    };
    Ok(super::tab(
        &visit,
        "/webhooks/events",
        StatusCode::OK,
        &body,
    ))
}
