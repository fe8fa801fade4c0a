//! The statuses of WhatsApp messages.

use crate::agent::vocabulary;
use crate::messages;

vocabulary! {
    /// The status of a message to a customer. A message is sent at most once: only `queued` ones are sent.
    SentStatus {
        /// Waiting to be sent.
        Queued => "queued",
        /// The request may have been sent.
        Sending => "sending",
        /// The request was sent and its result is unknown, unless WhatsApp reports it later.
        Unknown => "unknown",
        /// WhatsApp has accepted it.
        Accepted => "accepted",
        /// WhatsApp has sent it.
        Sent => "sent",
        /// It has reached the customer's device.
        Delivered => "delivered",
        /// The customer has read it.
        Read => "read",
        /// The customer will not receive it.
        Failed => "failed",
    }
}

impl SentStatus {
    /// Returns whether the report `later` replaces this status. Reports come in any order and more than once: a status
    /// never goes back, and a delivered message has not failed.
    #[must_use]
    pub const fn gives_way_to(self, later: Self) -> bool {
        match (self, later) {
            (Self::Delivered | Self::Read | Self::Failed, Self::Failed) => false,
            (_, Self::Failed) => true,
            // Reported as failed, but it arrived after all.
            (Self::Failed, Self::Delivered | Self::Read) => true,
            (Self::Failed, _) => false,
            (now, later) => (now as u8) < (later as u8),
        }
    }
}

messages! { stored
/// What an account reads about its messages on WhatsApp, besides WhatsApp's own reasons.
pub enum WhatsAppNote {
    NoReply => "Not answered: no model could be reached. The customer was told nothing.",
        "Sin respuesta: no se pudo llegar a ningún modelo. No se le dijo nada al cliente.";
    NoCredits => "Not answered: the account's credits do not cover an answer. The customer was told nothing.",
        "Sin respuesta: los créditos de la cuenta no alcanzan para una. No se le dijo nada al cliente.";
    Late => "Not sent: WhatsApp could not be reached, or took no messages, for 15 minutes.",
        "No se envió: durante 15 minutos no se pudo llegar a WhatsApp, o no aceptó mensajes.";
    NoCredential => "Not sent: the account has no credential `whatsapp` any more that names this number.",
        "No se envió: la cuenta ya no tiene una credencial `whatsapp` que nombre este número.";
    Interrupted =>
        "It is not known whether WhatsApp took this message: the process that sent it ended before it was answered. It is \
         not sent again.",
        "No se sabe si WhatsApp aceptó este mensaje: el proceso que lo envió terminó antes de la respuesta. No se envía otra vez.";
    Taken => "WhatsApp did take the message of which it was not known whether it was sent.",
        "WhatsApp sí aceptó el mensaje del que no se sabía si se había enviado.";
}}

#[cfg(test)]
mod tests {
    use super::SentStatus as S;

    #[test]
    fn a_status_never_goes_back_whatever_the_order_of_reports() {
        let told = |news: &[S]| {
            news.iter()
                .fold(S::Accepted, |now, news| match now.gives_way_to(*news) {
                    true => *news,
                    false => now,
                })
        };
        assert_eq!(told(&[S::Sent, S::Delivered, S::Read]), S::Read);
        assert_eq!(told(&[S::Read, S::Delivered, S::Sent, S::Sent]), S::Read);
        assert_eq!(told(&[S::Failed, S::Sent]), S::Failed);
        assert_eq!(told(&[S::Sent, S::Failed, S::Failed]), S::Failed);
        assert_eq!(told(&[S::Delivered, S::Failed]), S::Delivered);
        assert_eq!(told(&[S::Failed, S::Delivered]), S::Delivered);
    }
}
