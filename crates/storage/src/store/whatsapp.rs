//! Conversations on WhatsApp.

use async_recursion::async_recursion as boxed;
use offhook_domain::{
    AccountId, ClaimId, ConversationId, E164, NodeId, Timestamp, WhatsAppMessageId,
    WhatsAppThreadId,
};

use super::{lease, read, write};
use crate::dialect::dialect;
use crate::queries;
use crate::{
    CalledNumber, ChatOpened, ChatView, Fenced, NewChat, NewWhatsAppMessage, Result, Store,
    Verdict, WHATSAPP_ORIGIN, WhatsAppHold, WhatsAppNews, WhatsAppOutcome, WhatsAppRemark,
    WhatsAppSent, WhatsAppStep, WhatsAppTimes,
};

impl Store {
    /// Writes messages of customers down, each once, in one transaction; how many were new.
    ///
    /// # Errors
    /// `StoreError::UnknownCommit` if they may have been written, the others if they were not.
    #[boxed]
    pub async fn receive_whatsapp(
        &self,
        messages: Vec<NewWhatsAppMessage>,
        steady: Timestamp,
    ) -> Result<usize> {
        write!(self, |conn| {
            let new = queries::whatsapp::receive(conn, messages, steady).await?;
            Ok(if new > 0 {
                Verdict::Commit(new)
            } else {
                Verdict::Rollback(0)
            })
        })
    }

    /// Writes down what a webhook tells of a message that was sent; whether the account has such a message.
    #[boxed]
    pub async fn hear_of_whatsapp(&self, news: WhatsAppNews, at: Timestamp) -> Result<bool> {
        write!(self, |conn| Ok(Verdict::Commit(
            queries::whatsapp_sending::told(conn, news, at).await?
        )))
    }

    /// Up to `most` threads with something to do that nobody is at. `may_judge` says whether this process may say that a
    /// lease is over (decision 8.7).
    #[boxed]
    pub async fn due_whatsapp(
        &self,
        node: NodeId,
        steady: Timestamp,
        may_judge: bool,
        most: i64,
    ) -> Result<Vec<WhatsAppThreadId>> {
        let offset = self.offset();
        let alone = self.is_embedded().then_some(node);
        read!(self, |conn| {
            let judged = match may_judge {
                true => Some(dialect!(conn, lease_clock(offset))?),
                false => None,
            };
            queries::whatsapp_claims::due(conn, steady, judged, alone, most).await
        })
    }

    /// Claims a thread; `None` if somebody was faster.
    #[boxed]
    pub async fn take_whatsapp(
        &self,
        id: WhatsAppThreadId,
        node: NodeId,
        now: Timestamp,
        may_judge: bool,
    ) -> Result<Option<ClaimId>> {
        let (offset, alone) = (self.offset(), self.is_embedded());
        write!(self, |conn| {
            let lease_now = dialect!(conn, lease_clock(offset))?;
            let judged = may_judge.then_some(lease_now);
            let times = (now, judged, lease_now.plus(lease()));
            let taken = queries::whatsapp_claims::take(conn, id, node, times, alone).await?;
            Ok(match taken {
                Some(claim) => Verdict::Commit(Some(claim)),
                None => Verdict::Rollback(None),
            })
        })
    }

    /// Renews the claim of a thread.
    #[boxed]
    pub async fn renew_whatsapp(&self, hold: WhatsAppHold) -> Result<Fenced> {
        let offset = self.offset();
        write!(self, |conn| {
            let lease = dialect!(conn, lease_clock(offset))?.plus(lease());
            let held = queries::whatsapp_claims::held(conn, hold, Some(lease)).await?;
            Ok(Verdict::Commit(match held {
                Some(_) => Fenced::Done,
                None => Fenced::Lost,
            }))
        })
    }

    /// What is to be done next under a claim. A message that was begun and has no outcome is `unknown` from then on.
    #[boxed]
    pub async fn next_whatsapp(
        &self,
        hold: WhatsAppHold,
        times: WhatsAppTimes,
    ) -> Result<WhatsAppStep> {
        let offset = self.offset();
        write!(self, |conn| {
            let lease = dialect!(conn, lease_clock(offset))?.plus(lease());
            Ok(Verdict::Commit(
                queries::whatsapp_claims::next(conn, hold, times, lease).await?,
            ))
        })
    }

    /// Gives a claim back; the thread is due again when something of it is.
    #[boxed]
    pub async fn release_whatsapp(&self, hold: WhatsAppHold) -> Result<Fenced> {
        write!(self, |conn| Ok(Verdict::Commit(
            queries::whatsapp_claims::release(conn, hold).await?
        )))
    }

    /// Says of a message that nobody will answer it, and in the conversation why, if there is a note.
    #[boxed]
    pub async fn drop_whatsapp(
        &self,
        hold: WhatsAppHold,
        wamid: String,
        note: Option<String>,
        now: Timestamp,
    ) -> Result<Fenced> {
        write!(self, |conn| Ok(Verdict::Commit(
            queries::whatsapp::drop_message(conn, hold, &wamid, note, now).await?
        )))
    }

    /// Puts the answer to a message off until `due`, by the steady clock; `is_try` says whether that counts as a try.
    #[boxed]
    pub async fn put_off_whatsapp(
        &self,
        hold: WhatsAppHold,
        wamid: String,
        due: Timestamp,
        is_try: bool,
    ) -> Result<Fenced> {
        write!(self, |conn| Ok(Verdict::Commit(
            queries::whatsapp::put_off(conn, hold, &wamid, (due, is_try)).await?
        )))
    }

    /// A number of the account, with its agent and what that agent serves; `None` if the account has no such number.
    #[boxed]
    pub async fn whatsapp_number(
        &self,
        account: AccountId,
        number: E164,
    ) -> Result<Option<CalledNumber>> {
        read!(self, |conn| {
            let among = queries::numbers::Among::Own(account);
            queries::numbers::who_has(conn, number, among).await
        })
    }

    /// A conversation of the account on WhatsApp.
    #[boxed]
    pub async fn whatsapp_chat(
        &self,
        account: AccountId,
        id: ConversationId,
    ) -> Result<Option<ChatView>> {
        read!(self, |conn| {
            queries::chat_openings::of_account(conn, account, id, WHATSAPP_ORIGIN).await
        })
    }

    /// Begins a thread's next conversation: reservation, conversation, session, in one transaction. `None` if the claim is
    /// another's.
    ///
    /// # Errors
    /// `StoreError::UnknownCommit` if it may have begun, the others if it has not.
    #[boxed]
    pub async fn open_whatsapp(
        &self,
        hold: WhatsAppHold,
        chat: NewChat,
        steady: Timestamp,
    ) -> Result<Option<ChatOpened>> {
        write!(self, |conn| {
            let opened = queries::whatsapp::open(conn, hold, &chat, steady).await?;
            Ok(match opened {
                Some(ChatOpened::Opened) => Verdict::Commit(opened),
                refused => Verdict::Rollback(refused),
            })
        })
    }

    /// Answers a message by what no model wrote. `Some(false)` if the conversation has ended meanwhile, `None` if the claim
    /// is another's; then nothing was written.
    #[boxed]
    pub async fn remark_on_whatsapp(
        &self,
        hold: WhatsAppHold,
        conversation: ConversationId,
        wamid: String,
        remark: WhatsAppRemark,
        times: WhatsAppTimes,
    ) -> Result<Option<bool>> {
        write!(self, |conn| {
            let of = (conversation, wamid.as_str());
            let written = queries::whatsapp::remark(conn, hold, of, remark, times).await?;
            Ok(match written {
                Some(true) => Verdict::Commit(written),
                _ => Verdict::Rollback(written),
            })
        })
    }

    /// Says of a message that these parts answer it, and that they are to be sent, in one transaction.
    #[boxed]
    pub async fn answered_whatsapp(
        &self,
        hold: WhatsAppHold,
        conversation: ConversationId,
        wamid: String,
        parts: Vec<String>,
        times: WhatsAppTimes,
    ) -> Result<Fenced> {
        write!(self, |conn| {
            let of = (conversation, wamid.as_str());
            let answered = queries::whatsapp_sending::answered(conn, hold, of, parts, times);
            Ok(Verdict::Commit(answered.await?))
        })
    }

    /// From now on the message may have left: nobody sends it again unless it surely has not. `Lost` if it is not this
    /// caller's to send any more.
    ///
    /// # Errors
    /// `StoreError::UnknownCommit` if that may have been written, the others if it was not.
    #[boxed]
    pub async fn begin_whatsapp(
        &self,
        hold: WhatsAppHold,
        id: WhatsAppMessageId,
        now: Timestamp,
    ) -> Result<Fenced> {
        let offset = self.offset();
        write!(self, |conn| {
            let lease = dialect!(conn, lease_clock(offset))?.plus(lease());
            let begun = queries::whatsapp_sending::begin(conn, hold, id, (now, lease)).await?;
            Ok(match begun {
                Fenced::Done => Verdict::Commit(begun),
                Fenced::Lost => Verdict::Rollback(begun),
            })
        })
    }

    /// Writes down what became of a message.
    #[boxed]
    pub async fn ended_whatsapp(
        &self,
        id: WhatsAppMessageId,
        outcome: WhatsAppOutcome,
        at: Timestamp,
    ) -> Result<()> {
        write!(self, |conn| {
            queries::whatsapp_sending::ended(conn, id, outcome, at).await?;
            Ok(Verdict::Commit(()))
        })
    }

    /// How up to `most` messages of a conversation of the account fare, in their order.
    #[boxed]
    pub async fn sent_on_whatsapp(
        &self,
        account: AccountId,
        conversation: ConversationId,
        most: i64,
    ) -> Result<Vec<WhatsAppSent>> {
        read!(self, |conn| {
            queries::whatsapp_sending::of_conversation(conn, account, conversation, most).await
        })
    }

    /// Forgets up to `most` messages that came before `before` and are done with, and threads of which nothing is left;
    /// whether there may be more.
    #[boxed]
    pub async fn forget_whatsapp(&self, before: Timestamp, most: i64) -> Result<bool> {
        write!(self, |conn| Ok(Verdict::Commit(
            queries::whatsapp::forget(conn, before, most).await?
        )))
    }
}
