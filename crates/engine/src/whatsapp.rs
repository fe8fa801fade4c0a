//! The port to WhatsApp's Cloud API, by which an account's numbers write to customers.

use std::time::Duration;

use async_trait::async_trait;
use offhook_domain::E164;

/// Characters that a message may have.
pub const MESSAGE_CHARS: usize = 4_096;

/// WhatsApp's Cloud API, asked with an account's own access token.
#[async_trait]
pub trait WhatsAppApi: Send + Sync {
    /// Sends a text, once; WhatsApp's id of it.
    ///
    /// # Errors
    /// [`SendError`] says whether the request can have had an effect.
    async fn send(&self, access_token: &str, text: &OutgoingText) -> Result<String, SendError>;
}

/// A text for a customer.
#[derive(Clone)]
pub struct OutgoingText {
    /// The account's number, as WhatsApp names it.
    pub phone_number_id: String,
    /// The customer.
    pub to: E164,
    /// At most [`MESSAGE_CHARS`].
    pub text: String,
    /// Our own id, which WhatsApp sends along with the message's statuses: they tell of it even where its answer was lost.
    pub reference: String,
}

/// Why a text was not sent, as far as is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SendError {
    /// No connection could be opened, so nothing was asked: it may be tried again.
    #[error("no connection to WhatsApp could be opened")]
    NotConnected,
    /// WhatsApp takes no more now, and did nothing: it may be tried again after a while.
    #[error("WhatsApp takes no more messages for now")]
    Busy(Option<Duration>),
    /// It will not.
    #[error("{0}")]
    Refused(Refusal),
    /// The request left, and nobody knows what became of it.
    #[error("{0}")]
    Unknown(Doubt),
}

/// What leaves it open whether a text was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Doubt {
    /// No answer came, or it broke off.
    #[error("WhatsApp did not answer")]
    NoAnswer,
    /// A server's error.
    #[error("WhatsApp answered with status {0}")]
    Status(u16),
    /// An answer that is not the documented one.
    #[error("WhatsApp's answer is not the documented one")]
    Form,
}

/// Why WhatsApp does not send a message, or did not deliver it; the sentence is for the account.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The access token is not valid, or does not open the number.
    #[error(
        "WhatsApp refused the access token: see that it is valid and has `whatsapp_business_messaging` for this number, and \
         store the credential `whatsapp` anew"
    )]
    Token,
    /// The customer last wrote too long ago.
    #[error(
        "WhatsApp sent nothing: the customer last wrote more than 24 hours ago, and has to write first"
    )]
    Window,
    /// The customer's number does not take it.
    #[error(
        "WhatsApp cannot deliver to this customer: the number may have no WhatsApp, or takes no messages of businesses"
    )]
    Undeliverable,
    /// The account's business is limited or owes money.
    #[error(
        "WhatsApp sends nothing for this business at present (code {0}): see its state and its payment in WhatsApp Manager"
    )]
    Business(i64),
    /// The number is none that WhatsApp sends from.
    #[error(
        "WhatsApp does not send from this number (code {0}): see that it is registered, and the ids in the credential"
    )]
    Number(i64),
    /// It says that it did not deliver the message, and not why.
    #[error("WhatsApp did not deliver the message, and does not say why")]
    Unexplained,
    /// Anything else, by the code that is in WhatsApp's list.
    #[error(
        "WhatsApp refused the message (code {0}): its meaning is in the list of the Cloud API's error codes"
    )]
    Code(i64),
    /// Anything else, by the status of the answer.
    #[error("WhatsApp refused the message with status {0}")]
    Status(u16),
}

impl Refusal {
    /// What an error code of the Cloud API means here.
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

/// Whether an error code says that WhatsApp takes no more for now, and did nothing.
pub const fn is_busy_code(code: i64) -> bool {
    matches!(code, 4 | 80_007 | 130_429 | 131_056)
}
