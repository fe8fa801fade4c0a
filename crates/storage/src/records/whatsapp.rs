//! Conversations on WhatsApp: what customers sent, what they are sent, and who is at it.

use diesel::prelude::*;
use offhook_domain::{
    AccountId, ClaimId, ConversationId, E164, SentStatus, Timestamp, WhatsAppMessageId,
    WhatsAppThreadId,
};

use crate::schema;

/// What a customer and one of an account's numbers write each other.
#[derive(Debug, Clone, PartialEq, Eq, Queryable, Selectable)]
#[diesel(table_name = schema::whatsapp_threads)]
pub struct WhatsAppThread {
    /// Its id.
    pub id: WhatsAppThreadId,
    /// Whose number it is.
    pub account_id: AccountId,
    /// The account's number.
    pub own_number: E164,
    /// The customer's.
    pub customer: E164,
    /// The account's number as WhatsApp names it.
    pub phone_number_id: String,
    /// The conversation that began last; it may have ended.
    pub conversation_id: Option<ConversationId>,
    /// The conversation in which the customer was told that only text is understood.
    pub told_in: Option<ConversationId>,
    /// When the customer last wrote.
    pub heard_at: Timestamp,
}

/// A message of a customer, as a webhook tells of it.
#[derive(Clone)]
pub struct NewWhatsAppMessage {
    /// Whose number it was sent to.
    pub account_id: AccountId,
    /// WhatsApp's id of it.
    pub wamid: String,
    /// The account's number.
    pub own_number: E164,
    /// The account's number as WhatsApp names it.
    pub phone_number_id: String,
    /// Who sent it.
    pub customer: E164,
    /// What it is: `text`, `image`, ….
    pub kind: String,
    /// What it says, if it is text.
    pub text: Option<String>,
    /// When it was sent, and no later than now.
    pub sent_at: Timestamp,
    /// When it came here.
    pub received_at: Timestamp,
}

/// A message of a customer that waits for its answer.
#[derive(Clone, Queryable, Selectable)]
#[diesel(table_name = schema::whatsapp_received)]
pub struct WhatsAppReceived {
    /// WhatsApp's id of it.
    pub wamid: String,
    /// What it is.
    pub kind: String,
    /// What it says, if it is text.
    pub content: Option<String>,
    /// When it came here.
    pub received_at: Timestamp,
    /// From when on it is to be looked at.
    pub due_at: Timestamp,
    /// How often its answer was tried in vain.
    pub tries: i32,
}

/// A message that a customer is to get.
#[derive(Clone, Queryable, Selectable)]
#[diesel(table_name = schema::whatsapp_sent)]
pub struct WhatsAppOutgoing {
    /// Its id; WhatsApp sends it along with the message's statuses.
    pub id: WhatsAppMessageId,
    /// The conversation.
    pub conversation_id: ConversationId,
    /// What it says; gone once it has left.
    pub content: Option<String>,
    /// Where it is.
    pub status: SentStatus,
    /// How often it was refused for the moment.
    pub tries: i32,
    /// When the answer was written.
    pub queued_at: Timestamp,
    /// From when on it may be sent.
    pub due_at: Timestamp,
}

/// How a message to a customer fares.
#[derive(Debug, Clone, PartialEq, Eq, Queryable, Selectable)]
#[diesel(table_name = schema::whatsapp_sent)]
pub struct WhatsAppSent {
    /// Where it is.
    pub status: SentStatus,
    /// Why it failed, in a sentence.
    pub failure: Option<String>,
    /// When the answer was written.
    pub queued_at: Timestamp,
    /// When its status last changed.
    pub updated_at: Timestamp,
}

/// What a webhook tells of a message that was sent.
#[derive(Debug, Clone)]
pub struct WhatsAppNews {
    /// Whose message.
    pub account_id: AccountId,
    /// Our id, if WhatsApp sent it along.
    pub reference: Option<WhatsAppMessageId>,
    /// WhatsApp's id of it.
    pub wamid: String,
    /// What became of it.
    pub status: SentStatus,
    /// Why it failed, in a sentence.
    pub failure: Option<String>,
}

/// What is to be done next under a claim.
pub enum WhatsAppStep {
    /// This message is to be sent.
    Send(WhatsAppThread, WhatsAppOutgoing),
    /// This one is to be answered.
    Answer(WhatsAppThread, WhatsAppReceived),
    /// Nothing, for now.
    Rest,
    /// Somebody else has the claim.
    Lost,
}

/// What became of a request that may have sent a message.
#[derive(Debug, Clone)]
pub enum WhatsAppOutcome {
    /// WhatsApp took it over, under this id.
    Accepted(String),
    /// It had no effect for sure: it is to be tried again from then on.
    Later(Timestamp),
    /// Nobody knows; it is not tried again. The sentence is for the transcript.
    Unknown(String),
    /// The customer will not get it; the sentence says why. What belongs to the same answer is not sent either.
    Failed(String),
}

/// What a customer is told beside what an agent answers, and what the transcript says of it.
pub struct WhatsAppRemark {
    /// The customer's words, as the transcript has them.
    pub customer: String,
    /// What the agent says to that, in so many messages; none: nothing.
    pub agent: Vec<String>,
    /// What the account reads besides.
    pub note: Option<String>,
}

/// Who does something to a thread: every step is fenced by the claim.
#[derive(Debug, Clone, Copy)]
pub struct WhatsAppHold {
    /// The thread.
    pub thread: WhatsAppThreadId,
    /// The claim.
    pub claim: ClaimId,
}

/// The present, twice: as customers read it, and as what is due is judged by.
#[derive(Debug, Clone, Copy)]
pub struct WhatsAppTimes {
    /// [`offhook_domain::Clock::now`].
    pub now: Timestamp,
    /// [`offhook_domain::Clock::steady`].
    pub steady: Timestamp,
}
