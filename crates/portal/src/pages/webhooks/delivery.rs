//! One delivery: payload, attempts, responses.

use std::time::Duration;

use offhook_services::store::{
    Attempt, AttemptOutcome, Delivery, DeliveryState, DeliveryStory, EndpointStatus, EndpointView,
};

use super::deliveries::endpoints;
use super::{SECTION, wording};
use crate::pages::agents::document::pretty;
use crate::parts::{json, sample};
use crate::prelude::*;

/// How long the page polls for a requested attempt.
const WATCHED: Duration = Duration::from_secs(120);

/// One delivery with everything that is known of it.
pub(super) async fn show(visit: Visit<Viewer>) -> Answer {
    let body = draw(&visit, None).await?;
    Ok(visit.page(SECTION, title(&visit), &body))
}

fn title(visitor: &Visitor) -> &'static str {
    visitor.t("Delivery", "Entrega")
}

/// The page; `said` is why it was not resent.
async fn draw(visitor: &Visitor, message: Option<&str>) -> Result<Markup> {
    let t = visitor.lang();
    let story = story(visitor).await?;
    let endpoints = endpoints(visitor).await?;
    let endpoint = endpoints
        .iter()
        .find(|view| view.endpoint.id == story.delivery.endpoint_id);
    Ok(html! {
        (form::refusal(message))
        @if visitor.may(MemberRole::Developer) && story.payload.is_some() { (again(visitor, &story, endpoint)) }
        p.lead {
            (t.t("Sent to ", "Enviado a "))
            @match endpoint {
                Some(view) => a.url href={ (PATH) "/webhooks/" (view.endpoint.id) } { (view.endpoint.url) },
                None => (t.t("a deleted endpoint", "un punto de conexión eliminado")),
            }
        }
        div.split {
            (progress_part(visitor, &story))
            div {
                h2 { (t.t("Payload", "Contenido")) }
                (payload(visitor, &story))
            }
        }
    })
}

/// The button that resends it, if that is possible.
fn again(visitor: &Visitor, story: &DeliveryStory, endpoint: Option<&EndpointView>) -> Markup {
    let t = visitor.lang();
    let status = endpoint.map(|view| view.endpoint.status);
    html! {
        @match status {
            None => {},
            Some(EndpointStatus::Disabled) => p.soft {
                (t.t(
                    "Its endpoint is disabled. Enable it first.",
                    "Su punto de conexión está deshabilitado. Habilítalo primero.",
                ))
            },
            Some(EndpointStatus::Enabled) => {
                div.page-actions {
                    (form::button(
                        visitor,
                        &format!("/webhooks/deliveries/{}/redeliver", story.delivery.id),
                        t.t("Resend", "Reenviar"),
                        &[],
                    ))
                }
                p.soft { (t.t(
                    "Resending makes one more attempt with the same event ID, outside the schedule. Your server should discard events it has already processed.",
                    "Al reenviar se hace un intento más con el mismo ID de evento, fuera del calendario. Tu servidor debe descartar los eventos que ya procesó.",
                )) }
            },
        }
    }
}

async fn story(visitor: &Visitor) -> Result<DeliveryStory> {
    let webhooks = visitor.services().webhooks();
    let story = webhooks.delivery(visitor.account(), visitor.id("id")?);
    Ok(story.await?)
}

/// The part of the page that is polled.
pub(super) async fn progress(visit: Visit<Viewer>) -> Answer {
    let story = story(&visit).await?;
    Ok(visit.part(&progress_part(&visit, &story)))
}

/// Facts and attempts; it polls while an attempt is expected.
fn progress_part(visitor: &Visitor, story: &DeliveryStory) -> Markup {
    let t = visitor.lang();
    let delivery = &story.delivery;
    let asked = visitor.query().get("asked");
    let mut source = format!("{PATH}/webhooks/deliveries/{}/attempts", delivery.id);
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
            @for attempt in &story.attempts { (attempt_card(visitor, delivery, attempt)) }
        }
    }
}

fn facts(visitor: &Visitor, delivery: &Delivery) -> Markup {
    let t = visitor.lang();
    html! {
        dl.facts {
            (list::fact(t.t("Event type", "Tipo de evento"), html! { code { (delivery.kind) } }))
            (list::copied(t, "event", t.t("Event ID", "ID del evento"), delivery.event_id))
            (list::fact(t.t("Occurred", "Ocurrió"), words::when(delivery.created_at)))
            (list::fact(t.t("Scheduled attempts", "Intentos programados"), text!(t, "{} of 4", "{} de 4", delivery.attempts_count)))
            (list::fact(t.t("Next attempt", "Próximo intento"), words::when_if(delivery.next_attempt_at)))
        }
    }
}

/// Whether a change is expected: a first attempt, one in progress, or one requested on this page.
fn is_awaited(visitor: &Visitor, story: &DeliveryStory) -> bool {
    let now = visitor.now();
    let under_way = |attempt: &Attempt| {
        attempt.outcome == AttemptOutcome::Begun && now.since(attempt.at) < WATCHED
    };
    let is_first = story.delivery.state == DeliveryState::Pending
        && now.since(story.delivery.created_at) < WATCHED;
    let asked = visitor.query().text("asked").parse();
    let is_asked = asked.map(Timestamp::from_micros).is_ok_and(|asked| {
        let is_its_own = |attempt: &Attempt| attempt.number == 0 && attempt.at >= asked;
        !story.attempts.iter().any(is_its_own) && now.since(asked) < WATCHED
    });
    is_first || is_asked || story.attempts.iter().any(under_way)
}

fn attempt_card(visitor: &Visitor, delivery: &Delivery, attempt: &Attempt) -> Markup {
    let t = visitor.lang();
    let name = match attempt.number {
        0 => t.t("Manual", "Manual").to_owned(),
        number => text!(t, "Attempt {number}", "Intento {number}"),
    };
    let dash = || html! { span.none { "–" } };
    html! {
        section.attempt {
            h3 { (name) " " (wording::attempt_badge(visitor, attempt)) }
            dl.facts {
                (list::fact(t.t("Started", "Inició"), words::when_exactly(attempt.at)))
                (list::fact(t.t("HTTP status", "Estado HTTP"), attempt.status_code.map_or_else(dash, |status| html! { (status) })))
                (list::fact(t.t("Duration", "Duración"), attempt.duration_ms.map_or_else(dash, |ms| html! { (ms) " ms" })))
            }
            (headers(visitor, delivery, attempt))
            @if let Some(error) = &attempt.error {
                p.failure { (wording::failure(error, t)) }
            }
            @if let Some(answer) = attempt.response_snippet.as_deref().filter(|text| !text.is_empty()) {
                details {
                    summary { (t.t("Response body (first KiB)", "Cuerpo de la respuesta (primer KiB)")) }
                    pre.wrapped tabindex="0" { (json::colored(answer)) }
                }
            }
        }
    }
}

/// The headers that an attempt sent. Its signature is not stored.
fn headers(visitor: &Visitor, delivery: &Delivery, attempt: &Attempt) -> Markup {
    let t = visitor.lang();
    let signature = format!("t={},v1=…", attempt.at.unix_seconds());
    html! {
        details {
            summary { (t.t("Request headers", "Encabezados de la solicitud")) }
            pre.wrapped tabindex="0" {
                "Content-Type: application/json\n"
                "User-Agent: Service-Webhook/1.0\n"
                "X-Service-Event: " (delivery.kind) "\n"
                "X-Service-Event-Id: " (delivery.event_id) "\n"
                "X-Service-Delivery: " (attempt.id) "\n"
                "X-Service-Signature: " (signature)
            }
            p.soft { (t.t(
                "The signature itself is not stored.",
                "La firma en sí no se guarda.",
            )) }
        }
    }
}

/// The exact bytes that are signed and sent, and the same for reading.
fn payload(visitor: &Visitor, story: &DeliveryStory) -> Markup {
    let t = visitor.lang();
    let Some(bytes) = &story.payload else {
        return html! {
            p.soft { (t.t(
                "Payloads are kept for 14 days; this one has been deleted. See the call instead.",
                "Los contenidos se conservan 14 días; este ya se eliminó. Consulta la llamada.",
            )) }
        };
    };
    html! {
        @if let Ok(json) = Json::parse(bytes) { (sample::code(t, "pretty", "JSON", &pretty(&json))) }
        details {
            summary { (t.t(
                "Exactly as it is sent and signed",
                "Exactamente como se envía y se firma",
            )) }
            (sample::code(t, "payload", t.t("Body", "Cuerpo"), &String::from_utf8_lossy(bytes)))
        }
    }
}

pub(super) async fn redeliver(post: Post<Developer>) -> Answer {
    let id: DeliveryId = post.id("id")?;
    let asked = post.now();
    let webhooks = post.services().webhooks();
    let delivery = match webhooks.redeliver(post.account(), id).await {
        Ok(delivery) => delivery,
        Err(error) => {
            let message = post.message_of(error, &[])?;
            let body = draw(&post, Some(&message)).await?;
            return Ok(post.refused(SECTION, title(&post), &body));
        }
    };
    let message = post.t("Attempt queued.", "Intento en cola.");
    let (sent, asked) = (delivery.id, asked.micros());
    let path = format!("/webhooks/deliveries/{sent}?asked={asked}");
    post.done("webhook.redeliver", id, &path, message).await
}
