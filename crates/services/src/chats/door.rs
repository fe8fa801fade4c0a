//! What a page may do with an agent before a conversation starts.

use super::Chats;
use super::open::admit;
use crate::error::Result;
use crate::prelude::*;

/// What an agent's widget may do on a page that it serves. It may always chat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WidgetDoor {
    /// The agent's name.
    pub name: String,
    /// Whether a voice conversation is possible now.
    pub voice: bool,
}

#[boxed]
impl Chats {
    /// What the agent's widget may do on pages of this origin. The error says why it serves none of them.
    pub async fn door(&self, origin: &str, agent: AgentId) -> Result<WidgetDoor> {
        let found = self.0.store.widget_agent(agent).await?;
        let found = found.ok_or(UseCaseError::NotFound)?;
        let config = admit(&self.0, &found, origin)?;
        let shared = &self.0;
        let providers = shared.providers.of(shared, found.account.id).await?;
        Ok(WidgetDoor {
            name: found.agent.name,
            voice: shared.may_talk(&providers, &config).is_ok(),
        })
    }
}
