//! Facts, variables and deliveries of a conversation.

use offhook_services::SoFar;
use offhook_services::UseCaseError;
use offhook_services::store::{Conversation, ConversationView};

use super::wording;
use crate::pages::dialing::wording::refusal;
use crate::pages::webhooks::state_badge;
use crate::prelude::*;

/// Facts that change during a conversation, with their ids on the page: when it was answered, its turns, duration and
/// credits.
fn moving(
    conversation: &Conversation,
    so_far: &SoFar,
    lang: Lang,
) -> Vec<(&'static str, &'static str, Markup)> {
    let is_over = conversation.state.is_terminal();
    let lasts = !is_over && conversation.answered_at.is_some();
    let is_known = !is_over || conversation.answered_at.is_some();
    let answered = (conversation.voice && is_known).then(|| {
        let answered = words::when_if(conversation.answered_at);
        ("fact-answered", lang.t("Answered", "Contestada"), answered)
    });
    let turns = words::count(i64::from(conversation.messages_count));
    let (length, credits) = match lasts {
        true => (wording::length_so_far(so_far), words::count(so_far.credits)),
        false => (
            wording::length(conversation),
            wording::credits(conversation),
        ),
    };
    let counts = [
        ("fact-turns", lang.t("Turns", "Turnos"), turns),
        ("fact-length", lang.t("Duration", "Duración"), length),
        ("fact-credits", lang.t("Credits", "Créditos"), credits),
    ];
    let counts = counts.map(|(id, name, value)| (id, name, html! { (value) }));
    answered.into_iter().chain(counts).collect()
}

/// The changed facts, as swaps for the page.
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
    let placing = placing(visitor, conversation).await?;
    let config = config(visitor, conversation).await?;
    let numbers = [
        (lang.t("From", "De"), &conversation.from_number),
        (lang.t("To", "A"), &conversation.to_number),
    ];
    let models = config
        .iter()
        .flat_map(|config| models(config, conversation.voice, lang));
    Ok(html! {
        h2 { (lang.t("Details", "Detalles")) }
        dl.facts {
            (list::fact(lang.t("Agent", "Agente"), html! {
                a href={ (PATH) "/agents/" (conversation.agent_id) } { (view.agent_name) }
                @if conversation.runtime == Runtime::Engine {
                    " · " (lang.t("version", "versión")) " " (conversation.agent_version)
                }
            }))
            (list::fact(lang.t("Channel", "Canal"), wording::way(conversation, lang)))
            @for (name, number) in numbers {
                @if let Some(number) = number { (list::fact(name, number.as_str())) }
            }
            @if conversation.voice {
                (list::fact(lang.t("Call ID", "ID de la llamada"), html! { code { (CallHandle(conversation.id)) } }))
            }
            @if let Some(consent) = &conversation.line.allowed.consent {
                (list::fact(lang.t("Consent", "Consentimiento"), consented(consent)))
            }
            @if let Some(link) = placing { (list::fact(lang.t("Placed by", "La hizo"), link)) }
        }
        h3 { (lang.t("Course", "Desarrollo")) }
        dl.facts {
            (list::fact(lang.t("Started", "Inicio"), words::when(conversation.started_at)))
            @for (id, name, value) in moving(conversation, so_far, lang) {
                (list::fact(name, html! { span id=(id) { (value) } }))
            }
            @if let Some(ended) = conversation.ended_at.filter(|_| is_over) { (list::fact(lang.t("Ended", "Fin"), words::when(ended))) }
            @if is_over { (list::fact(lang.t("End reason", "Motivo de fin"), wording::ending(conversation, lang))) }
            @if let Some(rule) = conversation.line.allowed.blocked_by {
                (list::fact(lang.t("Refused by", "La detuvo"), html! {
                    a href={ (PATH) (Section::Dialing.path()) } { (refusal(rule, lang)) }
                }))
            }
            @if let Some(latency) = latency(conversation, lang) {
                (list::fact(lang.t("Response latency", "Latencia de respuesta"), latency))
            }
        }
        h3 { (lang.t("Models and price", "Modelos y precio")) }
        dl.facts {
            @for (name, model) in models { (list::fact(name, html! { code { (model) } })) }
            (list::fact(lang.t("Price per minute", "Precio por minuto"), text!(
                lang, "{} credits", "{} créditos", conversation.price()
            )))
        }
    })
}

/// What the customer agreed to, when, and where that is found.
fn consented(stored: &str) -> Markup {
    html! { @match Consent::from_stored(stored) {
        Ok(Consent { basis, at, evidence }) => {
            (basis) " · " (words::when(at))
            @if let Some(evidence) = evidence { " · " span dir="auto" { (evidence) } }
        }
        Err(_) => code { (stored) },
    } }
}

/// The request that placed a call, with its other log entries.
async fn placing(visitor: &Visitor, conversation: &Conversation) -> Result<Option<Markup>> {
    if conversation.key_id.is_none() {
        return Ok(None);
    }
    let logs = visitor.services().request_logs();
    let found = logs.placing(conversation.account_id, conversation.id);
    Ok(found.await?.map(|entry| html! {
        a href={ (PATH) "/logs/" (entry.request_id) } { code { (entry.method) " " (entry.path) } }
    }))
}

fn latency(conversation: &Conversation, lang: Lang) -> Option<String> {
    let replies = conversation.latency.turns.filter(|replies| *replies > 0)?;
    let (median, slow) = (conversation.latency.p50_ms?, conversation.latency.p95_ms?);
    Some(text!(
        lang,
        "p50 {median} ms · p95 {slow} ms · replies: {replies}",
        "p50 {median} ms · p95 {slow} ms · respuestas: {replies}"
    ))
}

/// The agent's variables in this conversation: metadata of the request, and defaults for the rest.
pub(super) async fn variables(visitor: &Visitor, conversation: &Conversation) -> Result<Markup> {
    let lang = visitor.lang();
    let sent = Json::parse(conversation.metadata.as_bytes()).ok();
    let sent = sent.as_ref().and_then(Json::as_object).unwrap_or_default();
    let defaults = defaults(visitor, conversation).await?;
    let is_unsent = |(name, _): &&(String, Json)| !sent.iter().any(|(known, _)| known == name);
    let (with_it, by_agent) = (
        lang.t("sent with the request", "enviado con la solicitud"),
        lang.t("agent default", "valor del agente"),
    );
    let all = sent.iter().map(|(name, value)| (name, value, with_it));
    let unsent = defaults.iter().filter(is_unsent);
    let all = all.chain(unsent.map(|(name, value)| (name, value, by_agent)));
    let all: Vec<_> = all.collect();
    let caption = lang.t("Metadata and variables", "Metadatos y variables");
    Ok(html! {
        @if !all.is_empty() {
            section.panel {
                h2 { (caption) }
                (Table::of(caption, &all)
                    .column(lang.t("Name", "Nombre"), |(name, ..)| html! { code { (name) } })
                    .column(lang.t("Value", "Valor"), |(_, value, _)| words::shown(value))
                    .column(lang.t("Source", "Origen"), |(.., from)| from))
            }
        }
    })
}

/// The models of the agent's version.
fn models(config: &Json, is_spoken: bool, lang: Lang) -> Vec<(&'static str, String)> {
    let named = |section: &str, names: [&str; 2]| {
        let section = config.get(section)?;
        let words = names.map(|name| section.get(name).and_then(Json::as_str));
        let words: Vec<&str> = words.into_iter().flatten().collect();
        (!words.is_empty()).then(|| words.join(" / "))
    };
    let model = named("llm", ["provider", "model"]);
    let model = model.map(|name| (lang.t("Language model", "Modelo de lenguaje"), name));
    let voice = named("voice", ["provider", "model"]).filter(|_| is_spoken);
    let voice = voice.map(|name| (lang.t("Voice", "Voz"), name));
    model.into_iter().chain(voice).collect()
}

/// The configuration of the agent's version, if it is known here.
async fn config(visitor: &Visitor, conversation: &Conversation) -> Result<Option<Json>> {
    if conversation.runtime != Runtime::Engine || conversation.agent_version == 0 {
        return Ok(None);
    }
    let agents = visitor.services().agents();
    let (account, agent) = (conversation.account_id, conversation.agent_id);
    let version = agents.version(account, agent, conversation.agent_version);
    let version = match version.await {
        Ok(version) => version,
        Err(UseCaseError::NotFound) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    Ok(version.config)
}

/// The variables of the version, with their defaults.
async fn defaults(visitor: &Visitor, conversation: &Conversation) -> Result<Vec<(String, Json)>> {
    let config = config(visitor, conversation).await?;
    let variables = config.as_ref();
    let variables = variables.and_then(|config| config.get("dynamic_variables")?.as_object());
    let variables = variables.unwrap_or_default().iter();
    let with_default = variables.map(|(name, variable)| {
        let default = variable.get("default").cloned().unwrap_or(Json::Null);
        (name.clone(), default)
    });
    Ok(with_default.collect())
}

/// The webhook deliveries of a conversation.
pub(super) async fn deliveries(visitor: &Visitor, conversation: &Conversation) -> Result<Markup> {
    let lang = visitor.lang();
    let webhooks = visitor.services().webhooks();
    let found = webhooks.of_conversation(conversation.account_id, conversation.id);
    let found = found.await?;
    let caption = Section::Webhooks.name(lang);
    Ok(html! {
        @if !found.is_empty() {
            section.panel {
                h2 { (caption) }
                (Table::of(caption, &found)
                    .column(lang.t("Event", "Evento"), |delivery| html! {
                        a href={ (PATH) "/webhooks/deliveries/" (delivery.id) } { (delivery.kind.as_str()) }
                    })
                    .column(lang.t("Delivery", "Entrega"), |delivery| state_badge(visitor, delivery.state))
                    .number(lang.t("Attempts", "Intentos"), |delivery| delivery.attempts_count))
            }
        }
    })
}
