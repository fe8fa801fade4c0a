//! Spoken conversations of web pages: written and claimed like calls that come in, and counted by their widget. Its row is
//! locked before the account's, the reservation's and the wallet's.

use crate::database::RunQueryDsl;
use crate::queries::locks;
use diesel::prelude::*;
use offhook_domain::{
    AgentId, AgentStatus, CallState, Channel, ConversationId, ConversationStatus, Credits, KeyId,
    Runtime, Timestamp,
};

use super::chat_openings::MINUTE_US;
use super::chats::held;
use super::wallets::{self, Draw, Reserve};
use super::{claims, widgets};
use crate::database::Conn;
use crate::dialect::queued_at;
use crate::schema::conversations as calls;
use crate::sql::V;
use crate::{NewTalk, Result, StoreError, TalkTaken};

/// Begins a conversation; the caller undoes it unless it is `Claimed`.
pub(crate) async fn take(conn: &mut Conn, talk: NewTalk, lease: Timestamp) -> Result<TalkTaken> {
    let (id, account, agent, at) = (talk.id, talk.account_id, talk.agent_id, talk.at);
    let Some(mut counts) = widgets::lock(conn, agent).await? else {
        return Ok(TalkTaken::Refused);
    };
    if !counts.is_enabled() || !widgets::names(conn, agent, &talk.origin).await? {
        return Ok(TalkTaken::Refused);
    }
    if !counts.take_session(at.micros().div_euclid(MINUTE_US)) {
        return Ok(TalkTaken::TooMany);
    }
    if counts.hold(at.utc_day(), talk.reserve).is_none() {
        return Ok(TalkTaken::CapReached);
    }
    widgets::count(conn, agent, counts).await?;
    // Two calls of one account are counted one after the other.
    locks::lock_account(conn, account).await?;
    if claims::live_calls(conn, account).await? >= i64::from(talk.live_calls) {
        return Ok(TalkTaken::LinesBusy);
    }
    if locks::hold_agent(conn, account, agent).await? != Some(AgentStatus::Active) {
        return Ok(TalkTaken::AgentUnavailable);
    }
    let draw = Draw {
        account,
        key: None,
        budget: None,
        month: at.utc_month(),
        at,
    };
    let reserve = talk.reserve;
    if reserve > 0 && wallets::hold(conn, &draw, reserve).await? != Reserve::Held {
        return Ok(TalkTaken::WalletTooLow);
    }
    let (node, steady) = (talk.node, talk.steady);
    insert(conn, talk, steady).await?;
    if reserve > 0 {
        wallets::insert_reservation(conn, id, &draw, reserve).await?;
    }
    let claimed = claims::claim_one(conn, id, (at, lease), node).await?;
    let claimed = claimed.ok_or_else(|| {
        StoreError::Corrupt("a conversation that was just written is gone".to_owned())
    })?;
    Ok(TalkTaken::Claimed(Box::new(claimed)))
}

/// A page has no number, and nobody is called.
async fn insert(conn: &mut Conn, talk: NewTalk, steady: Timestamp) -> Result<()> {
    let db = conn.db();
    diesel::insert_into(calls::table)
        .values((
            (
                calls::id.eq(V(talk.id)),
                calls::account_id.eq(V(talk.account_id)),
                calls::agent_id.eq(V(talk.agent_id)),
                calls::agent_ref.eq(talk.agent_id.to_string()),
                calls::agent_version.eq(talk.agent_version),
                calls::key_id.eq(None::<KeyId>),
                calls::runtime.eq(V(Runtime::Engine)),
                calls::channel.eq(V(Channel::WidgetVoice)),
                calls::voice.eq(true),
                calls::state.eq(V(CallState::Queued)),
                calls::status.eq(V(ConversationStatus::Unknown)),
            ),
            (
                calls::metadata.eq(V(talk.metadata)),
                calls::price_millicredits.eq(talk.price.millicredits_per_minute()),
                calls::started_at.eq(V(talk.at)),
                calls::has_audio.eq(false),
                calls::messages_count.eq(0),
                calls::last_seq.eq(0),
                calls::hangup_requested.eq(false),
                queued_at(db, steady).map(|at| calls::queued_at.eq(V(at))),
            ),
        ))
        .run(conn)
        .await
}

/// Holds more credits; the caller undoes it unless they are held.
pub(crate) async fn top_up(
    conn: &mut Conn,
    (id, agent): (ConversationId, AgentId),
    credits: Credits,
    at: Timestamp,
) -> Result<bool> {
    let Some(mut counts) = widgets::lock(conn, agent).await? else {
        return Ok(false);
    };
    if counts.hold(at.utc_day(), credits).is_none() {
        return Ok(false);
    }
    widgets::count(conn, agent, counts).await?;
    Ok(wallets::top_up(conn, id, credits, at).await? == Reserve::Held)
}

/// Counts what a conversation cost for the widget's day. What it held and did not cost is given back to the day on which it
/// began; what it cost and did not hold, such as a goodbye that began when no further minute was covered, counts for the
/// day that is counted now. What was held for one that went on beyond midnight counts for the day after until that is over:
/// too much, never too little.
pub(crate) async fn settle(
    conn: &mut Conn,
    (id, agent): (ConversationId, AgentId),
    (started_at, settled_at): (Timestamp, Timestamp),
    cost: Credits,
) -> Result<()> {
    let unspent = held(conn, id).await? - cost;
    if unspent > 0 {
        widgets::release(conn, agent, started_at.utc_day(), unspent).await?;
    } else if unspent < 0
        && let Some(mut counts) = widgets::lock(conn, agent).await?
    {
        counts.spend(settled_at.utc_day(), -unspent);
        widgets::count(conn, agent, counts).await?;
    }
    Ok(())
}
