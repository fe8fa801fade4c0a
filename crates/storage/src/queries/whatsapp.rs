//! Conversations on WhatsApp: what customers sent, and how it is answered. The thread's row is locked before the messages',
//! these before the session's.

use crate::database::RunQueryDsl;
use crate::queries::locks;
use crate::store::{Answer, keep};
use diesel::dsl::{not, sql};
use diesel::prelude::*;
use diesel::sql_types::Bool;
use offhook_domain::{
    AccountId, AgentStatus, Channel, ClaimId, ConversationId, NodeId, SentStatus, Timestamp,
    WhatsAppThreadId,
};

use super::whatsapp_claims::held;
use super::{chat_openings, chats, whatsapp_sending};
use crate::database::Conn;
use crate::schema::{
    chat_sessions as sessions, conversations as calls, whatsapp_received as received,
    whatsapp_sent as sent, whatsapp_threads as threads,
};
use crate::sql::V;
use crate::{
    ChatOpened, Fenced, NewChat, NewTurn, NewWhatsAppMessage, Result, Store, WhatsAppHold,
    WhatsAppRemark, WhatsAppTimes,
};

/// Messages that have not left, written out for the partial index.
pub(super) fn has_not_left() -> diesel::expression::SqlLiteral<Bool> {
    sql("whatsapp_sent.status IN ('queued', 'sending')")
}

/// Writes messages down, each once; how many were new.
pub(crate) async fn receive(
    conn: &mut Conn,
    mut messages: Vec<NewWhatsAppMessage>,
    steady: Timestamp,
) -> Result<usize> {
    // Two webhooks that tell of the same threads lock them in one order. What came together keeps its order.
    messages.sort_by(|a, b| (&a.own_number, &a.customer).cmp(&(&b.own_number, &b.customer)));
    let mut new = 0;
    for message in messages {
        let (thread, heard_at) = thread_of(conn, &message).await?;
        let inserted = diesel::insert_into(received::table)
            .values((
                received::account_id.eq(V(message.account_id)),
                received::wamid.eq(message.wamid),
                received::thread_id.eq(V(thread)),
                received::kind.eq(message.kind),
                received::content.eq(message.text),
                received::sent_at.eq(V(message.sent_at)),
                received::received_at.eq(V(message.received_at)),
                received::is_waiting.eq(true),
                received::due_at.eq(V(steady)),
                received::tries.eq(0),
            ))
            .on_conflict_do_nothing()
            .execute(conn)
            .await?;
        if inserted == 0 {
            continue;
        }
        new += 1;
        diesel::update(threads::table.find(V(thread)))
            .set((
                threads::heard_at.eq(V(heard_at.max(message.sent_at))),
                threads::due_at.eq(V(steady)),
            ))
            .execute(conn)
            .await?;
    }
    Ok(new)
}

/// The message's thread, locked, and when its customer was heard before.
async fn thread_of(
    conn: &mut Conn,
    message: &NewWhatsAppMessage,
) -> Result<(WhatsAppThreadId, Timestamp)> {
    let id: WhatsAppThreadId = crate::store::mint(message.received_at);
    diesel::insert_into(threads::table)
        .values((
            threads::id.eq(V(id)),
            threads::account_id.eq(V(message.account_id)),
            threads::own_number.eq(V(message.own_number.clone())),
            threads::customer.eq(V(message.customer.clone())),
            threads::phone_number_id.eq(&message.phone_number_id),
            threads::heard_at.eq(V(message.sent_at)),
        ))
        .on_conflict_do_nothing()
        .execute(conn)
        .await?;
    Ok(diesel::update(threads::table)
        .filter(threads::account_id.eq(V(message.account_id)))
        .filter(threads::own_number.eq(V(message.own_number.clone())))
        .filter(threads::customer.eq(V(message.customer.clone())))
        .set(threads::phone_number_id.eq(&message.phone_number_id))
        .returning((threads::id, threads::heard_at))
        .get_result(conn)
        .await?)
}

/// A message is answered, or nobody will answer it; `false` if it was before.
pub(super) async fn done(conn: &mut Conn, account: AccountId, wamid: &str) -> Result<bool> {
    diesel::update(received::table.find((V(account), wamid)))
        .filter(received::is_waiting)
        .set((
            received::is_waiting.eq(false),
            received::content.eq(None::<String>),
        ))
        .changes(conn)
        .await
}

impl Store {
    /// Says of a message that nobody will answer it, and in the conversation why, if there is a note.
    pub fn drop_whatsapp(
        &self,
        hold: WhatsAppHold,
        wamid: String,
        note: Option<String>,
        now: Timestamp,
    ) -> Answer<'_, Fenced> {
        keep!(self, |conn| {
            let Some(thread) = held(conn, hold, None).await? else {
                return Ok(Fenced::Lost);
            };
            let was_waiting = done(conn, thread.account_id, &wamid).await?;
            if let (true, Some(note), Some(conversation)) =
                (was_waiting, note, thread.conversation_id)
            {
                whatsapp_sending::note(conn, conversation, &note, now).await?;
            }
            Ok(Fenced::Done)
        })
    }

    /// Puts the answer to a message off until `due`, by the steady clock; `is_try` says whether that counts as a try.
    pub fn put_off_whatsapp(
        &self,
        hold: WhatsAppHold,
        wamid: String,
        due: Timestamp,
        is_try: bool,
    ) -> Answer<'_, Fenced> {
        keep!(self, |conn| {
            let Some(thread) = held(conn, hold, None).await? else {
                return Ok(Fenced::Lost);
            };
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

    /// Forgets up to `most` messages that came before `before` and are done with, and threads of which nothing is left;
    /// whether there may be more.
    pub fn forget_whatsapp(&self, before: Timestamp, most: i64) -> Answer<'_, bool> {
        keep!(self, |conn| {
            let old: Vec<(AccountId, String)> = received::table
                .filter(not(received::is_waiting))
                .filter(received::received_at.lt(V(before)))
                .order((received::received_at, received::account_id, received::wamid))
                .limit(most)
                .select((received::account_id, received::wamid))
                .load(conn)
                .await?;
            let mut gone = old.len();
            for (account, wamid) in old {
                diesel::delete(received::table.find((V(account), wamid)))
                    .execute(conn)
                    .await?;
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
                // A webhook that came meanwhile has a message in it.
                let deleted = diesel::delete(threads::table.find(V(id)))
                    .filter(threads::claim_id.is_null())
                    .filter(threads::due_at.is_null())
                    .execute(conn)
                    .await?;
                gone = gone.max(deleted);
            }
            Ok(i64::try_from(gone).is_ok_and(|gone| gone >= most))
        })
    }
}

/// Begins a thread's next conversation; the caller undoes it unless it is `Opened`. `None`: the claim is another's.
pub(crate) async fn open(
    conn: &mut Conn,
    hold: WhatsAppHold,
    chat: &NewChat,
    steady: Timestamp,
) -> Result<Option<ChatOpened>> {
    let Some(thread) = held(conn, hold, None).await? else {
        return Ok(None);
    };
    let status = locks::hold_agent(conn, chat.account_id, chat.agent_id).await?;
    if status != Some(AgentStatus::Active) {
        return Ok(Some(ChatOpened::Refused));
    }
    let begun = (Channel::Whatsapp, chat.at.utc_day());
    let opened = chat_openings::begin(conn, chat, begun, steady).await?;
    if opened != ChatOpened::Opened {
        return Ok(Some(opened));
    }
    diesel::update(calls::table.find(V(chat.id)))
        .set((
            calls::from_number.eq(V(thread.customer.clone())),
            calls::to_number.eq(V(thread.own_number)),
            calls::customer_phone.eq(V(thread.customer)),
        ))
        .execute(conn)
        .await?;
    diesel::update(threads::table.find(V(thread.id)))
        .set(threads::conversation_id.eq(V(chat.id)))
        .execute(conn)
        .await?;
    Ok(Some(ChatOpened::Opened))
}

/// Answers a message by what no model wrote. `false`: the conversation has ended meanwhile, and nothing was written.
pub(crate) async fn remark(
    conn: &mut Conn,
    hold: WhatsAppHold,
    (conversation, wamid): (ConversationId, &str),
    remark: WhatsAppRemark,
    times: WhatsAppTimes,
) -> Result<Option<bool>> {
    let Some(thread) = held(conn, hold, None).await? else {
        return Ok(None);
    };
    if !done(conn, thread.account_id, wamid).await? {
        return Ok(Some(true));
    }
    if chats::lock(conn, conversation).await?.is_none() {
        return Ok(Some(false));
    }
    let turn = |role, text: &str| NewTurn {
        role,
        text: text.to_owned(),
        started_at: times.now,
        duration_ms: 0,
        interrupted: false,
        latency: None,
    };
    let heard = chats::append(conn, conversation, turn("user", &remark.customer)).await?;
    if heard.is_none() {
        return Ok(Some(false));
    }
    diesel::update(sessions::table.find(V(conversation)))
        .set(sessions::active_at.eq(V(times.now)))
        .execute(conn)
        .await?;
    if !remark.agent.is_empty() {
        let text = remark.agent.join(" ");
        chats::append(conn, conversation, turn("agent", &text)).await?;
        whatsapp_sending::queue(conn, &thread, (conversation, wamid), remark.agent, times).await?;
        diesel::update(threads::table.find(V(thread.id)))
            .set(threads::told_in.eq(V(conversation)))
            .execute(conn)
            .await?;
    }
    if let Some(note) = remark.note {
        whatsapp_sending::note(conn, conversation, &note, times.now).await?;
    }
    Ok(Some(true))
}

/// In a restored database: what waited may have been answered and sent after the backup.
pub(crate) async fn hold_restored(conn: &mut Conn, at: Timestamp) -> Result<()> {
    diesel::update(received::table)
        .filter(received::is_waiting)
        .set((
            received::is_waiting.eq(false),
            received::content.eq(None::<String>),
        ))
        .execute(conn)
        .await?;
    diesel::update(sent::table)
        .filter(has_not_left())
        .set((
            sent::status.eq(V(SentStatus::Unknown)),
            sent::content.eq(None::<String>),
            sent::updated_at.eq(V(at)),
        ))
        .execute(conn)
        .await?;
    diesel::update(threads::table)
        .set((
            threads::due_at.eq(None::<Timestamp>),
            threads::claim_id.eq(None::<ClaimId>),
            threads::node_id.eq(None::<NodeId>),
            threads::lease_expires_at.eq(None::<Timestamp>),
        ))
        .run(conn)
        .await
}
