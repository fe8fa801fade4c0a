//! States and failures of webhooks in plain words.

use offhook_services::store::{
    Attempt, AttemptOutcome, DISABLED_AS_FAILING, DeliveryState, Endpoint, EndpointHealth,
    EndpointStatus,
};

use crate::prelude::*;

/// A delivery's state.
pub(super) const fn state_name(state: DeliveryState, lang: Lang) -> &'static str {
    match state {
        DeliveryState::Pending => lang.t("Pending", "Pendiente"),
        DeliveryState::Retrying => lang.t("Retrying", "Reintentando"),
        DeliveryState::Delivered => lang.t("Delivered", "Entregado"),
        DeliveryState::Exhausted => lang.t("Failed", "Falló"),
        DeliveryState::Cancelled => lang.t("Canceled", "Cancelado"),
    }
}

/// The same as a badge.
pub(in crate::pages) fn state_badge(visitor: &Visitor, state: DeliveryState) -> Markup {
    words::badge(delivery_tone(state), state_name(state, visitor.lang()))
}

/// A state's tone.
pub(in crate::pages) const fn delivery_tone(state: DeliveryState) -> Tone {
    match state {
        DeliveryState::Pending | DeliveryState::Retrying => Tone::Busy,
        DeliveryState::Delivered => Tone::Good,
        DeliveryState::Exhausted => Tone::Bad,
        DeliveryState::Cancelled => Tone::Plain,
    }
}

wording! {
    /// What a delivery's state means, and what happens next.
    pub(super) state_told(DeliveryState) {
        Pending => "Waiting for the first attempt.", "En espera del primer intento.";
        Retrying => "The last attempt failed. It is retried automatically, up to four attempts in total.",
            "El último intento falló. Se reintenta automáticamente, hasta cuatro intentos en total.";
        Delivered => "Your server responded with a 2xx status in time.",
            "Tu servidor respondió con un estado 2xx a tiempo.";
        Exhausted => "Four attempts failed. It is not retried unless you resend it.",
            "Fallaron cuatro intentos. No se reintenta a menos que la reenvíes.";
        Cancelled => "Its endpoint was disabled or deleted before it was delivered.",
            "Su punto de conexión se deshabilitó o se eliminó antes de la entrega.";
    }
}

/// The state of an endpoint.
pub(super) fn endpoint_badge(
    visitor: &Visitor,
    endpoint: &Endpoint,
    health: Option<&EndpointHealth>,
) -> Markup {
    let t = visitor.lang();
    if endpoint.status == EndpointStatus::Disabled {
        return match endpoint.disabled_reason.as_deref() {
            Some(DISABLED_AS_FAILING) => words::badge(
                Tone::Bad,
                t.t(
                    "Disabled: it kept failing",
                    "Deshabilitado: fallaba siempre",
                ),
            ),
            _ => words::badge(Tone::Plain, t.t("Disabled", "Deshabilitado")),
        };
    }
    let failing = health.and_then(|health| health.failing_since);
    if let Some(since) = failing {
        return html! {
            (words::badge(Tone::Bad, t.t("Failing", "Fallando")))
            br;
            span.soft { (t.t("since ", "desde ")) (words::when(since)) }
        };
    }
    let newest = health.and_then(|health| health.newest.as_ref());
    match newest.map(|delivery| delivery.state) {
        None => words::badge(Tone::Plain, t.t("Nothing sent yet", "Aún sin envíos")),
        Some(DeliveryState::Delivered) => words::badge(Tone::Good, t.t("Receiving", "Recibiendo")),
        Some(_) => words::badge(Tone::Good, t.t("Enabled", "Habilitado")),
    }
}

/// The outcome of an attempt.
pub(super) fn attempt_badge(visitor: &Visitor, attempt: &Attempt) -> Markup {
    let t = visitor.lang();
    let (tone, text) = match attempt.outcome {
        AttemptOutcome::Begun => (Tone::Busy, t.t("In progress", "En curso")),
        AttemptOutcome::Succeeded => (Tone::Good, t.t("Accepted", "Aceptado")),
        AttemptOutcome::Failed => (Tone::Bad, t.t("Failed", "Falló")),
        AttemptOutcome::Abandoned => (Tone::Plain, t.t("Interrupted", "Interrumpido")),
    };
    words::badge(tone, text)
}

/// Why an attempt failed, by the service's word for it; the word itself if it is not known here.
pub(super) fn failure(word: &str, lang: Lang) -> &str {
    match word {
        "invalid_url" => lang.t(
            "The URL is not allowed. Nothing was sent.",
            "La URL no está permitida. No se envió nada.",
        ),
        "blocked_address" => lang.t(
            "The host name resolves to an address that is not public. Nothing was sent.",
            "El nombre del servidor lleva a una dirección que no es pública. No se envió nada.",
        ),
        "dns" => lang.t(
            "The host name could not be resolved.",
            "No se pudo resolver el nombre del servidor.",
        ),
        "connect" => lang.t("Could not connect.", "No se pudo conectar."),
        "tls" => lang.t(
            "The certificate is not valid, or the TLS handshake failed.",
            "El certificado no es válido o falló la negociación TLS.",
        ),
        "timeout" => lang.t(
            "Your server did not respond within 10 seconds.",
            "Tu servidor no respondió en 10 segundos.",
        ),
        "reset" => lang.t(
            "Your server closed the connection before it responded.",
            "Tu servidor cerró la conexión antes de responder.",
        ),
        "protocol" => lang.t(
            "The response was not HTTP/1.1.",
            "La respuesta no fue HTTP/1.1.",
        ),
        other => other,
    }
}
