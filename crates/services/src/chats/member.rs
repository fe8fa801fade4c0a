//! Text conversations of an account's own members, who try an agent before a page shows it. The rules of other
//! conversations hold, except those of widgets: channel `chat`, no origin and no token, because membership admits them.

use super::Chats;
use super::open::read;
use crate::conversations::serving;
use crate::error::Result;
use crate::prelude::*;

#[boxed]
impl Chats {
    /// Starts a member's conversation with a published agent of the account: `{agent_id, metadata?}`. After an error
    /// nothing was written, except perhaps after [`UseCaseError::UnknownCommit`].
    pub async fn open_for_member(&self, caller: &Caller, body: &Json) -> Result<ConversationId> {
        self.0.check_running()?;
        let (agent_id, metadata) = read(body)?;
        let found = self.0.store.widget_agent(agent_id).await?;
        let found = found.filter(|found| found.account.id == caller.account.id);
        let found = found.ok_or(UseCaseError::NotFound)?;
        if !caller.terms.api {
            return Err(UseCaseError::PlanLimit(Refusal::NoApi));
        }
        let config = serving(&found.agent, found.config.as_deref())?;
        // No client receives the token.
        let opened = self.begin(&found, &config, &metadata, "").await?;
        Ok(opened.id)
    }

    /// A conversation that a member of the account began; [`send`](Self::send) and [`end`](Self::end) accept it.
    pub async fn of_member(&self, caller: &Caller, id: ConversationId) -> Result<ChatView> {
        let found = self.0.store.account_chat(caller.account.id, id, "");
        found.await?.ok_or(UseCaseError::NotFound)
    }
}
