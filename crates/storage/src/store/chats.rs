//! Widgets and text conversations.

use offhook_domain::{AgentId, ClaimId, ConversationId, Json, NodeId, Timestamp};
use offhook_failpoints as failpoints;

use super::{Answer, keep, lease, read, write};
use crate::dialect::dialect;
use crate::queries;
use crate::{
    ChatAnswered, ChatEnding, ChatOpened, ChatTaken, ClosingChat, Fenced, NewChat, NewChatMessage,
    NewTurn, Store, Verdict, WidgetSettings,
};

impl Store {
    /// The settings of the widget of an agent, which the caller has looked up for its account; `None` if none were made.
    pub fn widget(&self, agent: AgentId) -> Answer<'_, Option<WidgetSettings>> {
        read!(self, |conn| queries::widgets::settings(conn, agent).await)
    }

    /// Begins a text conversation: limits, reservation, conversation, session, in one transaction.
    ///
    /// # Errors
    /// `StoreError::UnknownCommit` if it may have begun, the others if it has not.
    pub fn open_chat(&self, chat: NewChat, steady: Timestamp) -> Answer<'_, ChatOpened> {
        write!(self, |conn| {
            Ok(
                match queries::chat_openings::open(conn, &chat, steady).await? {
                    ChatOpened::Opened => Verdict::Commit(ChatOpened::Opened),
                    refused => Verdict::Rollback(refused),
                },
            )
        })
    }

    /// Takes a message of the customer: its words, what its answer will cost, and the claim of who answers, in one
    /// transaction. The caller has been let in by the session's token.
    ///
    /// # Errors
    /// `StoreError::UnknownCommit` if it may have been taken, the others if it was not.
    pub fn take_chat_message(&self, message: NewChatMessage) -> Answer<'_, ChatTaken> {
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

    /// Renews the claim of an answer or a closing.
    pub fn renew_chat(&self, id: ConversationId, claim: ClaimId) -> Answer<'_, Fenced> {
        let offset = self.offset();
        keep!(self, |conn| {
            let lease = dialect!(conn, lease_clock(offset))?.plus(lease());
            queries::chats::renew(conn, id, claim, lease).await
        })
    }

    /// Writes turns of an answer under way, together; tools that were at work are so no more.
    pub fn append_chat_turns(
        &self,
        id: ConversationId,
        claim: ClaimId,
        turns: Vec<NewTurn>,
    ) -> Answer<'_, Fenced> {
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
    pub fn set_chat_tools_to_work(
        &self,
        id: ConversationId,
        claim: ClaimId,
        told: Vec<String>,
    ) -> Answer<'_, Fenced> {
        let told = Json::Array(told.into_iter().map(Json::String).collect()).to_compact();
        keep!(self, |conn| {
            let told = Some(told);
            let set = queries::chats::set_tools(conn, id, claim, told).await?;
            Ok(set)
        })
    }

    /// Ends an answer: its last turns, what it is charged, and the claim given back, in one transaction. The last moment of
    /// the conversation, or `None` if the claim is another's.
    pub fn finish_chat_answer(
        &self,
        id: ConversationId,
        claim: ClaimId,
        answered: ChatAnswered,
    ) -> Answer<'_, Option<i32>> {
        write!(self, |conn| {
            let last = queries::chats::answered(conn, id, claim, answered).await?;
            failpoints::hit(failpoints::CHAT_BEFORE_COMMIT);
            Ok(match last {
                Some(last) => Verdict::Commit(Some(last)),
                None => Verdict::Rollback(None),
            })
        })
    }

    /// Closes an open text conversation, whoever was answering in it: `live → closing`. `None` if it is open no more, or not
    /// idle for as long as is asked.
    pub fn close_chat(
        &self,
        id: ConversationId,
        ending: ChatEnding,
    ) -> Answer<'_, Option<ClosingChat>> {
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

    /// Takes over up to `most` text conversations whose closing nobody carries on.
    pub fn take_closing_chats(
        &self,
        node: NodeId,
        now: Timestamp,
        most: i64,
    ) -> Answer<'_, Vec<ClosingChat>> {
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
    pub fn settle_chat(
        &self,
        id: ConversationId,
        claim: ClaimId,
        summary: String,
        at: Timestamp,
    ) -> Answer<'_, bool> {
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
