//! Text conversations of an account's own members, who try an agent before a page shows it. The rules of other
//! conversations hold, except those of widgets: channel `chat`, no origin and no token, because membership admits them.

use offhook_boxed::boxed;
use std::sync::atomic::Ordering;

use offhook_domain::json::Json;
use offhook_domain::{AgentConfig, ConversationId};
use offhook_storage::{ChatOpened, ChatView, NewChat, mint};

use super::open::{TOKEN_LIFE, cap_reached, check_serves, read};
use super::{AN_ANSWER, Chats, IN_DOUBT, STOPPING, unknown_token};
use crate::agents::corrupt;
use crate::error::{Result, UseCaseError};
use crate::{Caller, Refusal};

#[boxed]
impl Chats {
    /// Starts a member's conversation with a published agent of the account: `{agent_id, metadata?}`. After an error
    /// nothing was written, except perhaps after [`UseCaseError::UnknownCommit`].
    pub async fn open_for_member(&self, caller: &Caller, body: &Json) -> Result<ConversationId> {
        if self.0.stopping.load(Ordering::SeqCst) {
            return Err(UseCaseError::Stopping(STOPPING));
        }
        let (agent_id, metadata) = read(body)?;
        let store = &self.0.store;
        let found = store.member_agent(caller.account.id, agent_id).await?;
        let found = found.ok_or(UseCaseError::NotFound)?;
        if !caller.terms.api {
            return Err(UseCaseError::PlanLimit(Refusal::NoApi));
        }
        check_serves(found.agent.status)?;
        let stored = found
            .config
            .as_deref()
            .ok_or(UseCaseError::AgentDisabled(Refusal::NeverPublished))?;
        let config = AgentConfig::from_stored(stored).map_err(corrupt)?;
        let at = self.0.clock.now();
        let first_message = config.rendered(&metadata).first_message;
        let id: ConversationId = mint(at);
        let chat = NewChat {
            id,
            account_id: caller.account.id,
            agent_id,
            agent_version: found.agent.published_version,
            metadata: metadata.as_json_text().to_owned(),
            price: self
                .0
                .providers
                .catalog
                .dearest(caller.account.plan, &config),
            origin: String::new(),
            // The digest of a token that no client receives.
            token_digest: unknown_token()?,
            token_expires_at: at.plus(TOKEN_LIFE),
            first_message: Some(first_message).filter(|text| !text.trim().is_empty()),
            at,
        };
        let opened = store.open_member_chat(chat, self.0.clock.steady()).await;
        match opened.map_err(UseCaseError::of_write(IN_DOUBT))? {
            ChatOpened::Opened => {
                tracing::info!(conversation = %id, "a member's chat began");
                Ok(id)
            }
            ChatOpened::WalletTooLow => Err(UseCaseError::PaymentRequired(AN_ANSWER)),
            // Only widgets return these.
            ChatOpened::Refused | ChatOpened::TooMany => Err(UseCaseError::NotFound),
            ChatOpened::CapReached => Err(cap_reached(at)),
        }
    }

    /// A conversation that a member of the account began; [`send`](Self::send) and [`end`](Self::end) accept it.
    pub async fn of_member(&self, caller: &Caller, id: ConversationId) -> Result<ChatView> {
        let found = self.0.store.member_chat(caller.account.id, id).await?;
        found.ok_or(UseCaseError::NotFound)
    }
}
