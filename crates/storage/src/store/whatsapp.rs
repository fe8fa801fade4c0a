//! Conversations on WhatsApp.

use offhook_domain::{
    AccountId, ClaimId, ConversationId, E164, NodeId, Timestamp, WhatsAppMessageId,
    WhatsAppThreadId,
};

use super::{Answer, keep, lease, read, write};
use crate::dialect::dialect;
use crate::queries;
use crate::{
    CalledNumber, ChatOpened, ChatView, Fenced, NewChat, NewWhatsAppMessage, Store, Verdict,
    WHATSAPP_ORIGIN, WhatsAppHold, WhatsAppRemark, WhatsAppStep, WhatsAppTimes,
};

impl Store {
    /// Writes messages of customers down, each once, in one transaction; how many were new.
    ///
    /// # Errors
    /// `StoreError::UnknownCommit` if they may have been written, the others if they were not.
    pub fn receive_whatsapp(
        &self,
        messages: Vec<NewWhatsAppMessage>,
        steady: Timestamp,
    ) -> Answer<'_, usize> {
        write!(self, |conn| {
            let new = queries::whatsapp::receive(conn, messages, steady).await?;
            Ok(if new > 0 {
                Verdict::Commit(new)
            } else {
                Verdict::Rollback(0)
            })
        })
    }

    /// Up to `most` threads with something to do that nobody is at. `may_judge` says whether this process may say that a
    /// lease is over.
    pub fn due_whatsapp(
        &self,
        node: NodeId,
        steady: Timestamp,
        may_judge: bool,
        most: i64,
    ) -> Answer<'_, Vec<WhatsAppThreadId>> {
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
    pub fn take_whatsapp(
        &self,
        id: WhatsAppThreadId,
        node: NodeId,
        now: Timestamp,
        may_judge: bool,
    ) -> Answer<'_, Option<ClaimId>> {
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
    pub fn renew_whatsapp(&self, hold: WhatsAppHold) -> Answer<'_, Fenced> {
        let offset = self.offset();
        keep!(self, |conn| {
            let lease = dialect!(conn, lease_clock(offset))?.plus(lease());
            let held = queries::whatsapp_claims::held(conn, hold, Some(lease)).await?;
            Ok(match held {
                Some(_) => Fenced::Done,
                None => Fenced::Lost,
            })
        })
    }

    /// What is to be done next under a claim. A message that was begun and has no outcome is `unknown` from then on.
    pub fn next_whatsapp(
        &self,
        hold: WhatsAppHold,
        times: WhatsAppTimes,
    ) -> Answer<'_, WhatsAppStep> {
        let offset = self.offset();
        keep!(self, |conn| {
            let lease = dialect!(conn, lease_clock(offset))?.plus(lease());
            queries::whatsapp_claims::next(conn, hold, times, lease).await
        })
    }

    /// A number of the account, with its agent and what that agent serves; `None` if the account has no such number.
    pub fn whatsapp_number(
        &self,
        account: AccountId,
        number: E164,
    ) -> Answer<'_, Option<CalledNumber>> {
        read!(self, |conn| {
            let among = queries::numbers::Among::Own(account);
            queries::numbers::who_has(conn, number, among).await
        })
    }

    /// A conversation of the account on WhatsApp.
    pub fn whatsapp_chat(
        &self,
        account: AccountId,
        id: ConversationId,
    ) -> Answer<'_, Option<ChatView>> {
        read!(self, |conn| {
            queries::chat_openings::of_account(conn, account, id, WHATSAPP_ORIGIN).await
        })
    }

    /// Begins a thread's next conversation: reservation, conversation, session, in one transaction. `None` if the claim is
    /// another's.
    ///
    /// # Errors
    /// `StoreError::UnknownCommit` if it may have begun, the others if it has not.
    pub fn open_whatsapp(
        &self,
        hold: WhatsAppHold,
        chat: NewChat,
        steady: Timestamp,
    ) -> Answer<'_, Option<ChatOpened>> {
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
    pub fn remark_on_whatsapp(
        &self,
        hold: WhatsAppHold,
        conversation: ConversationId,
        wamid: String,
        remark: WhatsAppRemark,
        times: WhatsAppTimes,
    ) -> Answer<'_, Option<bool>> {
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
    pub fn answered_whatsapp(
        &self,
        hold: WhatsAppHold,
        conversation: ConversationId,
        wamid: String,
        parts: Vec<String>,
        times: WhatsAppTimes,
    ) -> Answer<'_, Fenced> {
        keep!(self, |conn| {
            let of = (conversation, wamid.as_str());
            let answered = queries::whatsapp_sending::answered(conn, hold, of, parts, times);
            answered.await
        })
    }

    /// From now on the message may have left: nobody sends it again unless it surely has not. `Lost` if it is not this
    /// caller's to send any more.
    ///
    /// # Errors
    /// `StoreError::UnknownCommit` if that may have been written, the others if it was not.
    pub fn begin_whatsapp(
        &self,
        hold: WhatsAppHold,
        id: WhatsAppMessageId,
        now: Timestamp,
    ) -> Answer<'_, Fenced> {
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
}
