//! One request: its response, what it created or was about, and the webhooks of its conversation.

use offhook_http::Code;
use offhook_services::store::{
    ApiKey, ConversationView, Delivery, DeliveryState, LogEntry, LogFault, LogFilter,
};

use super::answer;
use crate::pages::conversations::wording;
use crate::pages::webhooks::delivery_tone;
use crate::parts::json;
use crate::parts::sample;
use crate::parts::words::{when_exactly, when_if};
use crate::prelude::*;
use crate::visit::first;

/// Requests of one id that are shown: clients may choose ids, and repeat them.
const MOST: u32 = 20;

/// One request with what belongs to it.
struct Line {
    entry: LogEntry,
    fault: Option<LogFault>,
    conversation: Option<(ConversationView, Vec<Delivery>)>,
}

/// `GET /portal/logs/{id}`: the id is the request's.
pub(super) async fn show(visit: Visit<Viewer>) -> Answer {
    let id: RequestId = visit.id("id")?;
    let filter = LogFilter {
        request: Some(id),
        ..LogFilter::default()
    };
    let logs = visit.services().request_logs();
    let entries = logs.list(visit.account(), filter, first(MOST));
    let entries = entries.await?.items;
    if entries.is_empty() {
        return Err(Trouble::not_found());
    }
    let keys = visit.services().keys().list(visit.account()).await?;
    let mut lines = Vec::with_capacity(entries.len());
    for entry in entries {
        let conversation = conversation_of(&visit, &entry).await?;
        let fault = logs.fault(&entry).await?;
        lines.push(Line {
            entry,
            fault,
            conversation,
        });
    }
    let body = html! {
        @for (place, line) in lines.iter().enumerate() { (story(&visit, place, line, &keys)) }
    };
    let mut titles = lines.iter();
    let title = titles
        .next()
        .map(|Line { entry, .. }| format!("{} {}", entry.method, entry.path));
    Ok(visit.page(Section::Logs, &title.unwrap_or_default(), &body))
}

/// The conversation that the request placed or was about, and its webhook deliveries.
async fn conversation_of(
    visitor: &Visitor,
    entry: &LogEntry,
) -> Result<Option<(ConversationView, Vec<Delivery>)>> {
    let Some(about) = entry.about() else {
        return Ok(None);
    };
    if about.kind != ResourceKind::Conversation {
        return Ok(None);
    }
    let services = visitor.services();
    let id = ConversationId::from_uuid(about.id.uuid());
    let conversations = services.conversations();
    let Some(view) = conversations.get(visitor.caller(), id, false).await? else {
        return Ok(None);
    };
    let webhooks = services.webhooks();
    let sent = webhooks.of_conversation(visitor.account(), id).await?;
    Ok(Some((view, sent)))
}

fn story(visitor: &Visitor, place: usize, line: &Line, keys: &[ApiKey]) -> Markup {
    let t = visitor.lang();
    let entry = &line.entry;
    let key = keys.iter().find(|key| key.id == entry.key_id);
    let why = entry.error.as_deref().and_then(|code| reason(code, t));
    html! {
        @if place > 0 { h2 { code { (entry.method) " " (entry.path) } } }
        dl.facts {
            (list::fact(t.t("Status", "Estado"), answer(entry)))
            (list::fact(t.t("When", "Cuándo"), when_exactly(entry.created_at)))
            (list::fact(t.t("Duration", "Duración"), html! { (entry.duration_ms) " ms" }))
            (list::fact(t.t("Key", "Clave"), html! {
                @if let Some(key) = key { (key.name) " " }
                code { (entry.key_prefix) }
            }))
            (list::fact(t.t("IP address", "Dirección IP"), &entry.ip))
            (list::copied(t, &place.to_string(), t.t("Request ID", "ID de solicitud"), entry.request_id))
        }
        @if line.fault.is_some() || why.is_some() {
            section {
                h2 { (t.t("Error message", "Mensaje de error")) }
                @if let Some(fault) = &line.fault { (told(fault, t)) }
                @if let Some(why) = why { p { (why) } }
            }
        }
        @if let Some((view, sent)) = &line.conversation {
            h3 { (t.t("Related", "Relacionado")) }
            (conversation(view, t))
            (deliveries(sent, t))
        } @else { (thing(entry, t)) }
        @let call = format!(
            "curl -sS -X {} {}{} \\\n  -H \"Authorization: Bearer $OFFHOOK_KEY\"",
            entry.method, visitor.base_url(), entry.path
        );
        h3 { (t.t("Repeat it", "Repetirla")) }
        p.soft { (t.t(
            "Bodies and query strings of requests are not kept: add yours.",
            "No se conservan los cuerpos ni los parámetros de las solicitudes: agrega los tuyos.",
        )) }
        (sample::code(t, &format!("curl-{place}"), "curl", &call))
    }
}

/// The message of an error response, and the shape of its request's body.
fn told(fault: &LogFault, t: Lang) -> Markup {
    html! {
        // The API speaks English.
        p.failure { code lang="en" { (fault.message) } }
        @if fault.message.contains('…') {
            p.soft { (t.t(
                "“…” stands for text of the request, which is not kept.",
                "«…» representa texto de la solicitud, que no se conserva.",
            )) }
        }
        @if let Some(body) = &fault.body {
            details {
                summary { (t.t("Shape of the request body", "Forma del cuerpo de la solicitud")) }
                pre.wrapped tabindex="0" { (json::colored(body)) }
            }
        }
    }
}

/// What a request created or was about, if that is not a conversation of the account.
fn thing(entry: &LogEntry, t: Lang) -> Markup {
    let Some(Resource { kind, id }) = entry.about() else {
        return html! {};
    };
    let (name, path) = named(kind, t);
    let is_gone = entry.method == "DELETE" && entry.status < 300;
    html! {
        h3 { (t.t("Related", "Relacionado")) }
        dl.facts {
            (list::fact(name, html! {
                @match path.filter(|_| !is_gone) {
                    Some(path) => { a href={ (PATH) (path) "/" (id) } { code { (id) } } },
                    None => { code { (id) } },
                }
            }))
        }
    }
}

/// A resource type's name, and the path of its pages.
const fn named(kind: ResourceKind, t: Lang) -> (&'static str, Option<&'static str>) {
    let (name, path) = match kind {
        ResourceKind::Agent => (t.t("Agent", "Agente"), "/agents"),
        ResourceKind::Tool => (t.t("Tool", "Herramienta"), "/tools"),
        // A conversation of the account is shown above.
        ResourceKind::Conversation => return (t.t("Conversation", "Conversación"), None),
        ResourceKind::Batch => (t.t("Batch call", "Llamada por lote"), "/batch-calls"),
        ResourceKind::PhoneNumber => (t.t("Phone number", "Número telefónico"), "/phone-numbers"),
        ResourceKind::Document => (t.t("Document", "Documento"), "/knowledge/documents"),
        ResourceKind::Folder => (t.t("Folder", "Carpeta"), "/knowledge/folders"),
        ResourceKind::Webhook => (t.t("Webhook", "Webhook"), "/webhooks"),
        ResourceKind::Delivery => (t.t("Delivery", "Entrega"), "/webhooks/deliveries"),
    };
    (name, Some(path))
}

fn conversation(view: &ConversationView, t: Lang) -> Markup {
    let conversation = &view.conversation;
    html! {
        dl.facts {
            (list::fact(t.t("Conversation", "Conversación"), html! { a href={ (PATH) "/conversations/" (conversation.id) } { (CallHandle(conversation.id)) } }))
            (list::fact(t.t("Agent", "Agente"), html! { a href={ (PATH) "/agents/" (conversation.agent_id) } { (view.agent_name) } }))
            (list::fact(t.t("Status", "Estado"), html! { (wording::state(conversation, t)) " " (wording::ending(conversation, t)) }))
            (list::fact(t.t("Started", "Comenzó"), when(conversation.started_at)))
            (list::fact(t.t("Ended", "Terminó"), when_if(conversation.ended_at)))
        }
    }
}

fn deliveries(sent: &[Delivery], t: Lang) -> Markup {
    let caption = t.t("Webhook deliveries", "Entregas de webhooks");
    html! {
        h3 { (caption) }
        @if sent.is_empty() {
            p.soft { (t.t("No webhooks sent.", "No se enviaron webhooks.")) }
        } @else {
            (Table::of(caption, sent)
                .column(t.t("Event", "Evento"), |delivery| html! { a href={ (PATH) "/webhooks/deliveries/" (delivery.id) } { (delivery.kind) } })
                .column(t.t("Status", "Estado"), |delivery| badge(delivery_tone(delivery.state), delivered(delivery.state, t)))
                .column(t.t("Attempts", "Intentos"), |delivery| delivery.attempts_count)
                .column(t.t("When", "Cuándo"), |delivery| when(delivery.created_at)))
        }
    }
}

const fn delivered(state: DeliveryState, t: Lang) -> &'static str {
    match state {
        DeliveryState::Pending => t.t("Pending", "Pendiente"),
        DeliveryState::Retrying => t.t("Retrying", "Reintentando"),
        DeliveryState::Delivered => t.t("Delivered", "Entregada"),
        DeliveryState::Exhausted => t.t("Failed", "Falló"),
        DeliveryState::Cancelled => t.t("Canceled", "Cancelada"),
    }
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
            "The key is read-only. Use one that can write.",
            "La clave es de solo lectura. Usa una que pueda escribir.",
        ),
        Code::InsufficientScope => t.t(
            "The key lacks the required scope. Create one that has it.",
            "A la clave le falta el permiso necesario. Crea una que lo tenga.",
        ),
        Code::RateLimitExceeded => t.t(
            "Rate limit exceeded. Wait as long as the Retry-After header says.",
            "Se superó el límite de solicitudes. Espera lo que diga el encabezado Retry-After.",
        ),
        Code::InvalidJson | Code::InvalidBody | Code::InvalidQuery | Code::InvalidIdempotencyKey => t.t(
            "A field in the request was invalid. The message names it.",
            "Un campo de la solicitud no era válido. El mensaje dice cuál.",
        ),
        Code::NotFound | Code::MethodNotAllowed => t.t(
            "The resource does not exist, or belongs to another account.",
            "El recurso no existe, o es de otra cuenta.",
        ),
        Code::PlanLimit => t.t("The plan does not include this.", "El plan no incluye esto."),
        Code::Conflict | Code::IdempotencyConflict => t.t(
            "The request conflicts with the current state. The message says why.",
            "La solicitud no es compatible con el estado actual. El mensaje dice por qué.",
        ),
        Code::UnsupportedRuntime | Code::AgentNotFound | Code::AgentDisabled => t.t(
            "The agent cannot do this: it does not exist, is not active, or is on the other platform.",
            "El agente no puede hacerlo: no existe, no está activo o es de la otra plataforma.",
        ),
        Code::PaymentRequired | Code::KeyBudgetExhausted => t.t(
            "Not enough account credits or key budget.",
            "Los créditos de la cuenta o el presupuesto de la clave no alcanzaron.",
        ),
        Code::UpstreamError | Code::UpstreamUnreachable => t.t(
            "A carrier or provider failed.",
            "Falló un operador telefónico o un proveedor.",
        ),
        Code::InternalError | Code::ServiceUnavailable | Code::RateLimitUnavailable => t.t(
            "The service could not respond. You can retry.",
            "El servicio no pudo responder. Puedes reintentar.",
        ),
        Code::PayloadTooLarge => t.t("The request body was too large.", "El cuerpo de la solicitud era demasiado grande."),
        Code::RangeNotSatisfiable => t.t(
            "The file does not have the requested range.",
            "El archivo no tiene el rango solicitado.",
        ),
    })
}
