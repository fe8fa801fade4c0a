//! What the overview of an account shows, what is watched while it happens, and the chats of its own members.

use async_recursion::async_recursion as boxed;
use offhook_domain::{AccountId, AgentId, Channel, ConversationId, Timestamp};

use super::{read, write};
use crate::queries;
use crate::{
    CallLatency, ChatOpened, ChatView, LiveCall, NewChat, Result, Store, UsageHour, Verdict,
    WidgetAgent,
};

impl Store {
    /// The hours from `first` to `last` in which calls began that have ended, the oldest first.
    #[boxed]
    pub async fn usage_hours(
        &self,
        account: AccountId,
        first: i32,
        last: i32,
    ) -> Result<Vec<UsageHour>> {
        read!(self, |conn| {
            queries::usage_hours::between(conn, account, (first, last)).await
        })
    }

    /// The latencies of those of the newest `most` calls since `since` that were measured.
    #[boxed]
    pub async fn call_latencies(
        &self,
        account: AccountId,
        since: Timestamp,
        most: i64,
    ) -> Result<Vec<CallLatency>> {
        read!(self, |conn| queries::overview::latencies(
            conn, account, since, most
        )
        .await)
    }

    /// Up to `most` of the account's calls that are dialing, ringing, talking or closing, the newest first.
    #[boxed]
    pub async fn calls_under_way(&self, account: AccountId, most: i64) -> Result<Vec<LiveCall>> {
        read!(self, |conn| queries::overview::live(conn, account, most)
            .await)
    }

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
    #[boxed]
    pub async fn open_member_chat(&self, chat: NewChat, steady: Timestamp) -> Result<ChatOpened> {
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
    #[boxed]
    pub async fn member_chat(
        &self,
        account: AccountId,
        id: ConversationId,
    ) -> Result<Option<ChatView>> {
        read!(self, |conn| {
            // A member's has no origin.
            queries::chat_openings::of_account(conn, account, id, "").await
        })
    }
}
