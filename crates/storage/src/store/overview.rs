//! What the overview of an account shows, what is watched while it happens, and the chats of its own members.

use async_recursion::async_recursion as boxed;
use offhook_domain::{AccountId, AgentId, Channel, ConversationId, Timestamp};

use super::{Answer, read, write};
use crate::queries;
use crate::{ChatOpened, ChatView, NewChat, Result, Store, Verdict, WidgetAgent};

impl Store {
    /// An agent of the account with its published configuration, whatever its widget is set to.
    #[boxed]
    pub async fn member_agent(
        &self,
        account: AccountId,
        agent: AgentId,
    ) -> Result<Option<WidgetAgent>> {
        let found = self.widget_agent(agent).await?;
        Ok(found.filter(|found| found.account.id == account))
    }

    /// Begins a text conversation of a member of the account with one of its agents: reservation, conversation, session, in
    /// one transaction. No widget has a part in it: [`NewChat::origin`] is empty.
    ///
    /// # Errors
    /// `StoreError::UnknownCommit` if it may have begun, the others if it has not.
    pub fn open_member_chat(&self, chat: NewChat, steady: Timestamp) -> Answer<'_, ChatOpened> {
        write!(self, |conn| {
            let begins = (Channel::Chat, chat.at.utc_day());
            let begun = queries::chat_openings::begin(conn, &chat, begins, steady).await?;
            Ok(match begun {
                ChatOpened::Opened => Verdict::Commit(ChatOpened::Opened),
                refused => Verdict::Rollback(refused),
            })
        })
    }

    /// A text conversation that a member of the account began.
    pub fn member_chat(
        &self,
        account: AccountId,
        id: ConversationId,
    ) -> Answer<'_, Option<ChatView>> {
        read!(self, |conn| {
            // A member's has no origin.
            queries::chat_openings::of_account(conn, account, id, "").await
        })
    }
}
