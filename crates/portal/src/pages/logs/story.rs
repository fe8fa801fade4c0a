//! A request's full story: how it was answered, the conversations that it placed or asked for, and what was sent of
//! them to webhooks.

use std::time::Duration;

use maud::{Markup, html};
use offhook_domain::{CallHandle, CallState, ConversationId, RequestId};
use offhook_http::Code;
use offhook_services::PageRequest;
use offhook_services::store::{
    ApiKey, ConversationFilter, ConversationView, Delivery, DeliveryState, LogEntry, LogFilter,
};

use super::answer;
use crate::PATH;
use crate::lang::Lang;
use crate::layout::Section;
use crate::parts::list;
use crate::parts::words::{Tone, badge, when, when_if};
use crate::trouble::{Answer, Trouble};
use crate::visit::{Viewer, Visit, Visitor};

/// Requests of one id that are told: a client may choose ids, and one twice.
const MOST: u32 = 20;

/// Conversations that may have begun while a request ran.
const BEGUN: u32 = 100;

/// One request with what belongs to it.
struct Told {
    entry: LogEntry,
    conversations: Vec<(ConversationView, Vec<Delivery>)>,
}

/// `GET /portal/logs/{id}`: the id is the request's.
pub(super) async fn show(visit: Visit<Viewer>) -> Answer {
    let t = visit.lang();
    let id: RequestId = visit.id("id")?;
    let filter = LogFilter {
        request: Some(id),
        ..LogFilter::default()
    };
    let page = PageRequest {
        after: None,
        limit: MOST,
    };
    let logs = visit.services().request_logs();
    let entries = logs.list(visit.account(), filter, page).await?.items;
    if entries.is_empty() {
        return Err(Trouble::not_found());
    }
    let keys = visit.services().keys().list(visit.account()).await?;
    let mut told = Vec::with_capacity(entries.len());
    for entry in entries {
        let conversations = conversations(&visit, &entry).await?;
        told.push(Told {
            entry,
            conversations,
        });
    }
    let body = html! {
        @for told in &told { (story(told, &keys, t)) }
        p { a href={ (PATH) "/logs" } { (t.t("All requests", "Todas las solicitudes")) } }
    };
    Ok(visit.page(
        Section::Logs,
        t.t("A request's story", "Historia de una solicitud"),
        &body,
    ))
}

/// The conversation that the path names, or those that the key began while the request ran.
async fn conversations(
    visitor: &Visitor,
    entry: &LogEntry,
) -> Result<Vec<(ConversationView, Vec<Delivery>)>, Trouble> {
    let services = visitor.services();
    let all = services.conversations();
    let mut views = Vec::new();
    if let Some(id) = named(&entry.path) {
        views.extend(all.get(visitor.caller(), id, false).await?);
    } else if entry.method == "POST" && (200..300).contains(&entry.status) {
        let took = u64::try_from(entry.duration_ms).unwrap_or(0);
        // The log's milliseconds are whole ones.
        let end = entry.created_at.plus(Duration::from_millis(took + 1));
        let filter = ConversationFilter {
            since: Some(entry.created_at),
            until: Some(end),
            ..ConversationFilter::default()
        };
        let page = PageRequest {
            after: None,
            limit: BEGUN,
        };
        let begun = all.list(visitor.caller(), filter, page).await?.items;
        let of_key = |view: &ConversationView| view.conversation.key_id == Some(entry.key_id);
        views.extend(begun.into_iter().filter(of_key));
    }
    let mut told = Vec::with_capacity(views.len());
    for view in views {
        let id = view.conversation.id;
        let sent = services
            .webhooks()
            .of_conversation(visitor.account(), id)
            .await?;
        told.push((view, sent));
    }
    Ok(told)
}

/// The conversation that a path of the interface is about.
fn named(path: &str) -> Option<ConversationId> {
    let rest = path.strip_prefix("/v1/")?;
    let (kind, rest) = rest.split_once('/')?;
    let id = rest.split('/').next()?;
    match kind {
        "calls" | "conversations" => {
            let handle = id.parse().map(|CallHandle(id)| id);
            handle.or_else(|_| id.parse()).ok()
        }
        _ => None,
    }
}

fn story(told: &Told, keys: &[ApiKey], t: Lang) -> Markup {
    let entry = &told.entry;
    let key = keys.iter().find(|key| key.id == entry.key_id);
    let why = entry.error.as_deref().and_then(|code| reason(code, t));
    html! {
        h2 { code { (entry.method) " " (entry.path) } }
        (list::facts(&[
            (t.t("Answer", "Respuesta"), answer(entry)),
            (t.t("When", "Cuándo"), when(entry.created_at)),
            (t.t("Took", "Tardó"), html! { (entry.duration_ms) " ms" }),
            (t.t("Key", "Clave"), html! {
                @if let Some(key) = key { (key.name) " " }
                code { (entry.key_prefix) }
            }),
            (t.t("From", "Desde"), html! { (entry.ip) }),
            (t.t("Request id", "Id de solicitud"), html! { code { (entry.request_id) } }),
        ]))
        @if let Some(why) = why { p { (why) } }
        h3 { (t.t("Conversation", "Conversación")) }
        @if told.conversations.is_empty() {
            p.soft { (t.t("It has to do with none.", "No tiene que ver con ninguna.")) }
        }
        @if named(&entry.path).is_none() && told.conversations.len() > 1 {
            p.soft { (t.t(
                "Several began by this key while the request ran; the answer that your program got names its own.",
                "Varias comenzaron con esta clave mientras corría la solicitud; la respuesta que recibió tu programa nombra la suya.",
            )) }
        }
        @for (view, sent) in &told.conversations {
            (conversation(view, t))
            (deliveries(sent, t))
        }
    }
}

fn conversation(view: &ConversationView, t: Lang) -> Markup {
    let conversation = &view.conversation;
    let (tone, state) = match conversation.state {
        CallState::Completed => (Tone::Good, t.t("Completed", "Completada")),
        CallState::Failed => (Tone::Bad, t.t("Failed", "Falló")),
        CallState::Queued => (Tone::Busy, t.t("Waiting", "En espera")),
        CallState::Dialing => (Tone::Busy, t.t("Dialing", "Marcando")),
        CallState::Live | CallState::Closing => (Tone::Busy, t.t("Under way", "En curso")),
    };
    list::facts(&[
        (
            t.t("Conversation", "Conversación"),
            html! {
                a href={ (PATH) "/conversations/" (conversation.id) } { (CallHandle(conversation.id)) }
            },
        ),
        (
            t.t("Agent", "Agente"),
            html! {
                a href={ (PATH) "/agents/" (conversation.agent_id) } { (view.agent_name) }
            },
        ),
        (
            t.t("State", "Estado"),
            html! {
                (badge(tone, state))
                @if let Some(reason) = conversation.failure_reason { " " (reason.as_str()) }
            },
        ),
        (t.t("Began", "Comenzó"), when(conversation.started_at)),
        (t.t("Ended", "Terminó"), when_if(conversation.ended_at)),
    ])
}

fn deliveries(sent: &[Delivery], t: Lang) -> Markup {
    let heads = [
        t.t("Event", "Evento"),
        t.t("State", "Estado"),
        t.t("Attempts", "Intentos"),
        t.t("When", "Cuándo"),
    ];
    let rows: Vec<Markup> = sent
        .iter()
        .map(|delivery| {
            html! {
                tr {
                    td { a href={ (PATH) "/webhooks/deliveries/" (delivery.id) } { (delivery.kind) } }
                    td { (delivered(delivery.state, t)) }
                    td { (delivery.attempts_count) }
                    td { (when(delivery.created_at)) }
                }
            }
        })
        .collect();
    html! {
        h3 { (t.t("Webhook deliveries", "Entregas de webhooks")) }
        @if rows.is_empty() {
            p.soft { (t.t("Nothing was sent of it.", "No se envió nada de ella.")) }
        } @else { (list::table(t.t("Webhook deliveries", "Entregas de webhooks"), &heads, &rows)) }
    }
}

fn delivered(state: DeliveryState, t: Lang) -> Markup {
    let (tone, text) = match state {
        DeliveryState::Pending => (Tone::Busy, t.t("Waiting", "En espera")),
        DeliveryState::Retrying => (Tone::Busy, t.t("Tried again", "Se reintenta")),
        DeliveryState::Delivered => (Tone::Good, t.t("Received", "Recibida")),
        DeliveryState::Exhausted => (Tone::Bad, t.t("Given up", "Abandonada")),
        DeliveryState::Cancelled => (Tone::Plain, t.t("Cancelled", "Cancelada")),
    };
    badge(tone, text)
}

/// What an error's code means, and what to do.
fn reason(code: &str, t: Lang) -> Option<&'static str> {
    let code = Code::ALL.iter().find(|known| known.as_str() == code)?;
    Some(match code {
        Code::Unauthorized => t.t(
            "The key was missing, unknown, expired or revoked.",
            "La clave faltaba, no existe, venció o fue revocada.",
        ),
        Code::Forbidden => t.t(
            "The key is read-only: use one that may write.",
            "La clave es de solo lectura: usa una que pueda escribir.",
        ),
        Code::InsufficientScope => t.t(
            "The key lacks the scope for this: make one that has it.",
            "A la clave le falta el permiso para esto: crea una que lo tenga.",
        ),
        Code::RateLimitExceeded => t.t(
            "More requests came than the plan allows: wait for as long as the header Retry-After says.",
            "Llegaron más solicitudes de las que permite el plan: espera lo que diga el encabezado Retry-After.",
        ),
        Code::InvalidJson | Code::InvalidBody | Code::InvalidQuery | Code::InvalidIdempotencyKey => t.t(
            "Something in the request was wrong: the answer's message names the field.",
            "Algo en la solicitud estaba mal: el mensaje de la respuesta nombra el campo.",
        ),
        Code::NotFound | Code::MethodNotAllowed => t.t(
            "Nothing is at this address, or it is not this account's.",
            "No hay nada en esta dirección, o no es de esta cuenta.",
        ),
        Code::PlanLimit => t.t("The plan does not include this.", "El plan no incluye esto."),
        Code::Conflict | Code::IdempotencyConflict => t.t(
            "It did not fit what was there already: the answer's message says why.",
            "No encajaba con lo que ya había: el mensaje de la respuesta dice por qué.",
        ),
        Code::UnsupportedRuntime | Code::AgentNotFound | Code::AgentDisabled => t.t(
            "The agent cannot do this: it does not exist, is not active, or is of the other runtime.",
            "El agente no puede hacerlo: no existe, no está activo o es del otro tipo.",
        ),
        Code::PaymentRequired | Code::KeyBudgetExhausted => t.t(
            "The account's credits or the key's budget did not cover it.",
            "Los créditos de la cuenta o el presupuesto de la clave no alcanzaron.",
        ),
        Code::UpstreamError | Code::UpstreamUnreachable => t.t(
            "A carrier or provider behind this service did not do its part.",
            "Un operador o proveedor detrás de este servicio no cumplió su parte.",
        ),
        Code::InternalError | Code::ServiceUnavailable | Code::RateLimitUnavailable => t.t(
            "The service could not answer: it may be tried again.",
            "El servicio no pudo responder: se puede intentar de nuevo.",
        ),
        Code::PayloadTooLarge => t.t("The body was too large.", "El cuerpo era demasiado grande."),
        Code::RangeNotSatisfiable => t.t(
            "The file does not have the part that was asked for.",
            "El archivo no tiene la parte que se pidió.",
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_names_its_conversation_by_id_or_handle() {
        let id = "01890000-0000-7000-8000-000000000001";
        let expected: ConversationId = id.parse().unwrap();
        for path in [
            format!("/v1/calls/call_{id}"),
            format!("/v1/calls/call_{id}/hangup"),
            format!("/v1/conversations/{id}/transcript"),
        ] {
            assert_eq!(named(&path), Some(expected), "{path}");
        }
        for path in ["/v1/calls", "/v1/calls/undefined", "/v1/me", "/v2"] {
            assert_eq!(named(path), None, "{path}");
        }
        assert_eq!(named(&format!("/v1/agents/{id}")), None);
    }
}
