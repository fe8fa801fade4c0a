//! Channels, states and reasons of conversations, in plain words.

use std::time::Duration;

use offhook_services::SoFar;
use offhook_services::store::Conversation;

use crate::prelude::*;

/// A channel's name.
pub(crate) const fn channel(channel: Option<Channel>, lang: Lang) -> &'static str {
    match channel {
        Some(Channel::Phone) => lang.t("Phone", "Teléfono"),
        Some(Channel::WidgetVoice) => lang.t("Web voice", "Voz web"),
        Some(Channel::Chat) => lang.t("Chat", "Chat"),
        Some(Channel::WidgetChat) => lang.t("Web chat", "Chat web"),
        Some(Channel::Whatsapp) => lang.t("WhatsApp", "WhatsApp"),
        Some(Channel::Unknown) | None => lang.t("Unknown", "Se desconoce"),
    }
}

/// A status that lists can be filtered by.
pub(crate) const fn status(status: ConversationStatus, lang: Lang) -> &'static str {
    match status {
        ConversationStatus::Completed => lang.t("Completed", "Completada"),
        ConversationStatus::Failed => lang.t("Failed", "Fallida"),
        ConversationStatus::Unknown => lang.t("In progress", "En curso"),
    }
}

/// The state of a conversation.
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

/// What came of a conversation. Only a person who spoke is a success.
pub(crate) const fn outcome(outcome: Outcome, lang: Lang) -> (Tone, &'static str) {
    let tone = match outcome {
        Outcome::AnsweredHuman => Tone::Good,
        Outcome::Silent | Outcome::Voicemail => Tone::Busy,
        Outcome::NoAnswer | Outcome::Busy | Outcome::Rejected => Tone::Plain,
        Outcome::Cancelled | Outcome::Expired | Outcome::Blocked => Tone::Plain,
        Outcome::InvalidNumber | Outcome::Failed => Tone::Bad,
    };
    let text = match outcome {
        Outcome::AnsweredHuman => lang.t("Answered by a person", "Contestó una persona"),
        Outcome::Silent => lang.t("Silent", "En silencio"),
        Outcome::Voicemail => lang.t("Voicemail", "Buzón de voz"),
        Outcome::NoAnswer => lang.t("No answer", "Nadie contestó"),
        Outcome::Busy => lang.t("Busy", "Ocupado"),
        Outcome::Rejected => lang.t("Declined", "Rechazada"),
        Outcome::InvalidNumber => lang.t("Invalid number", "Número inválido"),
        Outcome::Cancelled => lang.t("Canceled", "Cancelada"),
        Outcome::Expired => lang.t("Not dialed", "No se marcó"),
        Outcome::Blocked => lang.t("Refused by a rule", "Detenida por una regla"),
        Outcome::Failed => lang.t("Error", "Error"),
    };
    (tone, text)
}

/// What came of it, or its state while it lasts.
pub(crate) fn result(conversation: &Conversation, lang: Lang) -> Markup {
    let Some(outcome) = conversation.outcome() else {
        return state(conversation, lang);
    };
    let (tone, text) = self::outcome(outcome, lang);
    html! {
        (words::badge(tone, text))
        @if let (Outcome::Failed, Some(reason)) = (outcome, conversation.failure_reason) { " " span.soft { (failed(reason, lang)) } }
    }
}

/// How an answered conversation ended, or why a call failed; empty while it lasts.
pub(crate) fn ending(conversation: &Conversation, lang: Lang) -> Markup {
    if !conversation.state.is_terminal() {
        return html! {};
    }
    let text = match (conversation.failure_reason, conversation.termination_reason) {
        (Some(reason), _) => failed(reason, lang),
        (None, Some(reason)) => ended(reason, lang),
        (None, None) => lang.t("Unknown", "Se desconoce"),
    };
    html! { (text) }
}

wording! {
    pub(super) ended(TerminationReason) {
        AgentHangup => "Ended by the agent", "La terminó el agente";
        CustomerHangup => "Ended by the customer", "La terminó el cliente";
        MaxDuration => "Max call length reached", "Llegó a la duración máxima";
        SilenceTimeout => "Silence timeout", "Silencio máximo alcanzado";
        Transferred => "Transferred to a person", "Se transfirió a una persona";
        Voicemail => "Voicemail answered", "Contestó un buzón de voz";
        ApiHangup => "Hung up from the portal or the API", "Se colgó desde el portal o por la API";
        Error => "Ended by an error", "La terminó un error";
    }
}

wording! {
    pub(crate) failed(FailureReason) {
        NoAnswer => "No answer", "Nadie contestó";
        Busy => "The line was busy", "La línea estaba ocupada";
        Rejected => "The call was declined", "La llamada fue rechazada";
        InvalidNumber => "The number does not exist: check it", "Ese número no existe: revísalo";
        CarrierError => "The carrier failed: try again, or check its credential",
            "Falló el operador telefónico: inténtalo de nuevo o revisa su credencial";
        AgentError => "The agent could not continue: check its models, voice and their credentials",
            "El agente no pudo continuar: revisa sus modelos, su voz y sus credenciales";
        Interrupted => "The service was interrupted during the call", "El servicio se interrumpió durante la llamada";
        ContextRefused => "Refused by the agent's context URL", "La rechazó la URL de contexto del agente";
        Cancelled => "Canceled before it was dialed", "Se canceló antes de marcar";
        ComplianceBlocked => "One of the account's calling rules refused it.",
            "Una regla de llamadas de la cuenta no la permitió.";
        Expired => "Waited too long for a free line and was not dialed",
            "Esperó demasiado una línea libre y no se marcó";
    }
}

/// The channel, and the direction of a call.
pub(crate) fn way(conversation: &Conversation, lang: Lang) -> Markup {
    html! {
        (channel(conversation.channel, lang))
        @if let Some(direction) = direction(conversation, lang) { " · " (direction) }
    }
}

/// The direction of a call; nothing for text.
fn direction(conversation: &Conversation, lang: Lang) -> Option<&'static str> {
    let is_phone = conversation
        .channel
        .is_none_or(|channel| channel == Channel::Phone);
    (conversation.voice && is_phone).then(|| match conversation.is_inbound() {
        true => lang.t("Incoming", "Entrante"),
        false => lang.t("Outgoing", "Saliente"),
    })
}

/// The customer's name in lists.
pub(crate) fn customer(conversation: &Conversation, lang: Lang) -> &str {
    match &conversation.customer_phone {
        Some(number) => number.as_str(),
        None if conversation.channel == Some(Channel::Phone) => {
            lang.t("Private number", "Número privado")
        }
        // Only team members use this channel.
        None if conversation.channel == Some(Channel::Chat) => {
            lang.t("Team member", "Miembro del equipo")
        }
        None => lang.t("Visitor", "Visitante"),
    }
}

/// The duration, after the end.
pub(crate) fn length(conversation: &Conversation) -> String {
    let ended = conversation.state.is_terminal();
    let seconds = conversation.duration_seconds.filter(|_| ended);
    seconds.map_or_else(|| "–".to_owned(), seconds_told)
}

pub(crate) fn seconds_told(seconds: i64) -> String {
    words::length(Duration::from_secs(u64::try_from(seconds).unwrap_or(0)))
}

/// How long it has lasted so far.
pub(crate) fn length_so_far(so_far: &SoFar) -> String {
    seconds_told(so_far.seconds)
}

/// The cost, after the end.
pub(crate) fn credits(conversation: &Conversation) -> String {
    let ended = conversation.state.is_terminal();
    let credits = conversation.credits.filter(|_| ended);
    credits.map_or_else(|| "–".to_owned(), words::count)
}
