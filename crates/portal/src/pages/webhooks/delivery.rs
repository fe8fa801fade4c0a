//! One delivery: what was sent, when, and what the receiver answered.

use std::time::Duration;

use maud::{Markup, html};
use offhook_domain::{DeliveryId, MemberRole, Timestamp};
use offhook_services::store::{
    Attempt, AttemptOutcome, Delivery, DeliveryState, DeliveryStory, EndpointStatus, EndpointView,
};

use super::deliveries::endpoints;
use super::{SECTION, wording};
use crate::PATH;
use crate::lang::tell;
use crate::parts::{form, list, words};
use crate::trouble::{Answer, Result};
use crate::visit::{Developer, Post, Viewer, Visit, Visitor};

/// How long a page waits for an attempt that was asked for.
const WATCHED: Duration = Duration::from_secs(120);

/// One delivery with everything that is known of it.
pub(super) async fn show(visit: Visit<Viewer>) -> Answer {
    let body = draw(&visit, None).await?;
    Ok(visit.page(SECTION, title(&visit), &body))
}

fn title(visitor: &Visitor) -> &'static str {
    visitor.t("Delivery", "Entrega")
}

/// The page; `said` is why it is not sent again.
async fn draw(visitor: &Visitor, said: Option<&str>) -> Result<Markup> {
    let t = visitor.lang();
    let story = story(visitor).await?;
    let endpoints = endpoints(visitor).await?;
    let endpoint = endpoints
        .iter()
        .find(|view| view.endpoint.id == story.delivery.endpoint_id);
    Ok(html! {
        (form::refusal(said))
        (progress_part(visitor, &story))
        h2 { (t.t("Sent to", "Enviado a")) }
        p {
            @match endpoint {
                Some(view) => a.url href={ (PATH) "/webhooks/" (view.endpoint.id) } { (view.endpoint.url) },
                None => span.none { (t.t("an endpoint that is deleted", "un punto de conexión eliminado")) },
            }
        }
        h2 { (t.t("Payload", "Contenido")) }
        (payload(visitor, &story))
        @if visitor.may(MemberRole::Developer) && story.payload.is_some() { (again(visitor, &story, endpoint)) }
    })
}

/// What sends it once more, where that can be.
fn again(visitor: &Visitor, story: &DeliveryStory, endpoint: Option<&EndpointView>) -> Markup {
    let t = visitor.lang();
    let status = endpoint.map(|view| view.endpoint.status);
    html! {
        @if status.is_some() { h2 { (t.t("Send it again", "Enviar de nuevo")) } }
        @match status {
            None => {},
            Some(EndpointStatus::Disabled) => p.soft {
                (t.t(
                    "Its endpoint is disabled: enable it first.",
                    "Su punto de conexión está deshabilitado: habilítalo primero.",
                ))
            },
            Some(EndpointStatus::Enabled) => {
                p { (t.t(
                    "One more attempt is made with the same event id, besides the schedule. Your server discards what it has already processed.",
                    "Se hace un intento más con el mismo id de evento, fuera del calendario. Tu servidor descarta lo que ya procesó.",
                )) }
                (form::button(
                    visitor,
                    &format!("/webhooks/deliveries/{}/redeliver", story.delivery.id),
                    t.t("Send it again", "Enviar de nuevo"),
                    &[],
                ))
            },
        }
    }
}

async fn story(visitor: &Visitor) -> Result<DeliveryStory> {
    let webhooks = visitor.services().webhooks();
    let story = webhooks.delivery(visitor.account(), visitor.id("id")?);
    Ok(story.await?)
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
            @for attempt in &story.attempts { (attempt_card(visitor, attempt)) }
        }
    }
}

fn facts(visitor: &Visitor, delivery: &Delivery) -> Markup {
    let t = visitor.lang();
    html! {
        dl.facts {
            (list::fact(t.t("Event type", "Tipo de evento"), html! { code { (delivery.kind) } }))
            (list::fact(t.t("Event id", "Id del evento"), html! { code { (delivery.event_id) } }))
            (list::fact(t.t("Occurred", "Ocurrió"), words::when(delivery.created_at)))
            (list::fact(t.t("Scheduled attempts", "Intentos programados"), tell!(t, "{} of 4", "{} de 4", delivery.attempts_count)))
            (list::fact(t.t("Next attempt", "Próximo intento"), words::when_if(delivery.next_attempt_at)))
        }
    }
}

/// Whether something is about to change: a first attempt, one under way, or one that was asked for on this page.
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

fn attempt_card(visitor: &Visitor, attempt: &Attempt) -> Markup {
    let t = visitor.lang();
    let name = match attempt.number {
        0 => t.t("Asked for by hand", "Pedido a mano").to_owned(),
        number => tell!(t, "Attempt {number}", "Intento {number}"),
    };
    let dash = || html! { span.none { "–" } };
    html! {
        section.attempt {
            h3 { (name) " " (wording::attempt_badge(visitor, attempt)) }
            dl.facts {
                (list::fact(t.t("Begun", "Inició"), words::when(attempt.at)))
                (list::fact(t.t("Status", "Estado HTTP"), attempt.status_code.map_or_else(dash, |status| html! { (status) })))
                (list::fact(t.t("Duration", "Duración"), attempt.duration_ms.map_or_else(dash, |ms| html! { (ms) " ms" })))
                // Receivers see it as a header.
                (list::fact("X-Service-Delivery", html! { code { (attempt.id) } }))
            }
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
            p.soft { (t.t(
                "Payloads are kept for 14 days; this one is gone. Read the call instead.",
                "Los contenidos se conservan 14 días; este ya no está. Consulta la llamada.",
            )) }
        };
    };
    html! {
        p.soft { (t.t(
            "Byte for byte as it is sent and signed.",
            "Byte por byte como se envía y se firma.",
        )) }
        pre.wrapped #payload tabindex="0" { (String::from_utf8_lossy(bytes)) }
        p { button type="button" data-copy="payload" { (t.t("Copy", "Copiar")) } }
    }
}

pub(super) async fn redeliver(post: Post<Developer>) -> Answer {
    let id: DeliveryId = post.id("id")?;
    let asked = post.now();
    let webhooks = post.services().webhooks();
    let delivery = match webhooks.redeliver(post.account(), id).await {
        Ok(delivery) => delivery,
        Err(error) => {
            let said = post.told(error, &[])?;
            let body = draw(&post, Some(&said)).await?;
            return Ok(post.refused(SECTION, title(&post), &body));
        }
    };
    let said = post.t(
        "One more attempt is on its way.",
        "Un intento más va en camino.",
    );
    let (sent, asked) = (delivery.id, asked.micros());
    let path = format!("/webhooks/deliveries/{sent}?asked={asked}");
    post.done("webhook.redeliver", id, &path, said).await
}
