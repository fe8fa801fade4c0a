//! How text conversations begin, and who may read one: a page with its token, an account by its id.

use crate::database::RunQueryDsl;
use crate::store::{Answer, read, write};
use diesel::prelude::*;
use offhook_domain::{
    AccountId, CallState, Channel, ConversationId, ConversationStatus, KeyId, Runtime, Timestamp,
};

use super::wallets::{self, Draw, Reserve};
use super::{chats, moments, widgets};
use crate::database::Conn;
use crate::dialect::queued_at;
use crate::schema::{chat_sessions as sessions, conversations as calls};
use crate::sql::V;
use crate::{
    ChatOpened, ChatSession, ChatView, Conversation, NewChat, NewTurn, Result, Store, Verdict,
};

pub(super) const MINUTE_US: i64 = 60_000_000;

/// Writes a conversation that reserves the credits of an answer. The caller rolls back unless the result is `Opened`.
/// Limits other than the wallet were counted before, on the given day.
pub(crate) async fn begin(
    conn: &mut Conn,
    chat: &NewChat,
    (channel, held_day): (Channel, i32),
    steady: Timestamp,
) -> Result<ChatOpened> {
    let reserve = chat.price.of_answers(1);
    let draw = Draw::of(chat.account_id, chat.at);
    if wallets::hold(conn, &draw, reserve).await? != Reserve::Held {
        return Ok(ChatOpened::WalletTooLow);
    }
    let db = conn.db();
    diesel::insert_into(calls::table)
        .values((
            (
                calls::id.eq(V(chat.id)),
                calls::account_id.eq(V(chat.account_id)),
                calls::agent_id.eq(V(chat.agent_id)),
                calls::agent_ref.eq(chat.agent_id.to_string()),
                calls::agent_version.eq(chat.agent_version),
                calls::key_id.eq(None::<KeyId>),
                calls::runtime.eq(V(Runtime::Engine)),
                calls::channel.eq(V(channel)),
                calls::voice.eq(false),
                calls::state.eq(V(CallState::Live)),
                calls::status.eq(V(ConversationStatus::Unknown)),
            ),
            (
                calls::metadata.eq(V(chat.metadata.clone())),
                calls::price_millicredits.eq(chat.price.millicredits_per_minute()),
                calls::started_at.eq(V(chat.at)),
                calls::answered_at.eq(V(chat.at)),
                calls::has_audio.eq(false),
                calls::messages_count.eq(0),
                calls::last_seq.eq(1),
                calls::hangup_requested.eq(false),
                queued_at(db, steady).map(|at| calls::queued_at.eq(V(at))),
            ),
        ))
        .execute(conn)
        .await?;
    moments::entered(conn, chat.id, 1, CallState::Live, chat.at).await?;
    if let Some(text) = &chat.first_message {
        let first = NewTurn::written("agent", text.clone(), chat.at);
        chats::append(conn, chat.id, first).await?;
    }
    wallets::insert_reservation(conn, chat.id, &draw, reserve).await?;
    diesel::insert_into(sessions::table)
        .values((
            sessions::conversation_id.eq(V(chat.id)),
            sessions::account_id.eq(V(chat.account_id)),
            sessions::agent_id.eq(V(chat.agent_id)),
            sessions::origin.eq(&chat.origin),
            sessions::token_digest.eq(&chat.token_digest),
            sessions::token_expires_at.eq(V(chat.token_expires_at)),
            sessions::is_open.eq(true),
            sessions::is_settled.eq(false),
            sessions::active_at.eq(V(chat.at)),
            sessions::held_day.eq(held_day),
            sessions::answers.eq(0),
        ))
        .execute(conn)
        .await?;
    Ok(ChatOpened::Opened)
}

impl Store {
    /// Begins a text conversation: limits, reservation, conversation and session in one transaction. After
    /// `StoreError::UnknownCommit` it may have begun; after other errors it has not.
    pub fn open_chat(&self, chat: NewChat, steady: Timestamp) -> Answer<'_, ChatOpened> {
        write!(self, |conn| {
            let agent = chat.agent_id;
            let counts = widgets::lock(conn, agent).await?;
            let Some(mut counts) = counts.filter(widgets::Counts::is_enabled) else {
                return Ok(Verdict::Rollback(ChatOpened::Refused));
            };
            if !widgets::names(conn, agent, &chat.origin).await? {
                return Ok(Verdict::Rollback(ChatOpened::Refused));
            }
            if !counts.take_session(chat.at.micros().div_euclid(MINUTE_US)) {
                return Ok(Verdict::Rollback(ChatOpened::TooMany));
            }
            let reserve = chat.price.of_answers(1);
            let Some(held_day) = counts.hold(chat.at.utc_day(), reserve) else {
                return Ok(Verdict::Rollback(ChatOpened::CapReached));
            };
            widgets::count(conn, agent, counts).await?;
            let opened = begin(conn, &chat, (Channel::WidgetChat, held_day), steady).await?;
            Ok(Verdict::keep_if(opened == ChatOpened::Opened, opened))
        })
    }

    /// The text conversation that a token opens, by the token's digest.
    pub fn chat(&self, id: ConversationId, token_digest: Vec<u8>) -> Answer<'_, Option<ChatView>> {
        read!(self, |conn| {
            let found: Option<ChatSession> = sessions::table
                .find(V(id))
                .filter(sessions::token_digest.eq(token_digest))
                .select(ChatSession::as_select())
                .found(conn)
                .await?;
            let Some(session) = found else {
                return Ok(None);
            };
            let is_served = widgets::serves(conn, session.agent_id, &session.origin).await?;
            view(conn, session, is_served).await.map(Some)
        })
    }
}

/// The account's conversation of this origin. No widget limits it, because the account itself admits the writer.
pub(crate) async fn of_account(
    conn: &mut Conn,
    account: AccountId,
    id: ConversationId,
    origin: &str,
) -> Result<Option<ChatView>> {
    let found: Option<ChatSession> = sessions::table
        .find(V(id))
        .filter(sessions::account_id.eq(V(account)))
        .filter(sessions::origin.eq(origin))
        .select(ChatSession::as_select())
        .found(conn)
        .await?;
    match found {
        Some(session) => view(conn, session, true).await.map(Some),
        None => Ok(None),
    }
}

async fn view(conn: &mut Conn, session: ChatSession, is_served: bool) -> Result<ChatView> {
    let conversation = calls::table
        .find(V(session.conversation_id))
        .select(Conversation::as_select())
        .first(conn)
        .await?;
    Ok(ChatView {
        session,
        conversation,
        is_served,
    })
}
