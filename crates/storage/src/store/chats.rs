//! Widgets and text conversations.

use async_recursion::async_recursion as boxed;
use offhook_domain::{AccountId, AgentId, ClaimId, ConversationId, Json, NodeId, Timestamp};
use offhook_failpoints as failpoints;

use super::{lease, read, write};
use crate::dialect::dialect;
use crate::queries;
use crate::{
    ChatAnswered, ChatEnding, ChatHistory, ChatOpened, ChatTaken, ChatView, ClosingChat, Fenced,
    NewChat, NewChatMessage, NewTurn, Result, Store, Verdict, WidgetAgent, WidgetSettings,
};

impl Store {
    /// The settings of the widget of an agent, which the caller has looked up for its account; `None` if none were made.
    #[boxed]
    pub async fn widget(&self, agent: AgentId) -> Result<Option<WidgetSettings>> {
        read!(self, |conn| queries::widgets::settings(conn, agent).await)
    }

    /// Sets the widget of an agent of the account.
    #[boxed]
    pub async fn set_widget(
        &self,
        account: AccountId,
        agent: AgentId,
        settings: WidgetSettings,
    ) -> Result<()> {
        write!(self, |conn| {
            queries::widgets::set(conn, (account, agent), settings).await?;
            Ok(Verdict::Commit(()))
        })
    }

    /// An agent by its id alone, with what says whether its widget serves. Nothing of it may be shown before the widget was
    /// looked at: pages have no key.
    #[boxed]
    pub async fn widget_agent(&self, agent: AgentId) -> Result<Option<WidgetAgent>> {
        read!(self, |conn| queries::widgets::agent(conn, agent).await)
    }

    /// Whether a widget that is on, of whatever account, names the origin.
    #[boxed]
    pub async fn is_widget_origin(&self, origin: String) -> Result<bool> {
        read!(self, |conn| queries::widgets::is_known(conn, &origin).await)
    }

    /// Begins a text conversation: limits, reservation, conversation, session, in one transaction.
    ///
    /// # Errors
    /// `StoreError::UnknownCommit` if it may have begun, the others if it has not.
    #[boxed]
    pub async fn open_chat(&self, chat: NewChat, steady: Timestamp) -> Result<ChatOpened> {
        write!(self, |conn| {
            Ok(
                match queries::chat_openings::open(conn, &chat, steady).await? {
                    ChatOpened::Opened => Verdict::Commit(ChatOpened::Opened),
                    refused => Verdict::Rollback(refused),
                },
            )
        })
    }

    /// The text conversation that a token opens, by the token's digest.
    #[boxed]
    pub async fn chat(
        &self,
        id: ConversationId,
        token_digest: Vec<u8>,
    ) -> Result<Option<ChatView>> {
        read!(self, |conn| queries::chat_openings::find(
            conn,
            id,
            &token_digest
        )
        .await)
    }

    /// The answers that a text conversation of the account is charged for so far; `None` if it is none of the account's.
    #[boxed]
    pub async fn chat_answers(
        &self,
        account: AccountId,
        id: ConversationId,
    ) -> Result<Option<i32>> {
        read!(self, |conn| queries::chats::answers(conn, account, id)
            .await)
    }

    /// Takes a message of the customer: its words, what its answer will cost, and the claim of who answers, in one
    /// transaction. The caller has been let in by the session's token.
    ///
    /// # Errors
    /// `StoreError::UnknownCommit` if it may have been taken, the others if it was not.
    #[boxed]
    pub async fn take_chat_message(&self, message: NewChatMessage) -> Result<ChatTaken> {
        let offset = self.offset();
        let alone = self.is_embedded().then_some(message.node);
        write!(self, |conn| {
            let lease_now = dialect!(conn, lease_clock(offset))?;
            let times = (lease_now, lease_now.plus(lease()));
            let taken = queries::chats::take(conn, &message, times, alone).await?;
            Ok(match taken {
                ChatTaken::Taken { .. } => Verdict::Commit(taken),
                refused => Verdict::Rollback(refused),
            })
        })
    }

    /// Whether a message with this id was answered in a text conversation, which the caller has looked up for its account.
    #[boxed]
    pub async fn is_answered_in_chat(
        &self,
        id: ConversationId,
        message_id: String,
    ) -> Result<bool> {
        read!(self, |conn| queries::chats::is_answered(
            conn,
            id,
            &message_id
        )
        .await)
    }

    /// Renews the claim of an answer or a closing.
    #[boxed]
    pub async fn renew_chat(&self, id: ConversationId, claim: ClaimId) -> Result<Fenced> {
        let offset = self.offset();
        write!(self, |conn| {
            let lease = dialect!(conn, lease_clock(offset))?.plus(lease());
            Ok(Verdict::Commit(
                queries::chats::renew(conn, id, claim, lease).await?,
            ))
        })
    }

    /// Writes turns of an answer under way, together; tools that were at work are so no more.
    #[boxed]
    pub async fn append_chat_turns(
        &self,
        id: ConversationId,
        claim: ClaimId,
        turns: Vec<NewTurn>,
    ) -> Result<Fenced> {
        write!(self, |conn| {
            let written = queries::chats::turns(conn, id, claim, turns).await?;
            failpoints::hit(failpoints::CHAT_TURNS_BEFORE_COMMIT);
            Ok(match written {
                Fenced::Done => Verdict::Commit(Fenced::Done),
                Fenced::Lost => Verdict::Rollback(Fenced::Lost),
            })
        })
    }

    /// Remembers that tools are set to work in an answer under way, and what the transcript will say of each, should nobody
    /// hear what it answered: whoever takes the conversation over writes that.
    #[boxed]
    pub async fn set_chat_tools_to_work(
        &self,
        id: ConversationId,
        claim: ClaimId,
        told: Vec<String>,
    ) -> Result<Fenced> {
        let told = Json::Array(told.into_iter().map(Json::String).collect()).to_compact();
        write!(self, |conn| {
            let told = Some(told);
            let set = queries::chats::set_tools(conn, id, claim, told).await?;
            Ok(Verdict::Commit(set))
        })
    }

    /// Ends an answer: its last turns, what it is charged, and the claim given back, in one transaction. The last moment of
    /// the conversation, or `None` if the claim is another's.
    #[boxed]
    pub async fn finish_chat_answer(
        &self,
        id: ConversationId,
        claim: ClaimId,
        answered: ChatAnswered,
    ) -> Result<Option<i32>> {
        write!(self, |conn| {
            let last = queries::chats::answered(conn, id, claim, answered).await?;
            failpoints::hit(failpoints::CHAT_BEFORE_COMMIT);
            Ok(match last {
                Some(last) => Verdict::Commit(Some(last)),
                None => Verdict::Rollback(None),
            })
        })
    }

    /// The newest `most` turns of a text conversation, oldest first. The caller has been let in by its token, or has its
    /// claim.
    #[boxed]
    pub async fn chat_history(&self, id: ConversationId, most: i64) -> Result<ChatHistory> {
        read!(self, |conn| queries::chats::history(conn, id, most).await)
    }

    /// Closes an open text conversation, whoever was answering in it: `live → closing`. `None` if it is open no more, or not
    /// idle for as long as is asked.
    #[boxed]
    pub async fn close_chat(
        &self,
        id: ConversationId,
        ending: ChatEnding,
    ) -> Result<Option<ClosingChat>> {
        let offset = self.offset();
        write!(self, |conn| {
            let lease = dialect!(conn, lease_clock(offset))?.plus(lease());
            let closing = queries::chat_endings::close(conn, id, ending, lease).await?;
            Ok(match closing {
                Some(closing) => Verdict::Commit(Some(closing)),
                None => Verdict::Rollback(None),
            })
        })
    }

    /// Up to `most` open text conversations, on WhatsApp or all others, in which nothing has happened since before `before`.
    #[boxed]
    pub async fn idle_chats(
        &self,
        on_whatsapp: bool,
        before: Timestamp,
        most: i64,
    ) -> Result<Vec<ConversationId>> {
        read!(self, |conn| queries::chat_endings::idle(
            conn,
            on_whatsapp,
            before,
            most
        )
        .await)
    }

    /// Takes over up to `most` text conversations whose closing nobody carries on.
    #[boxed]
    pub async fn take_closing_chats(
        &self,
        node: NodeId,
        now: Timestamp,
        most: i64,
    ) -> Result<Vec<ClosingChat>> {
        let (offset, alone) = (self.offset(), self.is_embedded());
        write!(self, |conn| {
            let lease_now = dialect!(conn, lease_clock(offset))?;
            let times = (now, lease_now, lease_now.plus(lease()));
            let taken = queries::chat_endings::take_over(conn, node, times, alone, most).await?;
            Ok(if taken.is_empty() {
                Verdict::Rollback(taken)
            } else {
                Verdict::Commit(taken)
            })
        })
    }

    /// `closing → completed`, with the ledger and the day's totals in one transaction; `false` if the claim is another's.
    #[boxed]
    pub async fn settle_chat(
        &self,
        id: ConversationId,
        claim: ClaimId,
        summary: String,
        at: Timestamp,
    ) -> Result<bool> {
        write!(self, |conn| {
            let settled = queries::chat_endings::settle(conn, id, claim, &summary, at).await?;
            Ok(if settled {
                Verdict::Commit(true)
            } else {
                Verdict::Rollback(false)
            })
        })
    }
}
