//! Channels, states and reasons of conversations, in plain words.

use std::time::Duration;

use maud::{Markup, html};
use offhook_domain::{CallState, Channel, ConversationStatus, FailureReason, TerminationReason};
use offhook_services::SoFar;
use offhook_services::store::Conversation;

use crate::lang::Lang;
use crate::parts::words::{self, Tone};

/// Where a conversation takes place.
pub(crate) const fn channel(channel: Option<Channel>, lang: Lang) -> &'static str {
    match channel {
        Some(Channel::Phone) => lang.t("Phone", "Teléfono"),
        Some(Channel::WidgetVoice) => lang.t("Voice on a web page", "Voz en una página web"),
        Some(Channel::Chat) => lang.t("Chat", "Chat"),
        Some(Channel::WidgetChat) => lang.t("Chat on a web page", "Chat en una página web"),
        Some(Channel::Whatsapp) => lang.t("WhatsApp", "WhatsApp"),
        Some(Channel::Unknown) | None => lang.t("Not recorded", "Sin registro"),
    }
}

/// A status that lists can be filtered by.
pub(crate) const fn status(status: ConversationStatus, lang: Lang) -> &'static str {
    match status {
        ConversationStatus::Completed => lang.t("Completed", "Completada"),
        ConversationStatus::Failed => lang.t("Failed", "Fallida"),
        ConversationStatus::Unknown => lang.t("Under way", "En curso"),
    }
}

/// Where a conversation is in its life.
pub(crate) fn state(conversation: &Conversation, lang: Lang) -> Markup {
    let (tone, text) = match conversation.state {
        CallState::Queued => (Tone::Plain, lang.t("Waiting", "En espera")),
        CallState::Dialing => (Tone::Busy, lang.t("Dialing", "Marcando")),
        CallState::Live if conversation.voice => (Tone::Busy, lang.t("On the line", "En línea")),
        CallState::Live => (Tone::Busy, lang.t("Open", "Abierta")),
        CallState::Closing => (Tone::Busy, lang.t("Ending", "Terminando")),
        CallState::Completed => (Tone::Good, lang.t("Completed", "Completada")),
        CallState::Failed => (Tone::Bad, lang.t("Failed", "Fallida")),
    };
    words::badge(tone, text)
}

/// How an answered conversation ended, or why a call failed; empty while it lasts.
pub(crate) fn ending(conversation: &Conversation, lang: Lang) -> Markup {
    if !conversation.state.is_terminal() {
        return html! {};
    }
    let text = match (conversation.failure_reason, conversation.termination_reason) {
        (Some(reason), _) => failed(reason, lang),
        (None, Some(reason)) => ended(reason, lang),
        (None, None) => lang.t("Not recorded", "Sin registro"),
    };
    html! { (text) }
}

const fn ended(reason: TerminationReason, lang: Lang) -> &'static str {
    match reason {
        TerminationReason::AgentHangup => lang.t("The agent ended it", "La terminó el agente"),
        TerminationReason::CustomerHangup => {
            lang.t("The customer ended it", "La terminó el cliente")
        }
        TerminationReason::MaxDuration => lang.t(
            "It reached the agent's longest duration",
            "Llegó a la duración máxima del agente",
        ),
        TerminationReason::SilenceTimeout => lang.t(
            "The customer stayed silent",
            "El cliente se quedó en silencio",
        ),
        TerminationReason::Transferred => {
            lang.t("It was handed to a person", "Se transfirió a una persona")
        }
        TerminationReason::Voicemail => {
            lang.t("A voice mailbox answered", "Contestó un buzón de voz")
        }
        TerminationReason::ApiHangup => lang.t(
            "It was hung up here or by API",
            "Se colgó desde aquí o por la API",
        ),
        TerminationReason::Error => lang.t("An error ended it", "La terminó un error"),
    }
}

const fn failed(reason: FailureReason, lang: Lang) -> &'static str {
    match reason {
        FailureReason::NoAnswer => lang.t("Nobody answered", "Nadie contestó"),
        FailureReason::Busy => lang.t("The line was busy", "La línea estaba ocupada"),
        FailureReason::Rejected => lang.t("The call was declined", "La llamada fue rechazada"),
        FailureReason::InvalidNumber => lang.t(
            "There is no such number: check it",
            "Ese número no existe: revísalo",
        ),
        FailureReason::CarrierError => lang.t(
            "The telephony provider failed: try again, or check its credential",
            "Falló el proveedor de telefonía: inténtalo de nuevo o revisa su credencial",
        ),
        FailureReason::AgentError => lang.t(
            "The agent could not go on: check its models, voice and their credentials",
            "El agente no pudo continuar: revisa sus modelos, su voz y sus credenciales",
        ),
        FailureReason::Interrupted => lang.t(
            "The service was interrupted during the call",
            "El servicio se interrumpió durante la llamada",
        ),
        FailureReason::Cancelled => lang.t(
            "It was cancelled before it was dialed",
            "Se canceló antes de marcar",
        ),
        FailureReason::Expired => lang.t(
            "It waited too long for a free line and was not dialed",
            "Esperó demasiado una línea libre y no se marcó",
        ),
    }
}

/// Where it takes place, and who called whom.
pub(crate) fn way(conversation: &Conversation, lang: Lang) -> Markup {
    html! {
        (channel(conversation.channel, lang))
        @if let Some(direction) = direction(conversation, lang) { " · " (direction) }
    }
}

/// Who called whom; nothing for text.
fn direction(conversation: &Conversation, lang: Lang) -> Option<&'static str> {
    let is_phone = conversation
        .channel
        .is_none_or(|channel| channel == Channel::Phone);
    (conversation.voice && is_phone).then(|| match conversation.is_inbound() {
        true => lang.t("Incoming", "Entrante"),
        false => lang.t("Outgoing", "Saliente"),
    })
}

/// The customer, as a list names them.
pub(crate) fn customer(conversation: &Conversation, lang: Lang) -> &str {
    match &conversation.customer_phone {
        Some(number) => number.as_str(),
        None if conversation.channel == Some(Channel::Phone) => {
            lang.t("Number withheld", "Número oculto")
        }
        // Nobody else talks on this channel.
        None if conversation.channel == Some(Channel::Chat) => {
            lang.t("Member of the team", "Miembro del equipo")
        }
        None => lang.t("Visitor", "Visitante"),
    }
}

/// How long it took, once it has ended.
pub(crate) fn length(conversation: &Conversation) -> String {
    let ended = conversation.state.is_terminal();
    let seconds = conversation.duration_seconds.filter(|_| ended);
    seconds.map_or_else(|| "–".to_owned(), seconds_told)
}

fn seconds_told(seconds: i64) -> String {
    words::length(Duration::from_secs(u64::try_from(seconds).unwrap_or(0)))
}

/// How long it has lasted so far.
pub(crate) fn length_so_far(so_far: &SoFar) -> String {
    seconds_told(so_far.seconds)
}

/// What it cost, once it has ended.
pub(crate) fn credits(conversation: &Conversation) -> String {
    let ended = conversation.state.is_terminal();
    let credits = conversation.credits.filter(|_| ended);
    credits.map_or_else(|| "–".to_owned(), words::count)
}
