//! Conversations on WhatsApp: what customers sent, and whose turn it is to answer. The thread's row is locked before the
//! messages', these before the session's.

use diesel::dsl::{not, sql};
use diesel::prelude::*;
use diesel::sql_types::Bool;
use diesel_async::RunQueryDsl;
use offhook_domain::{
    AccountId, AgentStatus, Channel, ClaimId, ConversationId, E164, NodeId, SentStatus, Timestamp,
    WhatsAppThreadId,
};

use super::super::{Conn, dialect};
use super::wallets::{self, Reserve};
use super::{chats, whatsapp_sending};
use crate::schema::{
    accounts, agent_versions as versions, agents, chat_sessions as sessions,
    conversations as calls, phone_numbers as numbers, whatsapp_received as received,
    whatsapp_sent as sent, whatsapp_threads as threads,
};
use crate::sql::V;
use crate::{
    Account, Agent, CalledNumber, ChatOpened, ChatSession, ChatView, Conversation, Fenced, NewChat,
    NewTurn, NewWhatsAppMessage, StoreError, WHATSAPP_ORIGIN, WhatsAppHold, WhatsAppReceived,
    WhatsAppRemark, WhatsAppStep, WhatsAppThread, WhatsAppTimes,
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
) -> Result<usize, StoreError> {
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
) -> Result<(WhatsAppThreadId, Timestamp), StoreError> {
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

/// Threads with something to do that nobody has claimed: `judged` says by which clock others' leases are over, `None` that
/// this process may not judge them; `alone` is this process where no other can hold a claim in force.
pub(crate) async fn due(
    conn: &mut Conn,
    steady: Timestamp,
    judged: Option<Timestamp>,
    alone: Option<NodeId>,
    most: i64,
) -> Result<Vec<WhatsAppThreadId>, StoreError> {
    let mut query = threads::table
        .filter(threads::due_at.le(V(steady)))
        .order((threads::due_at, threads::id))
        .limit(most)
        .select(threads::id)
        .into_boxed();
    query = match (judged, alone) {
        (_, Some(node)) => {
            query.filter(threads::claim_id.is_null().or(threads::node_id.ne(V(node))))
        }
        (Some(now), None) => query.filter(
            threads::claim_id
                .is_null()
                .or(threads::lease_expires_at.lt(V(now))),
        ),
        (None, None) => query.filter(threads::claim_id.is_null()),
    };
    Ok(query.load(conn).await?)
}

/// Claims a thread until `lease`; `None` if somebody was faster. The rest as in [`due`].
pub(crate) async fn take(
    conn: &mut Conn,
    id: WhatsAppThreadId,
    node: NodeId,
    (now, judged, lease): (Timestamp, Option<Timestamp>, Timestamp),
    alone: bool,
) -> Result<Option<ClaimId>, StoreError> {
    type Holder = (Option<ClaimId>, Option<NodeId>, Option<Timestamp>);
    // Locks the row.
    let holder: Option<Holder> = diesel::update(threads::table.find(V(id)))
        .set(threads::due_at.eq(threads::due_at))
        .returning((
            threads::claim_id,
            threads::node_id,
            threads::lease_expires_at,
        ))
        .get_result(conn)
        .await
        .optional()?;
    let Some((held, by, until)) = holder else {
        return Ok(None);
    };
    let is_over = || judged.is_some_and(|now| until.is_some_and(|until| until < now));
    let is_free = held.is_none() || (alone && by != Some(node)) || (!alone && is_over());
    if !is_free {
        return Ok(None);
    }
    let claim: ClaimId = crate::store::mint(now);
    diesel::update(threads::table.find(V(id)))
        .set((
            threads::claim_id.eq(V(claim)),
            threads::node_id.eq(V(node)),
            threads::lease_expires_at.eq(V(lease)),
        ))
        .execute(conn)
        .await?;
    Ok(Some(claim))
}

/// Locks a thread that is claimed, and renews its claim where a lease is given; `None` if the claim is another's.
pub(crate) async fn held(
    conn: &mut Conn,
    hold: WhatsAppHold,
    lease: Option<Timestamp>,
) -> Result<Option<WhatsAppThread>, StoreError> {
    let of = threads::table
        .find(V(hold.thread))
        .filter(threads::claim_id.eq(V(hold.claim)));
    Ok(match lease {
        Some(lease) => {
            diesel::update(of)
                .set(threads::lease_expires_at.eq(V(lease)))
                .returning(WhatsAppThread::as_returning())
                .get_result(conn)
                .await
        }
        None => {
            diesel::update(of)
                .set(threads::due_at.eq(threads::due_at))
                .returning(WhatsAppThread::as_returning())
                .get_result(conn)
                .await
        }
    }
    .optional()?)
}

/// What is to be done next: what was written is sent before anything else is answered.
pub(crate) async fn next(
    conn: &mut Conn,
    hold: WhatsAppHold,
    times: WhatsAppTimes,
    lease: Timestamp,
) -> Result<WhatsAppStep, StoreError> {
    let Some(thread) = held(conn, hold, Some(lease)).await? else {
        return Ok(WhatsAppStep::Lost);
    };
    whatsapp_sending::give_up_begun(conn, thread.id, times.now).await?;
    if let Some(outgoing) = whatsapp_sending::first_queued(conn, thread.id).await? {
        return Ok(match outgoing.due_at <= times.steady {
            true => WhatsAppStep::Send(thread, outgoing),
            // What follows it is not sent before it.
            false => WhatsAppStep::Rest,
        });
    }
    let waiting: Option<WhatsAppReceived> = received::table
        .filter(received::thread_id.eq(V(thread.id)))
        .filter(received::is_waiting)
        .order((received::sent_at, received::received_at))
        .select(WhatsAppReceived::as_select())
        .first(conn)
        .await
        .optional()?;
    Ok(match waiting {
        Some(message) if message.due_at <= times.steady => WhatsAppStep::Answer(thread, message),
        _ => WhatsAppStep::Rest,
    })
}

/// Gives a claim back, and says when there is something to do next.
pub(crate) async fn release(conn: &mut Conn, hold: WhatsAppHold) -> Result<Fenced, StoreError> {
    // Locked first: what a webhook writes meanwhile is seen by what follows.
    if held(conn, hold, None).await?.is_none() {
        return Ok(Fenced::Lost);
    }
    let message: Option<Timestamp> = received::table
        .filter(received::thread_id.eq(V(hold.thread)))
        .filter(received::is_waiting)
        .order((received::sent_at, received::received_at))
        .select(received::due_at)
        .first(conn)
        .await
        .optional()?;
    let outgoing: Option<Timestamp> = sent::table
        .filter(sent::thread_id.eq(V(hold.thread)))
        .filter(has_not_left())
        .order((sent::queued_at, sent::part))
        .select(sent::due_at)
        .first(conn)
        .await
        .optional()?;
    // Nothing is answered before what waits to be sent.
    let due = outgoing.or(message);
    diesel::update(threads::table.find(V(hold.thread)))
        .set((
            threads::due_at.eq(due),
            threads::claim_id.eq(None::<ClaimId>),
            threads::node_id.eq(None::<NodeId>),
            threads::lease_expires_at.eq(None::<Timestamp>),
        ))
        .execute(conn)
        .await?;
    Ok(Fenced::Done)
}

/// A message is answered, or nobody will answer it; `false` if it was before.
pub(super) async fn done(
    conn: &mut Conn,
    account: AccountId,
    wamid: &str,
) -> Result<bool, StoreError> {
    let done = diesel::update(received::table.find((V(account), wamid)))
        .filter(received::is_waiting)
        .set((
            received::is_waiting.eq(false),
            received::content.eq(None::<String>),
        ))
        .execute(conn)
        .await?;
    Ok(done > 0)
}

/// Nobody will answer a message.
pub(crate) async fn drop_message(
    conn: &mut Conn,
    hold: WhatsAppHold,
    wamid: &str,
    note: Option<String>,
    now: Timestamp,
) -> Result<Fenced, StoreError> {
    let Some(thread) = held(conn, hold, None).await? else {
        return Ok(Fenced::Lost);
    };
    let was_waiting = done(conn, thread.account_id, wamid).await?;
    if let (true, Some(note), Some(conversation)) = (was_waiting, note, thread.conversation_id) {
        whatsapp_sending::note(conn, conversation, &note, now).await?;
    }
    Ok(Fenced::Done)
}

/// A message is to be answered later, by the steady clock.
pub(crate) async fn put_off(
    conn: &mut Conn,
    hold: WhatsAppHold,
    wamid: &str,
    (due, is_try): (Timestamp, bool),
) -> Result<Fenced, StoreError> {
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
}

/// Who has a number of the account.
pub(crate) async fn number(
    conn: &mut Conn,
    account: AccountId,
    number: E164,
) -> Result<Option<CalledNumber>, StoreError> {
    let published = versions::agent_id.nullable().eq(agents::id.nullable()).and(
        versions::version
            .nullable()
            .eq(agents::published_version.nullable()),
    );
    let found: Option<(Account, Option<Agent>, Option<String>)> = numbers::table
        .inner_join(accounts::table.on(accounts::id.eq(numbers::account_id)))
        .left_join(agents::table.on(numbers::agent_id.eq(agents::id.nullable())))
        .left_join(versions::table.on(published))
        .filter(numbers::phone_number.eq(V(number)))
        .filter(numbers::account_id.eq(V(account)))
        .select((
            Account::as_select(),
            Option::<Agent>::as_select(),
            versions::config.nullable(),
        ))
        .first(conn)
        .await
        .optional()?;
    Ok(found.map(|(account, agent, config)| CalledNumber {
        account,
        agent,
        config,
    }))
}

/// A conversation on WhatsApp, by its account.
pub(crate) async fn chat(
    conn: &mut Conn,
    account: AccountId,
    id: ConversationId,
) -> Result<Option<ChatView>, StoreError> {
    let session: Option<ChatSession> = sessions::table
        .find(V(id))
        .filter(sessions::account_id.eq(V(account)))
        .filter(sessions::origin.eq(WHATSAPP_ORIGIN))
        .select(ChatSession::as_select())
        .first(conn)
        .await
        .optional()?;
    let Some(session) = session else {
        return Ok(None);
    };
    let conversation = calls::table
        .find(V(id))
        .select(Conversation::as_select())
        .first(conn)
        .await?;
    Ok(Some(ChatView {
        session,
        conversation,
        is_served: true,
    }))
}

/// Begins a thread's next conversation; the caller undoes it unless it is `Opened`. `None`: the claim is another's.
pub(crate) async fn open(
    conn: &mut Conn,
    hold: WhatsAppHold,
    chat: &NewChat,
    steady: Timestamp,
) -> Result<Option<ChatOpened>, StoreError> {
    let Some(thread) = held(conn, hold, None).await? else {
        return Ok(None);
    };
    let status = dialect::hold_agent(conn, chat.account_id, chat.agent_id).await?;
    if status != Some(AgentStatus::Active) {
        return Ok(Some(ChatOpened::Refused));
    }
    let reserve = chat.price.of_answers(1);
    let draw = chats::draw(chat);
    if reserve > 0 && wallets::hold(conn, &draw, reserve).await? != Reserve::Held {
        return Ok(Some(ChatOpened::WalletTooLow));
    }
    chats::insert(conn, chat, Channel::Whatsapp, steady).await?;
    diesel::update(calls::table.find(V(chat.id)))
        .set((
            calls::from_number.eq(V(thread.customer.clone())),
            calls::to_number.eq(V(thread.own_number)),
            calls::customer_phone.eq(V(thread.customer)),
        ))
        .execute(conn)
        .await?;
    if reserve > 0 {
        wallets::insert_reservation(conn, chat.id, &draw, reserve).await?;
    }
    chats::insert_session(conn, chat, chat.at.utc_day()).await?;
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
) -> Result<Option<bool>, StoreError> {
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

/// Deletes up to `most` messages that came before `before` and wait for nothing, and up to as many threads of which
/// nothing is left; whether there may be more.
pub(crate) async fn forget(
    conn: &mut Conn,
    before: Timestamp,
    most: i64,
) -> Result<bool, StoreError> {
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
}

/// In a restored database: what waited may have been answered and sent after the backup.
pub(crate) async fn hold_restored(conn: &mut Conn, at: Timestamp) -> Result<(), StoreError> {
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
        .execute(conn)
        .await?;
    Ok(())
}
