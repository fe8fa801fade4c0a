//! The port to WhatsApp's Cloud API, through which an account's numbers send messages to customers.

use std::time::Duration;

use async_trait::async_trait;
use offhook_domain::E164;

/// The longest message, in characters.
pub const MESSAGE_CHARS: usize = 4_096;

/// WhatsApp's Cloud API, with an account's own access token.
#[async_trait]
pub trait WhatsAppApi: Send + Sync {
    /// Sends a text once and returns WhatsApp's message id. [`SendError`] says whether the request can have had an
    /// effect.
    async fn send(&self, access_token: &str, text: &OutgoingText) -> Result<String, SendError>;
}

#[derive(Clone)]
pub struct OutgoingText {
    /// WhatsApp's id of the account's number.
    pub phone_number_id: String,
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

/// Why it is unknown whether a text was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Doubt {
    /// No answer came, or it broke off.
    #[error("WhatsApp did not answer")]
    NoAnswer,
    #[error("WhatsApp answered with status {0}")]
    Status(u16),
    /// The answer does not match the documentation.
    #[error("WhatsApp's answer is not the documented one")]
    Form,
}

/// Why WhatsApp does not send a message, or did not deliver it. The sentence is for the account.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The access token is invalid, or has no access to the number.
    #[error(
        "WhatsApp refused the access token: see that it is valid and has `whatsapp_business_messaging` for this number, and \
         store the credential `whatsapp` anew"
    )]
    Token,
    /// The customer's last message is too old.
    #[error(
        "WhatsApp sent nothing: the customer last wrote more than 24 hours ago, and has to write first"
    )]
    Window,
    /// The customer's number cannot receive the message.
    #[error(
        "WhatsApp cannot deliver to this customer: the number may have no WhatsApp, or takes no messages of businesses"
    )]
    Undeliverable,
    /// The account's business is limited or has unpaid bills.
    #[error(
        "WhatsApp sends nothing for this business at present (code {0}): see its state and its payment in WhatsApp Manager"
    )]
    Business(i64),
    /// WhatsApp does not send from this number.
    #[error(
        "WhatsApp does not send from this number (code {0}): see that it is registered, and the ids in the credential"
    )]
    Number(i64),
    /// WhatsApp did not deliver the message, without a reason.
    #[error("WhatsApp did not deliver the message, and does not say why")]
    Unexplained,
    /// Any other error, by its code in WhatsApp's list.
    #[error(
        "WhatsApp refused the message (code {0}): its meaning is in the list of the Cloud API's error codes"
    )]
    Code(i64),
    /// Any other error, by the answer's HTTP status.
    #[error("WhatsApp refused the message with status {0}")]
    Status(u16),
}

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
