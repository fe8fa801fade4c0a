//! Who may read a text conversation: a page with its token, an account by its id.

use diesel::prelude::*;
use offhook_domain::{AccountId, ConversationId};

use super::widgets;
use crate::database::{Conn, RunQueryDsl};
use crate::schema::{chat_sessions as sessions, conversations as calls};
use crate::sql::V;
use crate::store::{Answer, read};
use crate::{ChatSession, ChatView, Conversation, Result, Store};

impl Store {
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

    /// The account's text conversation of this origin. No widget limits it, because the account itself admits the
    /// writer.
    pub fn account_chat(
        &self,
        account: AccountId,
        id: ConversationId,
        origin: &'static str,
    ) -> Answer<'_, Option<ChatView>> {
        read!(self, |conn| {
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
        })
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
