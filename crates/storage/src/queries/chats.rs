//! Text conversations in progress: their messages and answers. The worker that answers has a claim, which fences its
//! every step. Lock order: the session's row before all other rows of the conversation.

use offhook_boxed::boxed;

use crate::database::RunQueryDsl;
use crate::dialect::dialect;
use crate::store::{Answer, keep, lease, mint, read, write};
use diesel::prelude::*;
use offhook_domain::{
    AccountId, AgentId, CallState, ClaimId, ConversationId, Credits, Json, NodeId, Price, Timestamp,
};
use offhook_failpoints as failpoints;

use super::wallets::{self, Reserve};
use super::widgets;
use crate::database::Conn;
use crate::schema::{
    chat_messages as messages, chat_sessions as sessions, conversations as calls, reservations,
};
use crate::sql::V;
use crate::{
    ChatAnswered, ChatHistory, ChatSession, ChatTaken, Fenced, NewChatMessage, NewTurn, Result,
    Store, StoreError, Verdict, WidgetSettings,
};

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
        .set((
            calls::last_seq.eq(calls::last_seq + 1),
            calls::messages_count.eq(calls::messages_count + counts),
        ))
        .returning(calls::last_seq)
        .returned(conn)
        .await?;
    let Some(seq) = seq else { return Ok(None) };
    super::moments::said(conn, id, seq, turn).await?;
    Ok(Some(seq))
}

#[boxed]
impl Store {
    /// Stores a customer's message: its text, the credits for its answer and the claim to answer it, in one
    /// transaction. The session's token has authorized the caller. After `StoreError::UnknownCommit` it may have been
    /// stored; after other errors it was not.
    pub async fn take_chat_message(&self, message: NewChatMessage) -> Result<ChatTaken> {
        let claim = mint(message.at);
        match self.take_chat_message_as(claim, message.clone()).await {
            // If the message was stored, the claim exists.
            Err(StoreError::UnknownCommit(why)) => {
                let again = self.take_chat_message_as(claim, message).await;
                again.map_err(|_| StoreError::UnknownCommit(why))
            }
            taken => taken,
        }
    }
}

impl Store {
    /// The charged answers of a text conversation so far; `None` if the conversation is not the account's.
    pub fn chat_answers(&self, account: AccountId, id: ConversationId) -> Answer<'_, Option<i32>> {
        read!(self, |conn| {
            Ok(sessions::table
                .find(V(id))
                .filter(sessions::account_id.eq(V(account)))
                .select(sessions::answers)
                .found(conn)
                .await?)
        })
    }

    /// Whether a message with this id was answered in a text conversation, which the caller has looked up for its
    /// account.
    pub fn is_answered_in_chat(&self, id: ConversationId, message_id: String) -> Answer<'_, bool> {
        read!(self, |conn| {
            let known = said_before(conn, id, &message_id).await?;
            Ok(known.is_some_and(|(_, _, answered)| answered.is_some()))
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

    fn take_chat_message_as(
        &self,
        claim: ClaimId,
        message: NewChatMessage,
    ) -> Answer<'_, ChatTaken> {
        let offset = self.offset();
        // On the embedded database, only this process can hold a valid claim.
        let alone = self.is_embedded().then_some(message.node);
        write!(self, |conn| {
            let lease_now = dialect!(conn, lease_clock(offset))?;
            let id = message.conversation;
            let Some(session) = lock(conn, id).await? else {
                return Ok(Verdict::Rollback(ChatTaken::Ended));
            };
            let known = match &message.message_id {
                Some(key) => said_before(conn, id, key).await?,
                None => None,
            };
            if let Some((digest, seq, answered)) = &known {
                if *digest != message.digest {
                    return Ok(Verdict::Rollback(ChatTaken::OtherText));
                }
                if let Some(last) = *answered {
                    return Ok(Verdict::Rollback(ChatTaken::Answered {
                        seq: *seq,
                        last,
                        answers: session.answers,
                    }));
                }
            }
            if session.claim_id == Some(claim) {
                let seq: i32 = match known {
                    Some((_, seq, _)) => seq,
                    // The message is the last moment written: only the claim's owner writes.
                    None => {
                        let call = calls::table.find(V(id)).select(calls::last_seq);
                        call.get_result(conn).await?
                    }
                };
                return Ok(Verdict::Rollback(ChatTaken::Taken {
                    claim,
                    seq,
                    answers: session.answers,
                }));
            }
            if !session.is_open {
                return Ok(Verdict::Rollback(ChatTaken::Ended));
            }
            if is_claimed(&session, lease_now, alone) {
                return Ok(Verdict::Rollback(ChatTaken::Busy));
            }
            let held_day = match hold_for_an_answer(conn, &session, message.at).await? {
                Ok(day) => day,
                Err(refused) => return Ok(Verdict::Rollback(refused)),
            };
            leave_tools(conn, &session, message.at).await?;
            let seq = match known {
                // Its text exists; the worker that was to answer has died.
                Some((_, seq, _)) => Some(seq),
                None => write_words(conn, &message).await?,
            };
            let Some(seq) = seq else {
                return Ok(Verdict::Rollback(ChatTaken::Ended));
            };
            diesel::update(sessions::table.find(V(id)))
                .set((
                    sessions::claim_id.eq(V(claim)),
                    sessions::node_id.eq(V(message.node)),
                    sessions::lease_expires_at.eq(V(lease_now.plus(lease()))),
                    sessions::active_at.eq(V(message.at)),
                    sessions::held_day.eq(held_day),
                    sessions::tools_at_work.eq(None::<String>),
                ))
                .execute(conn)
                .await?;
            Ok(Verdict::Commit(ChatTaken::Taken {
                claim,
                seq,
                answers: session.answers,
            }))
        })
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
        write!(self, |conn| {
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
    pub fn set_chat_tools_to_work(
        &self,
        id: ConversationId,
        claim: ClaimId,
        told: Vec<String>,
    ) -> Answer<'_, Fenced> {
        let told = Json::Array(told.into_iter().map(Json::String).collect()).to_compact();
        keep!(self, |conn| set_tools(conn, id, claim, Some(told)).await)
    }

    /// Ends an answer: its last turns, its charge and the release of the claim in one transaction. Returns the last
    /// moment of the conversation, or `None` if another worker has the claim.
    pub fn finish_chat_answer(
        &self,
        id: ConversationId,
        claim: ClaimId,
        answered: ChatAnswered,
    ) -> Answer<'_, Option<i32>> {
        write!(self, |conn| {
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
            sessions::active_at.eq(V(answered.at)),
            sessions::claim_id.eq(None::<ClaimId>),
            sessions::node_id.eq(None::<NodeId>),
            sessions::lease_expires_at.eq(None::<Timestamp>),
            sessions::tools_at_work.eq(None::<String>),
        ))
        .changes(conn)
        .await?;
    if !is_freed {
        // A retry may have lost only the response of a first attempt that was written.
        return is_over(conn, id, &answered).await;
    }
    for turn in answered.turns {
        if append(conn, id, turn).await?.is_none() {
            return Ok(None);
        }
    }
    let last: i32 = calls::table
        .find(V(id))
        .select(calls::last_seq)
        .first(conn)
        .await?;
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
    let Some(last) = answered.last else {
        return Ok(None);
    };
    let is_over = match answered.turns.last() {
        Some(turn) => super::moments::has(conn, id, last, turn.started_at).await?,
        // Nothing else has happened, and the session has no claim.
        None => {
            let seq: i32 = calls::table
                .find(V(id))
                .select(calls::last_seq)
                .first(conn)
                .await?;
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

/// The message with this client id: digest, moment, and last moment of the answer.
async fn said_before(
    conn: &mut Conn,
    id: ConversationId,
    key: &str,
) -> Result<Option<(Vec<u8>, i32, Option<i32>)>> {
    Ok(messages::table
        .find((V(id), key))
        .select((messages::digest, messages::seq, messages::answered_seq))
        .found(conn)
        .await?)
}

/// Whether a living worker has the session's claim.
fn is_claimed(session: &ChatSession, lease_now: Timestamp, alone: Option<NodeId>) -> bool {
    session.claim_id.is_some()
        && alone.is_none_or(|node| session.node_id == Some(node))
        && session.lease_expires_at.is_some_and(|at| at >= lease_now)
}

/// Makes the session hold one answer more than it is charged for. Returns the day whose cap that counts against.
/// Without a web page's visitor, the wallet is the only limit.
async fn hold_for_an_answer(
    conn: &mut Conn,
    session: &ChatSession,
    at: Timestamp,
) -> Result<Result<i32, ChatTaken>> {
    let (id, agent) = (session.conversation_id, session.agent_id);
    let mut counts = None;
    if session.is_of_widget() {
        let found = widgets::lock(conn, agent).await?;
        counts = found.filter(widgets::Counts::is_enabled);
        if counts.is_none() || !widgets::names(conn, agent, &session.origin).await? {
            return Ok(Err(ChatTaken::Refused));
        }
    }
    let price = price(conn, id).await?;
    let more = price.of_answers(i64::from(session.answers) + 1) - held(conn, id).await?;
    let mut day = session.held_day;
    if more <= 0 {
        return Ok(Ok(day));
    }
    if let Some(mut counts) = counts {
        let Some(counted) = counts.hold(at.utc_day(), more) else {
            return Ok(Err(ChatTaken::CapReached));
        };
        day = counted;
        widgets::count(conn, agent, counts).await?;
    }
    Ok(match wallets::top_up(conn, id, more, at).await? {
        Reserve::Held => Ok(day),
        Reserve::WalletTooLow | Reserve::BudgetTooLow => Err(ChatTaken::WalletTooLow),
    })
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
pub(crate) async fn held(conn: &mut Conn, id: ConversationId) -> Result<Credits> {
    let held: Option<Credits> = reservations::table
        .find(V(id))
        .select(reservations::credits)
        .found(conn)
        .await?;
    Ok(held.unwrap_or(0))
}

/// Writes the customer's message. Returns its moment, or `None` if the conversation is no longer live.
async fn write_words(conn: &mut Conn, message: &NewChatMessage) -> Result<Option<i32>> {
    let words = NewTurn::written("user", message.text.clone(), message.at);
    let Some(seq) = append(conn, message.conversation, words).await? else {
        return Ok(None);
    };
    if let Some(key) = &message.message_id {
        diesel::insert_into(messages::table)
            .values((
                messages::conversation_id.eq(V(message.conversation)),
                messages::message_id.eq(key),
                messages::digest.eq(&message.digest),
                messages::seq.eq(seq),
            ))
            .execute(conn)
            .await?;
    }
    Ok(Some(seq))
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
pub(super) async fn leave_tools(
    conn: &mut Conn,
    session: &ChatSession,
    at: Timestamp,
) -> Result<()> {
    let Some(tools) = &session.tools_at_work else {
        return Ok(());
    };
    let corrupt = || StoreError::Corrupt("tools at work in a chat".to_owned());
    let tools = Json::parse(tools.as_bytes()).map_err(|_| corrupt())?;
    for told in tools.as_array().ok_or_else(corrupt)? {
        let told = told.as_str().ok_or_else(corrupt)?.to_owned();
        let turn = NewTurn {
            interrupted: true,
            ..NewTurn::written("tool", told, at)
        };
        append(conn, session.conversation_id, turn).await?;
    }
    Ok(())
}
