//! Calls and conversations.

use async_recursion::async_recursion as boxed;
use std::time::Duration;

use offhook_domain::{
    AccountId, CallState, ClaimId, ConversationId, Credits, EndpointId, FailureReason, NodeId,
    Timestamp,
};
use offhook_failpoints as failpoints;

use super::{lease, read, write};
use crate::dialect::dialect;
use crate::postgres::Step;
use crate::queries;
use crate::{
    Account, CallEnd, Conversation, ConversationFilter, ConversationView, Fenced, Moment, NewCall,
    NewTurn, PageKey, Placed, Result, Settlement, Store, StoredAnswer, Verdict,
};

impl Store {
    /// What a live Idempotency-Key replays.
    #[boxed]
    pub async fn stored_answer(
        &self,
        account: AccountId,
        operation: &'static str,
        key: String,
        steady: Timestamp,
    ) -> Result<Option<StoredAnswer>> {
        let offset = self.offset();
        read!(self, |conn| {
            queries::idempotency::find(conn, account, operation, &key, (steady, offset)).await
        })
    }

    /// Accepts a call in one transaction: key, reservation, conversation, event, deliveries, answer (decision 8.1).
    ///
    /// # Errors
    /// `StoreError::UnknownCommit` if the call may have been accepted, the others if it was not.
    #[boxed]
    pub async fn place_call(&self, mut call: NewCall) -> Result<Placed> {
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

    /// Accounts that have calls waiting.
    #[boxed]
    pub async fn waiting_accounts(&self) -> Result<Vec<Account>> {
        read!(self, |conn| queries::claims::waiting_accounts(conn).await)
    }

    /// Claims an account's oldest queued calls that were accepted within `patience`: `queued → dialing`.
    /// `limits` are the plan's live calls and how many this process can take.
    #[boxed]
    pub async fn claim_calls(
        &self,
        account: AccountId,
        limits: (u32, usize),
        patience: Duration,
        node: NodeId,
        (now, steady): (Timestamp, Timestamp),
    ) -> Result<Vec<Conversation>> {
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
    #[boxed]
    pub async fn renew_claims(&self, claims: &[(ConversationId, ClaimId)]) -> Result<Vec<ClaimId>> {
        let offset = self.offset();
        let claims = claims.to_vec();
        write!(self, |conn| {
            let lease = dialect!(conn, lease_clock(offset))?.plus(lease());
            Ok(Verdict::Commit(
                queries::claims::renew(conn, &claims, lease).await?,
            ))
        })
    }

    /// Takes over calls whose owner is gone: lease run out or, with `all`, every call of another process.
    #[boxed]
    pub async fn take_orphans(
        &self,
        all: bool,
        most: i64,
        node: NodeId,
        now: Timestamp,
    ) -> Result<Vec<Conversation>> {
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
    #[boxed]
    pub async fn overdue_calls(
        &self,
        patience: Duration,
        steady: Timestamp,
    ) -> Result<Vec<Conversation>> {
        let offset = self.offset();
        read!(self, |conn| {
            let now = dialect!(conn, key_clock(steady, offset))?;
            queries::claims::overdue(conn, now.minus(patience)).await
        })
    }

    /// How many calls wait to be dialed.
    #[boxed]
    pub async fn queue_length(&self) -> Result<i64> {
        read!(self, |conn| queries::claims::queue_length(conn).await)
    }

    /// How many of the account's calls are dialing, ringing, talking or closing.
    #[boxed]
    pub async fn live_calls(&self, account: AccountId) -> Result<i64> {
        read!(self, |conn| queries::claims::live_calls(conn, account)
            .await)
    }

    /// Keeps of a call that is being dialed what ends it should this process die.
    #[boxed]
    pub async fn call_dialed(
        &self,
        id: ConversationId,
        claim: ClaimId,
        dialog: String,
    ) -> Result<Fenced> {
        write!(self, |conn| {
            Ok(Verdict::Commit(
                queries::calls::dialed(conn, id, claim, dialog).await?,
            ))
        })
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
            None => write!(self, |conn| {
                Ok(Verdict::Commit(
                    queries::calls::answered(conn, id, claim, (at, dialog)).await?,
                ))
            }),
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
            None => write!(self, |conn| {
                Ok(Verdict::Commit(dialect!(
                    conn,
                    append_turn(id, claim, turn)
                )?))
            }),
        }
    }

    /// `dialing | live → closing`: how the call ended is fixed from here on.
    #[boxed]
    pub async fn close_call(
        &self,
        id: ConversationId,
        claim: ClaimId,
        end: CallEnd,
    ) -> Result<Fenced> {
        write!(self, |conn| {
            Ok(Verdict::Commit(
                queries::calls::close(conn, id, claim, end).await?,
            ))
        })
    }

    /// `closing → completed | failed`, with ledger, event and deliveries in one transaction. Returns the endpoints
    /// with something to deliver, or `None` if the claim is gone.
    #[boxed]
    pub async fn settle_call(
        &self,
        call: (AccountId, ConversationId, ClaimId),
        settlement: Settlement,
    ) -> Result<Option<Vec<EndpointId>>> {
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
    #[boxed]
    pub async fn end_queued_call(
        &self,
        call: (AccountId, ConversationId),
        reason: FailureReason,
        settlement: Settlement,
    ) -> Result<Option<Vec<EndpointId>>> {
        write!(self, |conn| {
            Ok(
                match queries::calls::end_queued(conn, call, reason, settlement).await? {
                    Some(endpoints) => Verdict::Commit(Some(endpoints)),
                    None => Verdict::Rollback(None),
                },
            )
        })
    }

    /// Asks the owner of a dialing or live call to hang up; `false` if the call is neither.
    #[boxed]
    pub async fn request_hangup(&self, account: AccountId, id: ConversationId) -> Result<bool> {
        write!(self, |conn| {
            Ok(Verdict::Commit(
                queries::calls::request_hangup(conn, account, id).await?,
            ))
        })
    }

    /// This node's calls whose owner has been asked to hang up.
    #[boxed]
    pub async fn hangups(&self, node: NodeId) -> Result<Vec<ConversationId>> {
        read!(self, |conn| queries::claims::hangups(conn, node).await)
    }

    /// Holds more credits for a call; `false` if wallet or budget cannot cover them.
    #[boxed]
    pub async fn top_up(
        &self,
        id: ConversationId,
        credits: Credits,
        now: Timestamp,
    ) -> Result<bool> {
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

    /// A page of conversations, newest first, with one more than `limit` if there is a next page.
    #[boxed]
    pub async fn conversations(
        &self,
        account: AccountId,
        filter: ConversationFilter,
        after: Option<PageKey<ConversationId>>,
        limit: i64,
    ) -> Result<Vec<ConversationView>> {
        read!(self, |conn| {
            queries::conversations::page(conn, account, &filter, after, limit).await
        })
    }

    /// A conversation of the account, if it was accepted at or after `since`.
    #[boxed]
    pub async fn conversation(
        &self,
        account: AccountId,
        id: ConversationId,
        since: Option<Timestamp>,
    ) -> Result<Option<ConversationView>> {
        read!(self, |conn| queries::conversations::find(
            conn, account, id, since
        )
        .await)
    }

    /// A conversation of the account with its first `limit` turns.
    #[boxed]
    pub async fn transcript(
        &self,
        account: AccountId,
        id: ConversationId,
        since: Option<Timestamp>,
        limit: i64,
    ) -> Result<Option<(ConversationView, Vec<Moment>)>> {
        read!(self, |conn| {
            let view = queries::conversations::find(conn, account, id, since).await?;
            let Some(view) = view else { return Ok(None) };
            let turns = queries::conversations::moments(conn, id, 0, limit, true).await?;
            Ok(Some((view, turns)))
        })
    }

    /// What has happened in a conversation behind moment `after`, with its present state. Both are read in that
    /// order: state first, so that a terminal state means that the moments are complete.
    #[boxed]
    pub async fn moments(
        &self,
        account: AccountId,
        id: ConversationId,
        after: i32,
        limit: i64,
    ) -> Result<Option<(CallState, Vec<Moment>)>> {
        read!(self, |conn| {
            let view = queries::conversations::find(conn, account, id, None).await?;
            let Some(view) = view else { return Ok(None) };
            let moments = queries::conversations::moments(conn, id, after, limit, false).await?;
            Ok(Some((view.conversation.state, moments)))
        })
    }

    /// Turns of a conversation behind moment `after`. The caller has looked it up for its account.
    #[boxed]
    pub async fn turns(&self, id: ConversationId, after: i32, limit: i64) -> Result<Vec<Moment>> {
        read!(self, |conn| queries::conversations::moments(
            conn, id, after, limit, true
        )
        .await)
    }

    /// The last turns of a conversation before moment `before`, in order. The caller has looked it up for its account.
    #[boxed]
    pub async fn turns_before(
        &self,
        id: ConversationId,
        before: i32,
        limit: i64,
    ) -> Result<Vec<Moment>> {
        read!(self, |conn| queries::conversations::turns_before(
            conn, id, before, limit
        )
        .await)
    }

    /// Deletes up to 1,000 Idempotency-Keys that expired more than an hour ago; returns how many.
    #[boxed]
    pub async fn purge_keys(&self, steady: Timestamp) -> Result<usize> {
        let offset = self.offset();
        write!(self, |conn| {
            let now = dialect!(conn, key_clock(steady, offset))?;
            let before = now.minus(Duration::from_secs(3600));
            Ok(Verdict::Commit(
                queries::idempotency::purge(conn, before).await?,
            ))
        })
    }
}
