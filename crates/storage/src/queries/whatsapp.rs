//! Conversations on WhatsApp: received messages and their answers. Lock order: the thread's row, then the messages',
//! then the session's.

use super::{chats, numbers, whatsapp_claims::lock_thread, whatsapp_sending};
use crate::prelude::*;
use crate::schema::chat_sessions as sessions;

/// Messages that are not sent yet, written out for the partial index.
pub(super) fn has_not_left() -> diesel::expression::SqlLiteral<Bool> {
    sql("whatsapp_sent.status IN ('queued', 'sending')")
}

/// The message's thread, locked, and when its customer wrote before.
async fn thread_of(
    conn: &mut Conn,
    message: &NewWhatsAppMessage,
) -> Result<(WhatsAppThreadId, Timestamp)> {
    let id: WhatsAppThreadId = mint(message.received_at);
    insert_new! {
        conn, threads of message: id = id, account_id, own_number, customer, phone_number_id,
        heard_at = message.sent_at
    }?;
    Ok(diesel::update(threads::table)
        .filter(threads::account_id.eq(V(message.account_id)))
        .filter(threads::own_number.eq(V(&message.own_number)))
        .filter(threads::customer.eq(V(&message.customer)))
        .set(threads::phone_number_id.eq(&message.phone_number_id))
        .returning((threads::id, threads::heard_at))
        .get_result(conn)
        .await?)
}

/// Marks a message as answered or dropped; `false` if it was already.
pub(super) async fn done(conn: &mut Conn, account: AccountId, wamid: &str) -> Result<bool> {
    diesel::update(received::table.find((V(account), wamid)))
        .filter(received::is_waiting)
        .set(row! { received: is_waiting = false, content = NULL })
        .changes(conn)
        .await
}

#[boxed]
impl Tx<'_> {
    /// Locks a claimed thread. `None` if another worker has the claim.
    pub async fn lock_whatsapp(&mut self, claim: WhatsAppClaim) -> Result<Option<WhatsAppThread>> {
        lock_thread(self.0, claim, None).await
    }

    /// Sets the newest conversation of a locked thread.
    pub async fn set_whatsapp_conversation(
        &mut self,
        thread: WhatsAppThreadId,
        id: ConversationId,
    ) -> Result<()> {
        diesel::update(threads::table.find(V(thread)))
            .set(threads::conversation_id.eq(V(id)))
            .run(self.0)
            .await
    }
}

impl Store {
    /// Stores customers' messages, each once, in one transaction. Returns how many were new. After
    /// `StoreError::UnknownCommit` they may have been written; after other errors they were not.
    pub fn receive_whatsapp(
        &self,
        mut messages: Vec<NewWhatsAppMessage>,
        steady: Timestamp,
    ) -> Answer<'_, usize> {
        transact!(self, |conn| {
            // Two webhooks with messages of the same threads lock these in one order. Messages of one thread keep their
            // order.
            messages
                .sort_by(|a, b| (&a.own_number, &a.customer).cmp(&(&b.own_number, &b.customer)));
            let mut new = 0;
            for message in messages {
                let (thread, heard_at) = thread_of(conn, &message).await?;
                let inserted = insert_new! {
                    conn, received of message: account_id, wamid, thread_id = thread, kind,
                    content = message.text, sent_at, received_at, is_waiting = true,
                    due_at = steady, tries = 0
                }?;
                if !inserted {
                    continue;
                }
                new += 1;
                diesel::update(threads::table.find(V(thread)))
                    .set(row! {
                        threads: heard_at = heard_at.max(message.sent_at), due_at = steady
                    })
                    .execute(conn)
                    .await?;
            }
            Ok(Verdict::keep_if(new > 0, new))
        })
    }

    /// A number of the account, with its agent and the agent's published configuration. `None` if the account has no
    /// such number.
    pub fn whatsapp_number(
        &self,
        account: AccountId,
        number: E164,
    ) -> Answer<'_, Option<CalledNumber>> {
        read!(self, |conn| {
            let among = numbers::Among::Own(account);
            numbers::who_has(conn, number, among).await
        })
    }

    /// Answers a message without a model. `Some(false)` if the conversation has ended meanwhile, `None` if another
    /// worker has the claim; then nothing was written.
    pub fn remark_on_whatsapp(
        &self,
        claim: WhatsAppClaim,
        conversation: ConversationId,
        wamid: String,
        remark: WhatsAppRemark,
        times: WhatsAppTimes,
    ) -> Answer<'_, Option<bool>> {
        transact!(self, |conn| {
            let thread = some_or!(lock_thread(conn, claim, None).await?, Rollback(None));
            if !done(conn, thread.account_id, &wamid).await? {
                return Ok(Commit(Some(true)));
            }
            if chats::lock(conn, conversation).await?.is_none() {
                return Ok(Rollback(Some(false)));
            }
            let turn = |role, text: &str| NewTurn::written(role, text.to_owned(), times.now);
            let heard = chats::append(conn, conversation, turn("user", &remark.customer)).await?;
            ensure!(heard.is_some(), Rollback(Some(false)));
            diesel::update(sessions::table.find(V(conversation)))
                .set(sessions::active_at.eq(V(times.now)))
                .execute(conn)
                .await?;
            if !remark.agent.is_empty() {
                let text = remark.agent.join(" ");
                chats::append(conn, conversation, turn("agent", &text)).await?;
                whatsapp_sending::queue(conn, &thread, (conversation, &wamid), remark.agent, times)
                    .await?;
                diesel::update(threads::table.find(V(thread.id)))
                    .set(threads::told_in.eq(V(conversation)))
                    .execute(conn)
                    .await?;
            }
            if let Some(note) = remark.note {
                whatsapp_sending::note(conn, conversation, &note, times.now).await?;
            }
            Ok(Commit(Some(true)))
        })
    }

    /// Drops a message without an answer, and writes the note, if there is one, into the conversation.
    pub fn drop_whatsapp(
        &self,
        claim: WhatsAppClaim,
        wamid: String,
        note: Option<String>,
        now: Timestamp,
    ) -> Answer<'_, Fenced> {
        keep!(self, |conn| {
            let thread = some_or!(lock_thread(conn, claim, None).await?, Fenced::Lost);
            let was_waiting = done(conn, thread.account_id, &wamid).await?;
            if let (true, Some(note), Some(conversation)) =
                (was_waiting, note, thread.conversation_id)
            {
                whatsapp_sending::note(conn, conversation, &note, now).await?;
            }
            Ok(Fenced::Done)
        })
    }

    /// Postpones the answer to a message until `due`, by the steady clock. `is_try` says whether that counts as an
    /// attempt.
    pub fn postpone_whatsapp(
        &self,
        claim: WhatsAppClaim,
        wamid: String,
        due: Timestamp,
        is_try: bool,
    ) -> Answer<'_, Fenced> {
        keep!(self, |conn| {
            let thread = some_or!(lock_thread(conn, claim, None).await?, Fenced::Lost);
            diesel::update(received::table.find((V(thread.account_id), wamid)))
                .filter(received::is_waiting)
                .set((
                    received::due_at.eq(V(due)),
                    received::tries.eq(received::tries + i32::from(is_try)),
                ))
                .execute(conn)
                .await?;
            Ok(Fenced::Done)
        })
    }

    /// Deletes up to `most` processed messages that came before `before`, and threads without any. Returns whether
    /// there may be more.
    pub fn delete_old_whatsapp(&self, before: Timestamp, most: i64) -> Answer<'_, bool> {
        keep!(self, |conn| {
            let old: Vec<(AccountId, String)> = received::table
                .filter(not(received::is_waiting))
                .filter(received::received_at.lt(V(before)))
                .order((received::received_at, received::account_id, received::wamid))
                .limit(most)
                .select((received::account_id, received::wamid))
                .load(conn)
                .await?;
            let (messages, mut silent_threads) = (old.len(), 0);
            for (account, wamid) in old {
                delete(conn, received::table.find((V(account), wamid))).await?;
            }
            let silent: Vec<WhatsAppThreadId> = threads::table
                .filter(threads::heard_at.lt(V(before)))
                .filter(threads::claim_id.is_null())
                .filter(threads::due_at.is_null())
                .filter(not(diesel::dsl::exists(
                    received::table.filter(received::thread_id.eq(threads::id)),
                )))
                .order((threads::heard_at, threads::id))
                .limit(most)
                .select(threads::id)
                .load(conn)
                .await?;
            for id in silent {
                // A webhook that came meanwhile has put a message into it, and made it due.
                let deleted = diesel::delete(threads::table.find(V(id)))
                    .filter(threads::claim_id.is_null())
                    .filter(threads::due_at.is_null())
                    .execute(conn)
                    .await?;
                silent_threads += deleted;
            }
            let gone = messages.max(silent_threads);
            Ok(i64::try_from(gone).is_ok_and(|gone| gone >= most))
        })
    }
}
