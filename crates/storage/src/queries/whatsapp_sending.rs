//! Messages to customers on WhatsApp. A message is sent only while it is `queued`, and leaves that state before its
//! request leaves the process. The claim of its thread is the fence.

use super::{
    chats,
    whatsapp::{done, has_not_left},
    whatsapp_claims::lock_thread,
};
use crate::prelude::*;

/// The form of a note in a transcript. There it is a turn of a tool, so that a model that reads the transcript treats
/// it as one.
const NOTE: &str = "whatsapp({}) → ";

/// Writes a note into the transcript of an open conversation. An ended one stays as it is.
pub(super) async fn note(
    conn: &mut Conn,
    conversation: ConversationId,
    text: &str,
    at: Timestamp,
) -> Result<()> {
    ensure!(chats::lock(conn, conversation).await?.is_some(), ());
    let turn = NewTurn::written("tool", format!("{NOTE}{text}"), at);
    chats::append(conn, conversation, turn).await?;
    Ok(())
}

/// Queues the messages that answer a received message.
pub(super) async fn queue(
    conn: &mut Conn,
    thread: &WhatsAppThread,
    (conversation, answers): (ConversationId, &str),
    parts: Vec<String>,
    times: WhatsAppTimes,
) -> Result<()> {
    for (part, text) in (0_i32..).zip(parts) {
        let id: WhatsAppMessageId = mint(times.now);
        insert_new! {
            conn, sent: id, account_id = thread.account_id, thread_id = thread.id,
            conversation_id = conversation, answers, part, content = text,
            status = SentStatus::Queued, tries = 0, queued_at = times.now, due_at = times.steady,
            updated_at = times.now
        }?;
    }
    Ok(())
}

/// Gives up on the messages that the previous owner of the claim began to send, and whose result is unknown.
pub(super) async fn give_up_begun(
    conn: &mut Conn,
    thread: WhatsAppThreadId,
    at: Timestamp,
) -> Result<()> {
    let begun: Vec<ConversationId> = diesel::update(sent::table)
        .filter(sent::thread_id.eq(V(thread)))
        .filter(sent::status.eq(V(SentStatus::Sending)))
        .set(row! { sent: status = SentStatus::Unknown, content = NULL, updated_at = at })
        .returning(sent::conversation_id)
        .load(conn)
        .await?;
    for conversation in begun {
        note(
            conn,
            conversation,
            &WhatsAppNote::Interrupted.to_string(),
            at,
        )
        .await?;
    }
    Ok(())
}

/// Marks a message, and those that follow it in the same answer, as failed: the customer will not get them.
async fn failed(
    conn: &mut Conn,
    id: WhatsAppMessageId,
    sentence: &str,
    at: Timestamp,
) -> Result<()> {
    let failed = || {
        (
            sent::status.eq(V(SentStatus::Failed)),
            sent::content.eq(None::<String>),
            sent::failure.eq(sentence),
            sent::updated_at.eq(V(at)),
        )
    };
    let gone: Option<(ConversationId, AccountId, String)> = diesel::update(sent::table.find(V(id)))
        .filter(has_not_left())
        .set(failed())
        .returning((sent::conversation_id, sent::account_id, sent::answers))
        .returned(conn)
        .await?;
    let (conversation, account, answers) = some_or!(gone, ());
    diesel::update(sent::table)
        .filter(sent::account_id.eq(V(account)))
        .filter(sent::answers.eq(answers))
        .filter(sent::status.eq(V(SentStatus::Queued)))
        .set(failed())
        .execute(conn)
        .await?;
    note(conn, conversation, sentence, at).await
}

impl Store {
    /// Records that these parts answer a message, and queues them, in one transaction.
    pub fn queue_whatsapp_answer(
        &self,
        claim: WhatsAppClaim,
        conversation: ConversationId,
        wamid: String,
        parts: Vec<String>,
        times: WhatsAppTimes,
    ) -> Answer<'_, Fenced> {
        keep!(self, |conn| {
            let thread = some_or!(lock_thread(conn, claim, None).await?, Fenced::Lost);
            if done(conn, thread.account_id, &wamid).await? {
                queue(conn, &thread, (conversation, &wamid), parts, times).await?;
            }
            Ok(Fenced::Done)
        })
    }

    /// Marks the message as being sent: from now on it is not sent again unless it certainly was not sent. `Lost` if
    /// the caller may no longer send it. After `StoreError::UnknownCommit` the mark may have been written; after other
    /// errors it was not.
    pub fn begin_sending_whatsapp(
        &self,
        claim: WhatsAppClaim,
        id: WhatsAppMessageId,
        now: Timestamp,
    ) -> Answer<'_, Fenced> {
        let offset = self.offset();
        transact!(self, |conn| {
            let lease = dialect!(conn, lease_clock(offset))?.plus(lease());
            if lock_thread(conn, claim, Some(lease)).await?.is_none() {
                return Ok(Rollback(Fenced::Lost));
            }
            let begun = diesel::update(sent::table.find(V(id)))
                .filter(sent::status.eq(V(SentStatus::Queued)))
                .set(row! { sent: status = SentStatus::Sending, updated_at = now })
                .changes(conn)
                .await?;
            Ok(match begun {
                true => Commit(Fenced::Done),
                false => Rollback(Fenced::Lost),
            })
        })
    }

    /// Records a webhook's report on a sent message. Returns whether the account has such a message.
    pub fn record_whatsapp_report(
        &self,
        report: WhatsAppReport,
        at: Timestamp,
    ) -> Answer<'_, bool> {
        keep!(self, |conn| {
            type Row = (WhatsAppMessageId, SentStatus, ConversationId);
            let by_reference: Option<Row> = match report.reference {
                // Locks the row.
                Some(id) => {
                    diesel::update(sent::table.find(V(id)))
                        .filter(sent::account_id.eq(V(report.account_id)))
                        .set(sent::part.eq(sent::part))
                        .returning((sent::id, sent::status, sent::conversation_id))
                        .returned(conn)
                        .await?
                }
                None => None,
            };
            let found = match by_reference {
                Some(row) => Some(row),
                None => {
                    let rows: Vec<Row> = diesel::update(sent::table)
                        .filter(sent::account_id.eq(V(report.account_id)))
                        .filter(sent::wamid.eq(&report.wamid))
                        .set(sent::part.eq(sent::part))
                        .returning((sent::id, sent::status, sent::conversation_id))
                        .load(conn)
                        .await?;
                    rows.into_iter().next()
                }
            };
            let (id, status, conversation) = some_or!(found, false);
            ensure!(status.gives_way_to(report.status), true);
            diesel::update(sent::table.find(V(id)))
                .set(row! {
                    sent of report: status, wamid, content = NULL, failure, updated_at = at
                })
                .execute(conn)
                .await?;
            if let Some(failure) = &report.failure {
                note(conn, conversation, failure, at).await?;
            } else if status == SentStatus::Unknown {
                note(conn, conversation, &WhatsAppNote::Taken.to_string(), at).await?;
            }
            Ok(true)
        })
    }

    /// Records the result of sending a message. It is not fenced: it is what is known of a request, whichever worker
    /// has the claim by now. A status that came by webhook meanwhile stays.
    pub fn record_whatsapp_outcome(
        &self,
        id: WhatsAppMessageId,
        outcome: WhatsAppOutcome,
        at: Timestamp,
    ) -> Answer<'_, ()> {
        keep!(self, |conn| {
            match outcome {
                WhatsAppOutcome::Accepted(wamid) => {
                    diesel::update(sent::table.find(V(id)))
                        .filter(sent::wamid.is_null())
                        .set(row! { sent: wamid, content = NULL, updated_at = at })
                        .execute(conn)
                        .await?;
                    diesel::update(sent::table.find(V(id)))
                        .filter(sent::status.eq(V(SentStatus::Sending)))
                        .set(sent::status.eq(V(SentStatus::Accepted)))
                        .execute(conn)
                        .await?;
                    let found: Option<ConversationId> = diesel::update(sent::table.find(V(id)))
                        .filter(sent::status.eq(V(SentStatus::Unknown)))
                        .set(sent::status.eq(V(SentStatus::Accepted)))
                        .returning(sent::conversation_id)
                        .returned(conn)
                        .await?;
                    if let Some(conversation) = found {
                        note(conn, conversation, &WhatsAppNote::Taken.to_string(), at).await?;
                    }
                }
                WhatsAppOutcome::Later(due) => {
                    diesel::update(sent::table.find(V(id)))
                        .filter(sent::status.eq(V(SentStatus::Sending)))
                        .set(row! {
                            sent: status = SentStatus::Queued, due_at = due, tries += 1,
                            updated_at = at
                        })
                        .execute(conn)
                        .await?;
                }
                WhatsAppOutcome::Unknown(sentence) => {
                    let lost: Option<ConversationId> = diesel::update(sent::table.find(V(id)))
                        .filter(sent::status.eq(V(SentStatus::Sending)))
                        .set(row! {
                            sent: status = SentStatus::Unknown, content = NULL, updated_at = at
                        })
                        .returning(sent::conversation_id)
                        .returned(conn)
                        .await?;
                    if let Some(conversation) = lost {
                        note(conn, conversation, &sentence, at).await?;
                    }
                }
                WhatsAppOutcome::Failed(sentence) => failed(conn, id, &sentence, at).await?,
            }
            Ok(())
        })
    }

    /// The status of up to `most` messages of a conversation of the account, in order.
    pub fn sent_on_whatsapp(
        &self,
        account: AccountId,
        conversation: ConversationId,
        most: i64,
    ) -> Answer<'_, Vec<WhatsAppSent>> {
        sent::table
            .filter(sent::conversation_id.eq(V(conversation)))
            .filter(sent::account_id.eq(V(account)))
            .order((sent::queued_at, sent::part))
            .limit(most)
            .select(WhatsAppSent::as_select())
            .read_all(self)
    }
}
