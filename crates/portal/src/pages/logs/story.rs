//! A request's full story: how it was answered, what it made or was about, and of a conversation, what was sent of it to
//! webhooks.

use maud::{Markup, html};
use offhook_domain::{CallHandle, ConversationId, RequestId, Resource, ResourceKind};
use offhook_http::Code;
use offhook_services::store::{
    ApiKey, ConversationView, Delivery, DeliveryState, LogEntry, LogFilter,
};

use super::answer;
use crate::PATH;
use crate::lang::Lang;
use crate::layout::Section;
use crate::pages::conversations::wording;
use crate::pages::webhooks::delivery_tone;
use crate::parts::list::{self, Table};
use crate::parts::words::{badge, when, when_if};
use crate::trouble::{Answer, Result, Trouble};
use crate::visit::{Viewer, Visit, Visitor, first};

/// Requests of one id that are told: a client may choose ids, and one twice.
const MOST: u32 = 20;

/// One request with what belongs to it.
struct Told {
    entry: LogEntry,
    conversation: Option<(ConversationView, Vec<Delivery>)>,
}

/// `GET /portal/logs/{id}`: the id is the request's.
pub(super) async fn show(visit: Visit<Viewer>) -> Answer {
    let t = visit.lang();
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
    let mut told = Vec::with_capacity(entries.len());
    for entry in entries {
        let conversation = conversation_of(&visit, &entry).await?;
        told.push(Told {
            entry,
            conversation,
        });
    }
    let body = html! {
        @for told in &told { (story(told, &keys, t)) }
        p { a href={ (PATH) "/logs" } { (t.t("All requests", "Todas las solicitudes")) } }
    };
    let title = t.t("A request's story", "Historia de una solicitud");
    Ok(visit.page(Section::Logs, title, &body))
}

/// The conversation that the request placed or was about, and what was sent of it.
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

fn story(told: &Told, keys: &[ApiKey], t: Lang) -> Markup {
    let entry = &told.entry;
    let key = keys.iter().find(|key| key.id == entry.key_id);
    let why = entry.error.as_deref().and_then(|code| reason(code, t));
    html! {
        h2 { code { (entry.method) " " (entry.path) } }
        dl.facts {
            (list::fact(t.t("Answer", "Respuesta"), answer(entry)))
            (list::fact(t.t("When", "Cuándo"), when(entry.created_at)))
            (list::fact(t.t("Took", "Tardó"), html! { (entry.duration_ms) " ms" }))
            (list::fact(t.t("Key", "Clave"), html! {
                @if let Some(key) = key { (key.name) " " }
                code { (entry.key_prefix) }
            }))
            (list::fact(t.t("From", "Desde"), &entry.ip))
            (list::fact(t.t("Request id", "Id de solicitud"), html! { code { (entry.request_id) } }))
        }
        @if let Some(why) = why { p { (why) } }
        h3 { (t.t("What it was about", "De qué se trató")) }
        @if let Some((view, sent)) = &told.conversation {
            (conversation(view, t))
            (deliveries(sent, t))
        } @else { (thing(entry, t)) }
    }
}

/// What a request made or was about, if that is no conversation of the account.
fn thing(entry: &LogEntry, t: Lang) -> Markup {
    let Some(Resource { kind, id }) = entry.about() else {
        return html! { p.soft { (t.t("Nothing in particular.", "Nada en particular.")) } };
    };
    let (name, path) = named(kind, t);
    let is_gone = entry.method == "DELETE" && entry.status < 300;
    html! {
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

/// What a kind of thing is called, and where its pages are.
const fn named(kind: ResourceKind, t: Lang) -> (&'static str, Option<&'static str>) {
    let (name, path) = match kind {
        ResourceKind::Agent => (t.t("Agent", "Agente"), "/agents"),
        ResourceKind::Tool => (t.t("Tool", "Herramienta"), "/tools"),
        // Its page, were it there, would be told of above.
        ResourceKind::Conversation => return (t.t("Conversation", "Conversación"), None),
        ResourceKind::Batch => (t.t("Batch call", "Llamada en lote"), "/batch-calls"),
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
            (list::fact(t.t("State", "Estado"), html! { (wording::state(conversation, t)) " " (wording::ending(conversation, t)) }))
            (list::fact(t.t("Began", "Comenzó"), when(conversation.started_at)))
            (list::fact(t.t("Ended", "Terminó"), when_if(conversation.ended_at)))
        }
    }
}

fn deliveries(sent: &[Delivery], t: Lang) -> Markup {
    let caption = t.t("Webhook deliveries", "Entregas de webhooks");
    html! {
        h3 { (caption) }
        @if sent.is_empty() {
            p.soft { (t.t("Nothing was sent of it.", "No se envió nada de ella.")) }
        } @else {
            (Table::of(caption, sent)
                .column(t.t("Event", "Evento"), |delivery| html! { a href={ (PATH) "/webhooks/deliveries/" (delivery.id) } { (delivery.kind) } })
                .column(t.t("State", "Estado"), |delivery| badge(delivery_tone(delivery.state), delivered(delivery.state, t)))
                .column(t.t("Attempts", "Intentos"), |delivery| delivery.attempts_count)
                .column(t.t("When", "Cuándo"), |delivery| when(delivery.created_at)))
        }
    }
}

const fn delivered(state: DeliveryState, t: Lang) -> &'static str {
    match state {
        DeliveryState::Pending => t.t("Waiting", "En espera"),
        DeliveryState::Retrying => t.t("Tried again", "Se reintenta"),
        DeliveryState::Delivered => t.t("Received", "Recibida"),
        DeliveryState::Exhausted => t.t("Given up", "Abandonada"),
        DeliveryState::Cancelled => t.t("Cancelled", "Cancelada"),
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
