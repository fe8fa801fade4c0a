//! Calls and conversations.

use async_recursion::async_recursion as boxed;
use std::time::Duration;

use offhook_domain::{
    AccountId, CallState, ClaimId, ConversationId, Credits, EndpointId, FailureReason, NodeId,
    Timestamp,
};
use offhook_failpoints as failpoints;

use super::{Answer, keep, lease, read, write};
use crate::dialect::dialect;
use crate::postgres::Step;
use crate::queries;
use crate::{
    Conversation, ConversationView, Fenced, Moment, NewCall, NewTurn, Placed, Result, Settlement,
    Store, StoredAnswer, Verdict,
};

impl Store {
    /// What a live Idempotency-Key replays.
    pub fn stored_answer(
        &self,
        account: AccountId,
        operation: &'static str,
        key: String,
        steady: Timestamp,
    ) -> Answer<'_, Option<StoredAnswer>> {
        let offset = self.offset();
        read!(self, |conn| {
            queries::idempotency::find(conn, account, operation, &key, (steady, offset)).await
        })
    }

    /// Accepts a call in one transaction: key, reservation, conversation, event, deliveries, answer.
    ///
    /// # Errors
    /// `StoreError::UnknownCommit` if the call may have been accepted, the others if it was not.
    pub fn place_call(&self, mut call: NewCall) -> Answer<'_, Placed> {
        let offset = self.offset();
        write!(self, |conn| {
            use queries::idempotency::Take;
            use queries::wallets::{Draw, Reserve};

            if let Some(claim) = &call.idempotency {
                match queries::idempotency::take(conn, call.account_id, claim, offset).await? {
                    Take::Owned => {}
                    Take::Used(answer) => return Ok(Verdict::Rollback(Placed::KeyUsed(answer))),
                    Take::InFlight => return Ok(Verdict::Rollback(Placed::KeyInFlight)),
                }
            }
            let draw = Draw {
                account: call.account_id,
                key: call.key_id,
                budget: call.key_budget,
                month: call.at.utc_month(),
                at: call.at,
            };
            if call.reserve > 0 {
                match queries::wallets::hold(conn, &draw, call.reserve).await? {
                    Reserve::Held => {}
                    Reserve::WalletTooLow => {
                        return Ok(Verdict::Rollback(Placed::WalletTooLow));
                    }
                    Reserve::BudgetTooLow => {
                        return Ok(Verdict::Rollback(Placed::BudgetTooLow));
                    }
                }
            }
            let endpoints = match call.event.take() {
                Some(event) => queries::events::emit_first(conn, &call, event).await?,
                None => {
                    queries::calls::insert(conn, &call).await?;
                    Vec::new()
                }
            };
            if call.reserve > 0 {
                queries::wallets::insert_reservation(conn, call.id, &draw, call.reserve).await?;
            }
            failpoints::hit(failpoints::PLACE_BEFORE_COMMIT);
            Ok(Verdict::Commit(Placed::Accepted(endpoints)))
        })
    }

    /// Claims an account's oldest queued calls that were accepted within `patience`: `queued → dialing`.
    /// `limits` are the plan's live calls and how many this process can take.
    pub fn claim_calls(
        &self,
        account: AccountId,
        limits: (u32, usize),
        patience: Duration,
        node: NodeId,
        (now, steady): (Timestamp, Timestamp),
    ) -> Answer<'_, Vec<Conversation>> {
        let offset = self.offset();
        write!(self, |conn| {
            let queue_now = dialect!(conn, key_clock(steady, offset))?;
            let lease_now = dialect!(conn, lease_clock(offset))?;
            let times = (now, queue_now.minus(patience), lease_now.plus(lease()));
            let claimed = queries::claims::claim(conn, account, limits, times, node).await?;
            Ok(if claimed.is_empty() {
                Verdict::Rollback(claimed)
            } else {
                Verdict::Commit(claimed)
            })
        })
    }

    /// Renews the leases of these claims; returns those that were still in force.
    pub fn renew_claims(&self, claims: &[(ConversationId, ClaimId)]) -> Answer<'_, Vec<ClaimId>> {
        let offset = self.offset();
        let claims = claims.to_vec();
        keep!(self, |conn| {
            let lease = dialect!(conn, lease_clock(offset))?.plus(lease());
            queries::claims::renew(conn, &claims, lease).await
        })
    }

    /// Takes over calls whose owner is gone: lease run out or, with `all`, every call of another process.
    pub fn take_orphans(
        &self,
        all: bool,
        most: i64,
        node: NodeId,
        now: Timestamp,
    ) -> Answer<'_, Vec<Conversation>> {
        let offset = self.offset();
        write!(self, |conn| {
            let lease_now = dialect!(conn, lease_clock(offset))?;
            let times = (now, lease_now, lease_now.plus(lease()));
            let taken = queries::claims::take_orphans(conn, all, most, times, node).await?;
            Ok(if taken.is_empty() {
                Verdict::Rollback(taken)
            } else {
                Verdict::Commit(taken)
            })
        })
    }

    /// Queued calls that were accepted longer than `patience` ago.
    pub fn overdue_calls(
        &self,
        patience: Duration,
        steady: Timestamp,
    ) -> Answer<'_, Vec<Conversation>> {
        let offset = self.offset();
        read!(self, |conn| {
            let now = dialect!(conn, key_clock(steady, offset))?;
            queries::claims::overdue(conn, now.minus(patience)).await
        })
    }

    /// How many of the account's calls are dialing, ringing, talking or closing.
    pub fn live_calls(&self, account: AccountId) -> Answer<'_, i64> {
        read!(self, |conn| queries::claims::live_calls(conn, account)
            .await)
    }

    /// `dialing → live`. `dialog` is what ends the call should this process die.
    #[boxed]
    pub async fn call_answered(
        &self,
        id: ConversationId,
        claim: ClaimId,
        at: Timestamp,
        dialog: Option<String>,
    ) -> Result<Fenced> {
        match &self.steps {
            Some(steps) => steps.take(id, claim, Step::Answered(at, dialog)).await,
            None => {
                keep!(self, |conn| queries::calls::answered(
                    conn,
                    id,
                    claim,
                    (at, dialog)
                )
                .await)
                .await
            }
        }
    }

    /// Stores a turn of a live call.
    #[boxed]
    pub async fn append_turn(
        &self,
        id: ConversationId,
        claim: ClaimId,
        mut turn: NewTurn,
    ) -> Result<Fenced> {
        // Which no text of PostgreSQL's has: what somebody else's service says must not keep a call from going on.
        turn.text.retain(|character| character != '\0');
        match &self.steps {
            Some(steps) => steps.take(id, claim, Step::Turn(turn)).await,
            None => keep!(self, |conn| dialect!(conn, append_turn(id, claim, turn))).await,
        }
    }

    /// `closing → completed | failed`, with ledger, event and deliveries in one transaction. Returns the endpoints
    /// with something to deliver, or `None` if the claim is gone.
    pub fn settle_call(
        &self,
        call: (AccountId, ConversationId, ClaimId),
        settlement: Settlement,
    ) -> Answer<'_, Option<Vec<EndpointId>>> {
        write!(self, |conn| {
            let settled = queries::calls::settle(conn, call, settlement).await?;
            failpoints::hit(failpoints::CLOSE_BEFORE_COMMIT);
            Ok(match settled {
                Some(endpoints) => Verdict::Commit(Some(endpoints)),
                None => Verdict::Rollback(None),
            })
        })
    }

    /// Ends a call that was never claimed: `queued → failed`. `None` if it is queued no more.
    pub fn end_queued_call(
        &self,
        call: (AccountId, ConversationId),
        reason: FailureReason,
        settlement: Settlement,
    ) -> Answer<'_, Option<Vec<EndpointId>>> {
        write!(self, |conn| {
            Ok(
                match queries::calls::end_queued(conn, call, reason, settlement).await? {
                    Some(endpoints) => Verdict::Commit(Some(endpoints)),
                    None => Verdict::Rollback(None),
                },
            )
        })
    }

    /// Holds more credits for a call; `false` if wallet or budget cannot cover them.
    pub fn top_up(&self, id: ConversationId, credits: Credits, now: Timestamp) -> Answer<'_, bool> {
        write!(self, |conn| {
            use queries::wallets::Reserve;
            Ok(
                match queries::wallets::top_up(conn, id, credits, now).await? {
                    Reserve::Held => Verdict::Commit(true),
                    Reserve::WalletTooLow | Reserve::BudgetTooLow => Verdict::Rollback(false),
                },
            )
        })
    }

    /// A conversation of the account, if it was accepted at or after `since`.
    pub fn conversation(
        &self,
        account: AccountId,
        id: ConversationId,
        since: Option<Timestamp>,
    ) -> Answer<'_, Option<ConversationView>> {
        read!(self, |conn| queries::conversations::find(
            conn, account, id, since
        )
        .await)
    }

    /// A conversation of the account with its first `limit` turns.
    pub fn transcript(
        &self,
        account: AccountId,
        id: ConversationId,
        since: Option<Timestamp>,
        limit: i64,
    ) -> Answer<'_, Option<(ConversationView, Vec<Moment>)>> {
        read!(self, |conn| {
            let view = queries::conversations::find(conn, account, id, since).await?;
            let Some(view) = view else { return Ok(None) };
            let turns = queries::conversations::moments(conn, id, 0, limit, true).await?;
            Ok(Some((view, turns)))
        })
    }

    /// What has happened in a conversation behind moment `after`, with its present state. Both are read in that
    /// order: state first, so that a terminal state means that the moments are complete.
    pub fn moments(
        &self,
        account: AccountId,
        id: ConversationId,
        after: i32,
        limit: i64,
    ) -> Answer<'_, Option<(CallState, Vec<Moment>)>> {
        read!(self, |conn| {
            let view = queries::conversations::find(conn, account, id, None).await?;
            let Some(view) = view else { return Ok(None) };
            let moments = queries::conversations::moments(conn, id, after, limit, false).await?;
            Ok(Some((view.conversation.state, moments)))
        })
    }

    /// Turns of a conversation behind moment `after`. The caller has looked it up for its account.
    pub fn turns(&self, id: ConversationId, after: i32, limit: i64) -> Answer<'_, Vec<Moment>> {
        read!(self, |conn| queries::conversations::moments(
            conn, id, after, limit, true
        )
        .await)
    }

    /// Deletes up to 1,000 Idempotency-Keys that expired more than an hour ago; returns how many.
    pub fn purge_keys(&self, steady: Timestamp) -> Answer<'_, usize> {
        let offset = self.offset();
        keep!(self, |conn| {
            let now = dialect!(conn, key_clock(steady, offset))?;
            let before = now.minus(Duration::from_secs(3600));
            queries::idempotency::purge(conn, before).await
        })
    }
}
