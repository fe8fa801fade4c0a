//! Text conversations in progress: their messages and answers. The worker that answers has a claim, which fences its
//! every step. Lock order: the session's row before all other rows of the conversation.

use super::{
    wallets::{self, Reserve},
    widgets,
};
use crate::prelude::*;
use crate::schema::{chat_messages as messages, chat_sessions as sessions};

/// Writes a turn of a live conversation whose session is locked. Returns its number, or `None` if the conversation is
/// no longer live. A turn that exists already is not written again.
pub(super) async fn append(
    conn: &mut Conn,
    id: ConversationId,
    turn: NewTurn,
) -> Result<Option<i32>> {
    if let Some(seq) = turn.seq
        && super::moments::has(conn, id, seq, turn.started_at).await?
    {
        return Ok(Some(seq));
    }
    let counts = i32::from(turn.role != "tool");
    let seq: Option<i32> = diesel::update(calls::table.find(V(id)))
        .filter(calls::state.eq(V(CallState::Live)))
        .set(row! { calls: last_seq += 1, messages_count += counts })
        .returning(calls::last_seq)
        .returned(conn)
        .await?;
    let Some(seq) = seq else { return Ok(None) };
    super::moments::said(conn, id, seq, turn).await?;
    Ok(Some(seq))
}

#[boxed]
impl Tx<'_> {
    /// Locks a text conversation's session. The caller has its token or its claim.
    pub async fn lock_chat(&mut self, id: ConversationId) -> Result<Option<ChatSession>> {
        lock(self.0, id).await
    }

    /// The customer's message with this client id, in a locked session.
    pub async fn chat_message(
        &mut self,
        id: ConversationId,
        key: &str,
    ) -> Result<Option<ChatMessage>> {
        message(self.0, id, key).await
    }

    /// The last moment of a conversation.
    pub async fn last_moment(&mut self, id: ConversationId) -> Result<i32> {
        last_moment(self.0, id).await
    }

    /// The price of a text conversation, and the credits that it has reserved.
    pub async fn chat_credits(&mut self, id: ConversationId) -> Result<(Price, Credits)> {
        Ok((price(self.0, id).await?, reserved(self.0, id).await?))
    }

    /// Reserves more credits for a conversation; `false` if the wallet does not cover them, or it is settled.
    pub async fn reserve_more(
        &mut self,
        id: ConversationId,
        credits: Credits,
        at: Timestamp,
    ) -> Result<bool> {
        Ok(wallets::top_up(self.0, id, credits, at).await? == Reserve::Held)
    }

    /// Writes the transcript of tools whose results were lost, in a locked session.
    pub async fn write_lost_tools(&mut self, session: &ChatSession, at: Timestamp) -> Result<()> {
        write_lost_tools(self.0, session, at).await
    }

    /// Writes the customer's message into a locked session. Returns its moment, or `None` if the conversation is no
    /// longer live.
    pub async fn write_chat_message(&mut self, new: &NewChatMessage) -> Result<Option<i32>> {
        let words = NewTurn::written("user", new.text.clone(), new.at);
        let seq = some_or!(append(self.0, new.conversation, words).await?, None);
        if let Some(key) = &new.message_id {
            diesel::insert_into(messages::table)
                .values(row! {
                    messages: conversation_id = new.conversation, message_id = key,
                    digest = &new.digest, seq
                })
                .execute(self.0)
                .await?;
        }
        Ok(Some(seq))
    }

    /// Claims a locked session for the answer to a message. `held_day` is the day whose cap its credits count against.
    pub async fn claim_chat(
        &mut self,
        new: &NewChatMessage,
        claim: ClaimId,
        lease_now: Timestamp,
        held_day: i32,
    ) -> Result<()> {
        diesel::update(sessions::table.find(V(new.conversation)))
            .set(row! {
                sessions: claim_id = claim, node_id = new.node,
                lease_expires_at = lease_now.plus(lease()), active_at = new.at, held_day,
                tools_at_work = NULL
            })
            .run(self.0)
            .await
    }
}

impl Store {
    /// The charged answers of a text conversation so far; `None` if the conversation is not the account's.
    pub fn chat_answers(&self, account: AccountId, id: ConversationId) -> Answer<'_, Option<i32>> {
        sessions::table
            .find(V(id))
            .filter(sessions::account_id.eq(V(account)))
            .select(sessions::answers)
            .read_first(self)
    }

    /// Whether a message with this id was answered in a text conversation, which the caller has looked up for its
    /// account.
    pub fn is_answered_in_chat(&self, id: ConversationId, message_id: String) -> Answer<'_, bool> {
        read!(self, |conn| {
            let known = message(conn, id, &message_id).await?;
            Ok(known.is_some_and(|known| known.answered_seq.is_some()))
        })
    }

    /// The newest `most` turns of a text conversation, oldest first. The caller has its token or its claim.
    pub fn chat_history(&self, id: ConversationId, most: i64) -> Answer<'_, ChatHistory> {
        self.turns_before(id, i32::MAX, most)
    }

    /// The widget settings of an agent, which the caller has looked up for its account. `None` if there are none.
    pub fn widget(&self, agent: AgentId) -> Answer<'_, Option<WidgetSettings>> {
        read!(self, |conn| widgets::settings(conn, agent).await)
    }

    /// Renews the claim of an answer or a closing.
    pub fn renew_chat(&self, id: ConversationId, claim: ClaimId) -> Answer<'_, Fenced> {
        let offset = self.offset();
        keep!(self, |conn| {
            let lease = dialect!(conn, lease_clock(offset))?.plus(lease());
            let is_renewed = diesel::update(sessions::table.find(V(id)))
                .filter(sessions::claim_id.eq(V(claim)))
                .set(sessions::lease_expires_at.eq(V(lease)))
                .changes(conn)
                .await?;
            Ok(Fenced::of(is_renewed))
        })
    }

    /// Writes turns of an answer in progress, together. Its tools no longer count as running.
    pub fn append_chat_turns(
        &self,
        id: ConversationId,
        claim: ClaimId,
        turns: Vec<NewTurn>,
    ) -> Answer<'_, Fenced> {
        transact!(self, |conn| {
            let mut is_written = set_tools(conn, id, claim, None).await? == Fenced::Done;
            for turn in turns {
                is_written = is_written && append(conn, id, turn).await?.is_some();
            }
            failpoints::hit(failpoints::CHAT_TURNS_BEFORE_COMMIT);
            Ok(Verdict::keep_if(is_written, Fenced::of(is_written)))
        })
    }

    /// Records that tools run in an answer in progress, and what the transcript will say of each if its result is lost.
    /// The next worker on the conversation writes that.
    pub fn set_chat_tools(
        &self,
        id: ConversationId,
        claim: ClaimId,
        texts: Vec<String>,
    ) -> Answer<'_, Fenced> {
        let texts = Json::Array(texts.into_iter().map(Json::String).collect()).to_compact();
        keep!(self, |conn| set_tools(conn, id, claim, Some(texts)).await)
    }

    /// Ends an answer: its last turns, its charge and the release of the claim in one transaction. Returns the last
    /// moment of the conversation, or `None` if another worker has the claim.
    pub fn finish_chat_answer(
        &self,
        id: ConversationId,
        claim: ClaimId,
        answered: ChatAnswered,
    ) -> Answer<'_, Option<i32>> {
        transact!(self, |conn| {
            let last = answer(conn, id, claim, answered).await?;
            failpoints::hit(failpoints::CHAT_BEFORE_COMMIT);
            Ok(Verdict::keep_if(last.is_some(), last))
        })
    }
}

/// Ends an answer: writes the rest, charges it and releases the claim. Returns the last moment of the conversation, or
/// `None` if another worker has the claim; then the caller rolls back.
async fn answer(
    conn: &mut Conn,
    id: ConversationId,
    claim: ClaimId,
    answered: ChatAnswered,
) -> Result<Option<i32>> {
    let is_freed = diesel::update(sessions::table.find(V(id)))
        .filter(sessions::claim_id.eq(V(claim)))
        .set((
            sessions::answers.eq(sessions::answers + i32::from(answered.is_charged)),
            row! {
                sessions: active_at = answered.at, claim_id = NULL, node_id = NULL,
                lease_expires_at = NULL, tools_at_work = NULL
            },
        ))
        .changes(conn)
        .await?;
    if !is_freed {
        // A retry may have lost only the response of a first attempt that was written.
        return is_over(conn, id, &answered).await;
    }
    for turn in answered.turns {
        ensure!(append(conn, id, turn).await?.is_some(), None);
    }
    let last = last_moment(conn, id).await?;
    if answered.is_final {
        diesel::update(messages::table)
            .filter(messages::conversation_id.eq(V(id)))
            .filter(messages::answered_seq.is_null())
            .set(messages::answered_seq.eq(last))
            .execute(conn)
            .await?;
    }
    Ok(Some(last))
}

/// The last moment of an answer that has ended exactly like this one, by its writer's position.
async fn is_over(
    conn: &mut Conn,
    id: ConversationId,
    answered: &ChatAnswered,
) -> Result<Option<i32>> {
    let last = some_or!(answered.last, None);
    let is_over = match answered.turns.last() {
        Some(turn) => super::moments::has(conn, id, last, turn.started_at).await?,
        // Nothing else has happened, and the session has no claim.
        None => {
            let seq = last_moment(conn, id).await?;
            let session = lock(conn, id).await?;
            seq == last && session.is_some_and(|session| session.claim_id.is_none())
        }
    };
    Ok(is_over.then_some(last))
}

pub(crate) async fn lock(conn: &mut Conn, id: ConversationId) -> Result<Option<ChatSession>> {
    diesel::update(sessions::table.find(V(id)))
        .set(sessions::answers.eq(sessions::answers))
        .returning(ChatSession::as_returning())
        .returned(conn)
        .await
}

async fn message(conn: &mut Conn, id: ConversationId, key: &str) -> Result<Option<ChatMessage>> {
    Ok(messages::table
        .find((V(id), key))
        .select(ChatMessage::as_select())
        .found(conn)
        .await?)
}

async fn last_moment(conn: &mut Conn, id: ConversationId) -> Result<i32> {
    let call = calls::table.find(V(id)).select(calls::last_seq);
    Ok(call.get_result(conn).await?)
}

/// The price that was fixed when the conversation began.
pub(crate) async fn price(conn: &mut Conn, id: ConversationId) -> Result<Price> {
    let millicredits: i64 = calls::table
        .find(V(id))
        .select(calls::price_millicredits)
        .first(conn)
        .await?;
    Ok(Price::from_millicredits_per_minute(millicredits))
}

/// The credits that the conversation has reserved.
pub(crate) async fn reserved(conn: &mut Conn, id: ConversationId) -> Result<Credits> {
    let credits: Option<Credits> = reservations::table
        .find(V(id))
        .select(reservations::credits)
        .found(conn)
        .await?;
    Ok(credits.unwrap_or(0))
}

/// Records which tools run in an answer in progress ([`ChatSession::tools_at_work`]), and locks the session.
async fn set_tools(
    conn: &mut Conn,
    id: ConversationId,
    claim: ClaimId,
    tools: Option<String>,
) -> Result<Fenced> {
    let is_set = diesel::update(sessions::table.find(V(id)))
        .filter(sessions::claim_id.eq(V(claim)))
        .set(sessions::tools_at_work.eq(tools))
        .changes(conn)
        .await?;
    Ok(Fenced::of(is_set))
}

/// Writes the transcript of tools whose results were lost, in a locked session. The caller clears the list of tools.
pub(super) async fn write_lost_tools(
    conn: &mut Conn,
    session: &ChatSession,
    at: Timestamp,
) -> Result<()> {
    let tools = some_or!(&session.tools_at_work, ());
    let corrupt = || StoreError::Corrupt("tools at work in a chat".to_owned());
    let tools = Json::parse(tools.as_bytes()).map_err(|_| corrupt())?;
    for text in tools.as_array().ok_or_else(corrupt)? {
        let text = text.as_str().ok_or_else(corrupt)?.to_owned();
        let turn = NewTurn {
            interrupted: true,
            ..NewTurn::written("tool", text, at)
        };
        append(conn, session.conversation_id, turn).await?;
    }
    Ok(())
}
