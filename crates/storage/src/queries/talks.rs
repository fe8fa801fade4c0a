//! Spoken conversations of web pages: written and claimed like inbound calls, and counted by their widget. Lock order:
//! the widget's row before the account's, the reservation's and the wallet's.

use diesel::prelude::*;
use offhook_boxed::boxed;
use offhook_domain::{
    AgentId, AgentStatus, CallState, Channel, ConversationId, ConversationStatus, Credits, KeyId,
    Runtime, Timestamp,
};
use offhook_failpoints as failpoints;

use super::chat_openings::MINUTE_US;
use super::chats::held;
use super::wallets::{self, Draw, Reserve};
use super::{claims, locks, widgets};
use crate::database::{Conn, RunQueryDsl};
use crate::dialect::{dialect, queued_at};
use crate::mint;
use crate::schema::conversations as calls;
use crate::sql::V;
use crate::store::{Answer, lease, write};
use crate::{NewTalk, Result, Store, StoreError, TalkTaken, Verdict};

/// Begins a conversation. The caller rolls back unless the result is `Claimed`.
async fn take(conn: &mut Conn, talk: NewTalk, lease: Timestamp) -> Result<TalkTaken> {
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
    // The lock serializes the calls of one account, so that the count of live calls is right.
    locks::lock_account(conn, account).await?;
    if claims::live_calls(conn, account).await? >= i64::from(talk.live_calls) {
        return Ok(TalkTaken::LinesBusy);
    }
    let of_pages: i64 = calls::table
        .filter(calls::account_id.eq(V(account)))
        .filter(claims::is_claimed())
        .filter(calls::channel.eq(V(Channel::WidgetVoice)))
        .count()
        .get_result(conn)
        .await?;
    if of_pages >= i64::from(talk.of_pages) {
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
    // A page has no number, and no number is called.
    let queued_at = queued_at(conn.db(), talk.steady);
    diesel::insert_into(calls::table)
        .values((
            (
                calls::id.eq(V(id)),
                calls::account_id.eq(V(account)),
                calls::agent_id.eq(V(agent)),
                calls::agent_ref.eq(agent.to_string()),
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
                calls::started_at.eq(V(at)),
                calls::has_audio.eq(false),
                calls::messages_count.eq(0),
                calls::last_seq.eq(0),
                calls::hangup_requested.eq(false),
                queued_at.map(|at| calls::queued_at.eq(V(at))),
            ),
        ))
        .execute(conn)
        .await?;
    if reserve > 0 {
        wallets::insert_reservation(conn, id, &draw, reserve).await?;
    }
    let claimed = claims::claim_one(conn, (id, mint(at)), (at, lease), talk.node).await?;
    let claimed = claimed.ok_or_else(|| {
        StoreError::Corrupt("a conversation that was just written is gone".to_owned())
    })?;
    Ok(TalkTaken::Claimed(Box::new(claimed)))
}

/// Counts the cost of a conversation against the widget's day. Reserved credits that it did not spend are returned to
/// the day on which it began. Credits spent but not reserved (such as a goodbye that began when no further minute was
/// covered) count for the current day. Credits reserved after midnight count for the second day until that day is over:
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

#[boxed]
impl Store {
    /// Begins a spoken conversation of a page, in one transaction: the widget's limits of sessions and credits, the
    /// plan's limit of live calls, the agent, the reservation, and the conversation, already claimed. A process that
    /// dies after that leaves an orphan, which others report.
    ///
    /// After `StoreError::UnknownCommit` it may have been written and was not found; after other errors it was not.
    pub async fn take_talk(&self, talk: NewTalk) -> Result<TalkTaken> {
        let offset = self.offset();
        let unheard = (talk.id, talk.node);
        let taken = write!(self, |conn| {
            let lease = dialect!(conn, lease_clock(offset))?.plus(lease());
            let taken = take(conn, talk, lease).await?;
            let is_claimed = matches!(taken, TalkTaken::Claimed(_));
            Ok(Verdict::keep_if(is_claimed, taken))
        })
        .await;
        let taken = match taken {
            Err(StoreError::UnknownCommit(_)) => {
                let found = self.claimed_unheard(unheard.0, unheard.1).await;
                found.map(TalkTaken::Claimed).map_or(taken, Ok)
            }
            taken => taken,
        };
        if matches!(taken, Ok(TalkTaken::Claimed(_))) {
            failpoints::hit(failpoints::ANSWER_AFTER_COMMIT);
        }
        taken
    }

    /// Reserves more credits for a spoken conversation of an agent's widget. `false` if the wallet or the widget's
    /// daily cap does not cover them.
    pub fn top_up_talk(
        &self,
        id: ConversationId,
        agent: AgentId,
        credits: Credits,
        now: Timestamp,
    ) -> Answer<'_, bool> {
        write!(self, |conn| {
            let Some(mut counts) = widgets::lock(conn, agent).await? else {
                return Ok(Verdict::Rollback(false));
            };
            if counts.hold(now.utc_day(), credits).is_none() {
                return Ok(Verdict::Rollback(false));
            }
            widgets::count(conn, agent, counts).await?;
            let held = wallets::top_up(conn, id, credits, now).await? == Reserve::Held;
            Ok(Verdict::keep_if(held, held))
        })
    }
}
