//! Starts a text conversation.

use offhook_boxed::boxed;
use std::sync::atomic::Ordering;
use std::time::Duration;

use offhook_domain::json::{Fields, Json};
use offhook_domain::{AgentConfig, AgentId, AgentStatus, ConversationId, Metadata, Timestamp};
use offhook_storage::{ChatOpened, NewChat, StoreError, WidgetAgent, mint};
use ring::rand::{SecureRandom, SystemRandom};

use super::{AN_ANSWER, Chats, IN_DOUBT, STOPPING, TOKEN_HEX, TOKEN_PREFIX};
use crate::agents::corrupt;
use crate::digest::sha256;
use crate::error::{Result, UseCaseError};
use crate::{Refusal, Runner};

/// How long a session's token is valid: longer than any visit. The session ends half an hour after its last message
/// anyway.
pub(super) const TOKEN_LIFE: Duration = Duration::from_secs(4 * 3_600);

const MINUTE_US: i64 = 60_000_000;
const DAY_US: i64 = 86_400_000_000;

pub struct OpenedChat {
    /// Its id, which is also the conversation's.
    pub id: ConversationId,
    /// The session's token; shown once.
    pub token: String,
    pub token_expires_at: Timestamp,
    /// The agent's first message, if it has one.
    pub first_message: Option<String>,
}

#[boxed]
impl Chats {
    /// Starts a conversation for a page of this origin. After an error nothing was written, except perhaps after
    /// [`UseCaseError::UnknownCommit`].
    pub async fn open(&self, origin: &str, body: &Json) -> Result<OpenedChat> {
        if self.0.stopping.load(Ordering::SeqCst) {
            return Err(UseCaseError::Stopping(STOPPING));
        }
        let (agent_id, metadata) = read(body)?;
        let found = self.0.store.widget_agent(agent_id).await?;
        let found = found.ok_or(UseCaseError::NotFound)?;
        let config = admit(&self.0, &found, origin)?;
        let at = self.0.clock.now();
        let first_message = config.rendered(&metadata).first_message;
        let first_message = Some(first_message).filter(|text| !text.trim().is_empty());
        let token = new_token()?;
        let chat = NewChat {
            id: mint(at),
            account_id: found.account.id,
            agent_id,
            agent_version: found.agent.published_version,
            metadata: metadata.as_json_text().to_owned(),
            price: self
                .0
                .providers
                .catalog
                .dearest(found.account.plan, &config),
            origin: origin.to_owned(),
            token_digest: sha256(token.as_bytes()).to_vec(),
            token_expires_at: at.plus(TOKEN_LIFE),
            first_message: first_message.clone(),
            at,
        };
        let opened = OpenedChat {
            id: chat.id,
            token,
            token_expires_at: chat.token_expires_at,
            first_message,
        };
        let id = chat.id;
        let steady = self.0.clock.steady();
        let begun = self.0.store.open_chat(chat, steady).await;
        match begun.map_err(UseCaseError::of_write(IN_DOUBT))? {
            ChatOpened::Opened => {
                tracing::info!(conversation = %id, "chat began");
                Ok(opened)
            }
            ChatOpened::Refused => Err(UseCaseError::Origin),
            ChatOpened::TooMany => Err(too_many(at)),
            ChatOpened::CapReached => Err(cap_reached(at)),
            ChatOpened::WalletTooLow => Err(UseCaseError::PaymentRequired(AN_ANSWER)),
        }
    }
}

/// The configuration that answers, if the widget is enabled, lists the origin, and the agent takes conversations.
pub(crate) fn admit(shared: &Runner, found: &WidgetAgent, origin: &str) -> Result<AgentConfig> {
    let settings = found.settings.as_ref();
    let settings = settings
        .filter(|settings| settings.enabled)
        .ok_or(UseCaseError::NotFound)?;
    if !settings.origins.iter().any(|listed| listed == origin) {
        return Err(UseCaseError::Origin);
    }
    if !shared.plans.terms(found.account.plan).api {
        return Err(UseCaseError::PlanLimit(Refusal::NoApi));
    }
    check_serves(found.agent.status)?;
    let stored = found
        .config
        .as_deref()
        .ok_or(UseCaseError::AgentDisabled(Refusal::NeverPublished))?;
    Ok(AgentConfig::from_stored(stored).map_err(corrupt)?)
}

pub(super) fn check_serves(status: AgentStatus) -> Result<()> {
    if status == AgentStatus::Active {
        return Ok(());
    }
    Err(UseCaseError::AgentDisabled(Refusal::AgentAnswersNot(
        status,
    )))
}

pub(crate) fn cap_reached(at: Timestamp) -> UseCaseError {
    UseCaseError::RateLimited(Refusal::CapReached, seconds_to_the_next(DAY_US, at))
}

pub(crate) fn too_many(at: Timestamp) -> UseCaseError {
    UseCaseError::RateLimited(Refusal::TooManySessions, seconds_to_the_next(MINUTE_US, at))
}

/// A malformed agent id is reported as an unknown agent.
pub(super) fn read(body: &Json) -> Result<(AgentId, Metadata)> {
    let mut fields = Fields::of(body, "")?;
    let agent = fields.required_string("agent_id", 1..=255)?;
    let metadata = match fields.present("metadata") {
        Some(json) => Metadata::from_json(json, "metadata")?,
        None => Metadata::empty(),
    };
    fields.finish()?;
    let agent = agent.parse().map_err(|_| UseCaseError::NotFound)?;
    Ok((agent, metadata))
}

pub(super) fn new_token() -> Result<String, StoreError> {
    let mut random = [0; TOKEN_HEX / 2];
    SystemRandom::new()
        .fill(&mut random)
        .map_err(|_| StoreError::Internal("the system gives no randomness".to_owned()))?;
    Ok(format!("{TOKEN_PREFIX}{}", hex::encode(random)))
}

/// Seconds to the next whole `period` of microseconds, rounded up.
fn seconds_to_the_next(period: i64, at: Timestamp) -> u64 {
    let left = period - at.micros().rem_euclid(period);
    u64::try_from(left).unwrap_or(0).div_ceil(1_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_ends_with_the_minute_or_the_day() {
        let at = |micros| Timestamp::from_micros(micros);
        assert_eq!(seconds_to_the_next(MINUTE_US, at(0)), 60);
        assert_eq!(seconds_to_the_next(MINUTE_US, at(59_999_999)), 1);
        assert_eq!(seconds_to_the_next(MINUTE_US, at(61_500_000)), 59);
        assert_eq!(seconds_to_the_next(DAY_US, at(86_399_000_000)), 1);
    }
}
