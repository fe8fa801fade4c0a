//! Text conversations of an account's own members: as those of web pages, with no widget that limits them. Their sessions
//! have no origin, and nobody was given their token: members are let in by their account.

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use offhook_domain::{AccountId, Channel, ConversationId, Timestamp};

use super::super::Conn;
use super::chats;
use super::wallets::{self, Reserve};
use crate::schema::{chat_sessions as sessions, conversations as calls};
use crate::sql::V;
use crate::{ChatOpened, ChatSession, ChatView, Conversation, NewChat, StoreError};

/// Begins a conversation; the caller undoes it unless it is `Opened`.
pub(crate) async fn open(
    conn: &mut Conn,
    chat: &NewChat,
    steady: Timestamp,
) -> Result<ChatOpened, StoreError> {
    let reserve = chat.price.of_answers(1);
    let draw = chats::draw(chat);
    if reserve > 0 && wallets::hold(conn, &draw, reserve).await? != Reserve::Held {
        return Ok(ChatOpened::WalletTooLow);
    }
    chats::insert(conn, chat, Channel::Chat, steady).await?;
    if reserve > 0 {
        wallets::insert_reservation(conn, chat.id, &draw, reserve).await?;
    }
    chats::insert_session(conn, chat, chat.at.utc_day()).await?;
    Ok(ChatOpened::Opened)
}

/// A member's conversation, by its account.
pub(crate) async fn find(
    conn: &mut Conn,
    account: AccountId,
    id: ConversationId,
) -> Result<Option<ChatView>, StoreError> {
    let session: Option<ChatSession> = sessions::table
        .find(V(id))
        .filter(sessions::account_id.eq(V(account)))
        .filter(sessions::origin.eq(""))
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
