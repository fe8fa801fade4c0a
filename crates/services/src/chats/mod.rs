//! Text conversations with agents. A page that the agent's widget lists starts them, the same dialogue as in calls
//! answers them, and either side or silence ends them.

mod accepting;
mod answering;
mod door;
mod endings;
mod member;
mod open;
mod reply;
mod work;

use crate::digest::sha256;
use crate::error::Result;
use crate::prelude::*;

pub use answering::{Answering, ChatEvent};
pub use door::WidgetDoor;
pub(crate) use endings::{end, end_the_silent};
pub use open::OpenedChat;
pub(crate) use open::admit;
pub use reply::ChatReply;
pub(crate) use work::Work;

/// The prefix of every session token.
const TOKEN_PREFIX: &str = "chat_";

/// Hexadecimal characters after the prefix.
const TOKEN_HEX: usize = 64;

/// Turns that a session shows when its page reloads.
const SHOWN_TURNS: i64 = 1_000;

/// The error for an unknown COMMIT: a retry tells what happened.
pub(crate) const IN_DOUBT: &str =
    "It may have been done: a retry with the same `message_id` tells.";

#[derive(Clone)]
pub struct Chats(pub(crate) Arc<Runner>);

/// A session as its page may see it.
#[derive(Debug, Clone)]
pub struct ChatTranscript {
    pub id: ConversationId,
    /// Whether it takes messages.
    pub is_open: bool,
    /// Whether a message is being answered.
    pub is_answering: bool,
    /// When its token expires.
    pub token_expires_at: Timestamp,
    /// What customer and agent said, oldest first. Tool requests and responses are visible to the account only.
    pub turns: Vec<Moment>,
}

#[boxed]
impl Chats {
    /// Whether any account's enabled widget lists this origin; CORS preflights depend on it.
    pub async fn knows_origin(&self, origin: &str) -> Result<bool, StoreError> {
        self.0.store.is_widget_origin(origin.to_owned()).await
    }

    /// The session that the token opens for a page of this origin. Unknown, forged and expired tokens take the same
    /// path.
    pub async fn enter(&self, id: ConversationId, token: &str, origin: &str) -> Result<ChatView> {
        let digest = token_digest(token).ok_or(UseCaseError::Unauthorized)?;
        let view = self.0.store.chat(id, digest.to_vec()).await?;
        let now = self.0.clock.now();
        let view = view
            .filter(|view| view.session.token_expires_at > now)
            .ok_or(UseCaseError::Unauthorized)?;
        if view.session.origin != origin || !view.is_served {
            return Err(UseCaseError::Origin);
        }
        Ok(view)
    }

    /// What was said in an entered session.
    pub async fn transcript(&self, view: &ChatView) -> Result<ChatTranscript> {
        let id = view.session.conversation_id;
        let mut turns = self.0.store.chat_history(id, SHOWN_TURNS).await?;
        turns.retain(|turn| turn.role.as_deref() != Some("tool"));
        Ok(ChatTranscript {
            id,
            is_open: view.session.is_open,
            is_answering: view.session.is_open && view.session.claim_id.is_some(),
            token_expires_at: view.session.token_expires_at,
            turns,
        })
    }

    /// Ends an entered session, and the answer being written in it. Ending it again changes nothing.
    pub async fn end(&self, view: &ChatView) -> Result<()> {
        let reason = TerminationReason::CustomerHangup;
        let ended = endings::end(&self.0, view.session.conversation_id, reason).await;
        ended.map(drop).map_err(UseCaseError::of_write(IN_DOUBT))
    }
}

/// The digest of a random token that no client receives, for sessions that no token opens.
pub(crate) fn unknown_token() -> Result<Vec<u8>, StoreError> {
    Ok(sha256(open::new_token()?.as_bytes()).to_vec())
}

/// The stored digest of a well-formed token.
fn token_digest(token: &str) -> Option<[u8; 32]> {
    let hex = token.strip_prefix(TOKEN_PREFIX)?;
    let well_formed =
        hex.len() == TOKEN_HEX && hex.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
    well_formed.then(|| sha256(token.as_bytes()))
}
