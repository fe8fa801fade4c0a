//! The port to WhatsApp's Cloud API, through which an account's numbers send messages to customers.

use std::time::Duration;

use async_trait::async_trait;

use crate::{E164, messages};

/// The longest message, in characters.
pub const MESSAGE_CHARS: usize = 4_096;

/// WhatsApp's Cloud API, with an account's own access token.
#[async_trait]
pub trait WhatsAppApi: Send + Sync {
    /// Sends a text once and returns WhatsApp's message id. [`SendError`] says whether the request can have had an
    /// effect.
    async fn send(&self, access_token: &str, text: &OutgoingText) -> Result<String, SendError>;
}

/// A text to a customer.
#[derive(Clone)]
pub struct OutgoingText {
    /// WhatsApp's id of the account's number.
    pub phone_number_id: String,
    /// The customer's number.
    pub to: E164,
    /// At most [`MESSAGE_CHARS`].
    pub text: String,
    /// Our own id. WhatsApp includes it in the message's statuses, so they can be matched even if its answer was lost.
    pub reference: String,
}

/// Why a text was not sent, as far as known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SendError {
    /// No connection could be opened, so no request was sent. It may be retried.
    #[error("no connection to WhatsApp could be opened")]
    NotConnected,
    /// WhatsApp accepts no messages now and did nothing. Retry after this time.
    #[error("WhatsApp takes no more messages for now")]
    Busy(Option<Duration>),
    /// WhatsApp refused the message.
    #[error("{0}")]
    Refused(Refusal),
    /// The request was sent, and its effect is unknown.
    #[error("{0}")]
    Unknown(Doubt),
}

messages! { stored
/// Why it is unknown whether a text was sent.
#[derive(Copy)]
pub enum Doubt {
    /// No answer came, or it broke off.
    NoAnswer => "WhatsApp did not answer", "WhatsApp no respondió";
    Status(status: u16) => "WhatsApp answered with status {status}", "WhatsApp respondió con el estado {status}";
    Form => "WhatsApp's answer is not the documented one", "la respuesta de WhatsApp no es la documentada";
}}

messages! { stored
/// Why WhatsApp does not send a message, or did not deliver it.
#[derive(Copy)]
pub enum Refusal {
    Token =>
        "WhatsApp refused the access token: see that it is valid and has `whatsapp_business_messaging` for this number, and \
         store the credential `whatsapp` anew",
        "WhatsApp rechazó el token de acceso: revisa que sea válido y que tenga `whatsapp_business_messaging` para este \
         número, y guarda de nuevo la credencial `whatsapp`";
    Window => "WhatsApp sent nothing: the customer last wrote more than 24 hours ago, and has to write first",
        "WhatsApp no envió nada: el cliente escribió por última vez hace más de 24 horas, y tiene que escribir primero";
    Undeliverable =>
        "WhatsApp cannot deliver to this customer: the number may have no WhatsApp, or takes no messages of businesses",
        "WhatsApp no puede entregar a este cliente: quizá el número no tiene WhatsApp, o no acepta mensajes de empresas";
    /// The account's business is limited or has unpaid bills.
    Business(code: i64) =>
        "WhatsApp sends nothing for this business at present (code {code}): see its state and its payment in WhatsApp Manager",
        "WhatsApp no envía nada de esta empresa por ahora (código {code}): revisa su estado y su pago en WhatsApp Manager";
    Number(code: i64) =>
        "WhatsApp does not send from this number (code {code}): see that it is registered, and the ids in the credential",
        "WhatsApp no envía desde este número (código {code}): revisa que esté registrado, y los ids de la credencial";
    Unexplained => "WhatsApp did not deliver the message, and does not say why",
        "WhatsApp no entregó el mensaje, y no dice por qué";
    Code(code: i64) => "WhatsApp refused the message (code {code}): its meaning is in the list of the Cloud API's error codes",
        "WhatsApp rechazó el mensaje (código {code}): su significado está en la lista de códigos de error de la Cloud API";
    Status(status: u16) => "WhatsApp refused the message with status {status}",
        "WhatsApp rechazó el mensaje con el estado {status}";
}}

impl Refusal {
    /// Classifies an error code of the Cloud API.
    pub const fn of_code(code: i64) -> Self {
        match code {
            0 | 3 | 10 | 190 | 200..=299 => Self::Token,
            131_047 | 470 => Self::Window,
            131_026 | 131_021 | 131_030 | 131_049 | 131_050 => Self::Undeliverable,
            131_031 | 131_042 | 131_048 | 368 | 130_497 => Self::Business(code),
            33 | 131_045 | 133_010 => Self::Number(code),
            code => Self::Code(code),
        }
    }
}

/// Whether an error code means that WhatsApp accepts no messages for now, and did nothing.
pub const fn is_busy_code(code: i64) -> bool {
    matches!(code, 4 | 80_007 | 130_429 | 131_056)
}
