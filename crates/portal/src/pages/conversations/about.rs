//! What is known about a conversation besides its words: facts, variables, deliveries.

use maud::{Markup, html};
use offhook_domain::{CallHandle, Json, Runtime};
use offhook_services::SoFar;
use offhook_services::UseCaseError;
use offhook_services::store::{Conversation, ConversationView, DeliveryState};

use super::detail::named;
use super::wording;
use crate::PATH;
use crate::lang::Lang;
use crate::parts::list;
use crate::parts::words::{self, Tone};
use crate::trouble::Result;
use crate::visit::Visitor;

/// What changes while a conversation lasts, by the ids that the page knows it by: when it was answered, its turns, length
/// and credits.
fn moving(
    conversation: &Conversation,
    so_far: &SoFar,
    lang: Lang,
) -> Vec<(&'static str, &'static str, Markup)> {
    let is_over = conversation.state.is_terminal();
    let lasts = !is_over && conversation.answered_at.is_some();
    let answered = conversation.voice.then(|| {
        let answered = words::when_if(conversation.answered_at);
        ("fact-answered", lang.t("Answered", "Contestada"), answered)
    });
    let counts = [
        (
            "fact-turns",
            lang.t("Turns", "Turnos"),
            words::count(i64::from(conversation.messages_count)),
        ),
        (
            "fact-length",
            lang.t("Length", "Duración"),
            match lasts {
                true => wording::length_so_far(so_far),
                false => wording::length(conversation),
            },
        ),
        (
            "fact-credits",
            lang.t("Credits", "Créditos"),
            match lasts {
                true => words::count(so_far.credits),
                false => wording::credits(conversation),
            },
        ),
    ];
    let counts = counts.map(|(id, name, value)| (id, name, html! { (value) }));
    answered.into_iter().chain(counts).collect()
}

/// What has changed of the facts, each put in its place on the page.
pub(super) fn moved(conversation: &Conversation, so_far: &SoFar, lang: Lang) -> Markup {
    html! {
        @for (id, _, value) in moving(conversation, so_far, lang) {
            span id=(id) hx-swap-oob="true" { (value) }
        }
    }
}

pub(super) async fn facts(
    visitor: &Visitor,
    view: &ConversationView,
    so_far: &SoFar,
) -> Result<Markup> {
    let lang = visitor.lang();
    let conversation = &view.conversation;
    let is_over = conversation.state.is_terminal();
    let number = |number: &Option<offhook_domain::E164>| match number {
        Some(number) => html! { (number.as_str()) },
        None => html! { span.none { "–" } },
    };
    let mut rows = vec![
        (
            lang.t("Agent", "Agente"),
            html! {
                a href={ (PATH) "/agents/" (conversation.agent_id) } { (view.agent_name) }
                @if conversation.runtime == Runtime::Engine {
                    " · " (lang.t("version", "versión")) " " (conversation.agent_version)
                }
            },
        ),
        (
            lang.t("Channel", "Canal"),
            html! {
                (wording::channel(conversation.channel, lang))
                @if let Some(direction) = wording::direction(conversation, lang) { " · " (direction) }
            },
        ),
    ];
    if conversation.from_number.is_some() || conversation.to_number.is_some() {
        rows.push((lang.t("From", "De"), number(&conversation.from_number)));
        rows.push((lang.t("To", "A"), number(&conversation.to_number)));
    }
    rows.push((
        lang.t("Began", "Inicio"),
        words::when(conversation.started_at),
    ));
    for (id, name, value) in moving(conversation, so_far, lang) {
        rows.push((name, html! { span id=(id) { (value) } }));
    }
    rows.push((
        lang.t("Ended", "Fin"),
        words::when_if(conversation.ended_at.filter(|_| is_over)),
    ));
    if is_over {
        rows.push((
            lang.t("How it ended", "Cómo terminó"),
            wording::ending(conversation, lang),
        ));
    }
    if let Some(latency) = latency(conversation, lang) {
        rows.push((lang.t("Answer latency", "Latencia de respuesta"), latency));
    }
    if conversation.voice {
        let handle = CallHandle(conversation.id).to_string();
        rows.push((
            lang.t("Call in the API", "Llamada en la API"),
            html! { code { (handle) } },
        ));
    }
    rows.extend(placing(visitor, conversation).await?);
    Ok(html! { dl.facts { @for (name, value) in rows { (list::fact(name, value)) } } })
}

/// The request that placed a call, with what else the log tells of it.
async fn placing(
    visitor: &Visitor,
    conversation: &Conversation,
) -> Result<Option<(&'static str, Markup)>> {
    if conversation.key_id.is_none() {
        return Ok(None);
    }
    let logs = visitor.services().request_logs();
    let found = logs
        .placing(conversation.account_id, conversation.id)
        .await?;
    Ok(found.map(|entry| {
        let link = html! {
            a href={ (PATH) "/logs/" (entry.request_id) } { code { (entry.method) " " (entry.path) } }
        };
        (visitor.lang().t("Placed by", "La hizo"), link)
    }))
}

fn latency(conversation: &Conversation, lang: Lang) -> Option<Markup> {
    let replies = conversation.latency.turns.filter(|replies| *replies > 0)?;
    let (median, slow) = (conversation.latency.p50_ms?, conversation.latency.p95_ms?);
    let text = match lang {
        Lang::En => format!("median {median} ms, 95 of 100 within {slow} ms ({replies} replies)"),
        Lang::Es => format!("mediana {median} ms, 95 de 100 en {slow} ms ({replies} respuestas)"),
    };
    Some(html! { (text) })
}

/// What the agent was told of this conversation: what was sent along, and its own defaults for the rest.
pub(super) async fn variables(visitor: &Visitor, conversation: &Conversation) -> Result<Markup> {
    let lang = visitor.lang();
    let sent = Json::parse(conversation.metadata.as_bytes()).ok();
    let sent = sent.as_ref().and_then(Json::as_object).unwrap_or_default();
    let defaults = defaults(visitor, conversation).await?;
    let unsent = defaults
        .iter()
        .filter(|(name, _)| !sent.iter().any(|(known, _)| known == name));
    let row = |name: &str, value: &Json, from: &str| {
        html! { tr { td { code { (name) } } td { (shown(value)) } td { (from) } } }
    };
    let with_it = lang.t("sent along", "se envió");
    let by_agent = lang.t("agent's default", "valor del agente");
    let mut rows: Vec<Markup> = sent
        .iter()
        .map(|(name, value)| row(name, value, with_it))
        .collect();
    rows.extend(unsent.map(|(name, value)| row(name, value, by_agent)));
    if rows.is_empty() {
        return Ok(html! {});
    }
    let heads = [
        lang.t("Name", "Nombre"),
        lang.t("Value", "Valor"),
        lang.t("From", "Origen"),
    ];
    let caption = lang.t("Metadata and variables", "Metadatos y variables");
    Ok(named(caption, &heads, &rows))
}

/// The variables that the version knows, with their defaults.
async fn defaults(visitor: &Visitor, conversation: &Conversation) -> Result<Vec<(String, Json)>> {
    if conversation.runtime != Runtime::Engine || conversation.agent_version == 0 {
        return Ok(Vec::new());
    }
    let agents = visitor.services().agents();
    let (account, agent) = (conversation.account_id, conversation.agent_id);
    let version = match agents
        .version(account, agent, conversation.agent_version)
        .await
    {
        Ok(version) => version,
        Err(UseCaseError::NotFound) => return Ok(Vec::new()),
        Err(error) => return Err(error.into()),
    };
    let config = version.config.as_ref();
    let variables = config.and_then(|config| config.get("dynamic_variables")?.as_object());
    let with_default = variables
        .unwrap_or_default()
        .iter()
        .map(|(name, variable)| {
            let default = variable.get("default").cloned().unwrap_or(Json::Null);
            (name.clone(), default)
        });
    Ok(with_default.collect())
}

fn shown(value: &Json) -> String {
    match value {
        Json::String(text) => text.clone(),
        other => other.to_compact(),
    }
}

/// What webhooks were told of it.
pub(super) async fn deliveries(visitor: &Visitor, conversation: &Conversation) -> Result<Markup> {
    let lang = visitor.lang();
    let webhooks = visitor.services().webhooks();
    let found = webhooks
        .of_conversation(conversation.account_id, conversation.id)
        .await?;
    if found.is_empty() {
        return Ok(html! {});
    }
    let rows: Vec<Markup> = found
        .iter()
        .map(|delivery| {
            let tone = match delivery.state {
                DeliveryState::Delivered => Tone::Good,
                DeliveryState::Pending | DeliveryState::Retrying => Tone::Busy,
                DeliveryState::Exhausted => Tone::Bad,
                DeliveryState::Cancelled => Tone::Plain,
            };
            html! {
                tr {
                    td { a href={ (PATH) "/webhooks/deliveries/" (delivery.id) } { (delivery.kind.as_str()) } }
                    td { (words::badge(tone, told(delivery.state, lang))) }
                    td.number { (delivery.attempts_count) }
                }
            }
        })
        .collect();
    let heads = [
        lang.t("Event", "Evento"),
        lang.t("Delivery", "Entrega"),
        lang.t("Attempts", "Intentos"),
    ];
    Ok(named(lang.t("Webhooks", "Webhooks"), &heads, &rows))
}

const fn told(state: DeliveryState, lang: Lang) -> &'static str {
    match state {
        DeliveryState::Pending => lang.t("Pending", "Pendiente"),
        DeliveryState::Retrying => lang.t("Trying again", "Reintentando"),
        DeliveryState::Delivered => lang.t("Delivered", "Entregado"),
        DeliveryState::Exhausted => lang.t("Given up", "Agotado"),
        DeliveryState::Cancelled => lang.t("Cancelled", "Cancelado"),
    }
}
