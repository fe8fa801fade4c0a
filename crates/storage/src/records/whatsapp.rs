//! Conversations on WhatsApp: received messages, sent messages and claims.

use diesel::prelude::*;
use offhook_domain::{
    AccountId, ClaimId, ConversationId, E164, SentStatus, Timestamp, WhatsAppMessageId,
    WhatsAppThreadId,
};

use crate::schema;

/// The thread between a customer and one of an account's numbers.
#[derive(Debug, Clone, PartialEq, Eq, Queryable, Selectable)]
#[diesel(table_name = schema::whatsapp_threads)]
pub struct WhatsAppThread {
    pub id: WhatsAppThreadId,
    /// The account of the number.
    pub account_id: AccountId,
    /// The account's number.
    pub own_number: E164,
    /// The customer's number.
    pub customer: E164,
    /// WhatsApp's id of the account's number.
    pub phone_number_id: String,
    /// The newest conversation; it may have ended.
    pub conversation_id: Option<ConversationId>,
    /// The conversation in which the customer was told that only text is understood.
    pub told_in: Option<ConversationId>,
    /// When the customer last wrote.
    pub heard_at: Timestamp,
}

/// A customer's message, as a webhook reports it.
#[derive(Clone)]
pub struct NewWhatsAppMessage {
    /// The account of the number that it was sent to.
    pub account_id: AccountId,
    /// WhatsApp's id of the message.
    pub wamid: String,
    /// The account's number.
    pub own_number: E164,
    /// WhatsApp's id of the account's number.
    pub phone_number_id: String,
    /// The sender.
    pub customer: E164,
    /// `text`, `image`, ….
    pub kind: String,
    /// Its text, if it is a text message.
    pub text: Option<String>,
    /// When it was sent, but no later than now.
    pub sent_at: Timestamp,
    /// When it arrived here.
    pub received_at: Timestamp,
}

/// A customer's message that waits for its answer.
#[derive(Clone, Queryable, Selectable)]
#[diesel(table_name = schema::whatsapp_received)]
pub struct WhatsAppReceived {
    /// WhatsApp's id of the message.
    pub wamid: String,
    /// `text`, `image`, ….
    pub kind: String,
    /// Its text, if it is a text message.
    pub content: Option<String>,
    /// When it arrived here.
    pub received_at: Timestamp,
    /// When it is due for processing.
    pub due_at: Timestamp,
    /// How often answering it failed.
    pub tries: i32,
}

/// A message to a customer.
#[derive(Clone, Queryable, Selectable)]
#[diesel(table_name = schema::whatsapp_sent)]
pub struct WhatsAppOutgoing {
    /// Its id, which WhatsApp includes in the message's statuses.
    pub id: WhatsAppMessageId,
    pub conversation_id: ConversationId,
    /// Its text; removed once it has been sent.
    pub content: Option<String>,
    pub status: SentStatus,
    /// How often sending failed temporarily.
    pub tries: i32,
    /// When the answer was written.
    pub queued_at: Timestamp,
    /// When it may be sent.
    pub due_at: Timestamp,
}

/// The status of a message to a customer.
#[derive(Debug, Clone, PartialEq, Eq, Queryable, Selectable)]
#[diesel(table_name = schema::whatsapp_sent)]
pub struct WhatsAppSent {
    pub status: SentStatus,
    /// Why it failed, in a sentence.
    pub failure: Option<String>,
    /// When the answer was written.
    pub queued_at: Timestamp,
    /// When its status last changed.
    pub updated_at: Timestamp,
}

/// A webhook's report on a sent message.
#[derive(Debug, Clone)]
pub struct WhatsAppReport {
    pub account_id: AccountId,
    /// Our id, if WhatsApp included it.
    pub reference: Option<WhatsAppMessageId>,
    /// WhatsApp's id of the message.
    pub wamid: String,
    pub status: SentStatus,
    /// Why it failed, in a sentence.
    pub failure: Option<String>,
}

/// The next step under a claim.
pub enum WhatsAppStep {
    /// Send this message.
    Send(WhatsAppThread, WhatsAppOutgoing),
    /// Answer this message.
    Answer(WhatsAppThread, WhatsAppReceived),
    /// Nothing to do for now.
    Rest,
    /// Another worker has the claim.
    Lost,
}

/// The result of a request that may have sent a message.
#[derive(Debug, Clone)]
pub enum WhatsAppOutcome {
    /// WhatsApp accepted it under this id.
    Accepted(String),
    /// It certainly had no effect. Retry it from this time on.
    Later(Timestamp),
    /// The result is unknown, so it is not retried. The sentence is for the transcript.
    Unknown(String),
    /// The customer will not get it; the sentence says why. The rest of the same answer is not sent either.
    Failed(String),
}

/// A message to the customer that is not an agent's answer, and its transcript.
pub struct WhatsAppRemark {
    /// The customer's message, as the transcript shows it.
    pub customer: String,
    /// The agent's reply, as separate messages; may be empty.
    pub agent: Vec<String>,
    /// A note that only the account sees.
    pub note: Option<String>,
}

/// A worker's claim of a thread, which fences its every step.
#[derive(Debug, Clone, Copy)]
pub struct WhatsAppClaim {
    pub thread: WhatsAppThreadId,
    pub claim: ClaimId,
}

/// The current time by two clocks: one that customers read, one that decides what is due.
#[derive(Debug, Clone, Copy)]
pub struct WhatsAppTimes {
    /// [`offhook_domain::Clock::now`].
    pub now: Timestamp,
    /// [`offhook_domain::Clock::steady`].
    pub steady: Timestamp,
}
