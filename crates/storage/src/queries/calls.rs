//! A call's state changes. Each is fenced: `UPDATE … WHERE id AND state AND claim_id`; if no row matches, nothing is
//! written.

use super::{
    analyses, batches,
    call_steps::{answered, append},
    closing::Closing,
    events,
    idempotency::{self, KeyOwner},
    moments,
    settling::Settling,
    talks, usage,
    wallets::{self, Draw, Reserve},
};
use crate::prelude::*;
use diesel::query_builder::{QueryFragment, QueryId};

/// The columns needed when a call ends.
#[derive(Queryable, Selectable)]
#[diesel(table_name = calls)]
pub(crate) struct Ended {
    pub(crate) last_seq: i32,
    agent_id: AgentId,
    runtime: Runtime,
    channel: Option<Channel>,
    voice: bool,
    pub(crate) started_at: Timestamp,
    pub(crate) duration_seconds: Option<i64>,
    failure_reason: Option<FailureReason>,
}

/// The row of a new conversation, placed here or inbound.
pub(crate) struct Row {
    pub(crate) id: ConversationId,
    pub(crate) account_id: AccountId,
    pub(crate) agent_id: AgentId,
    pub(crate) agent_ref: String,
    pub(crate) agent_version: i32,
    pub(crate) key_id: Option<KeyId>,
    pub(crate) runtime: Runtime,
    pub(crate) channel: Channel,
    pub(crate) from: Option<E164>,
    pub(crate) to: Option<E164>,
    pub(crate) customer: Option<E164>,
    pub(crate) metadata: String,
    pub(crate) price: Price,
    pub(crate) at: Timestamp,
    pub(crate) steady: Timestamp,
    pub(crate) dialog: Option<String>,
    pub(crate) simulated: bool,
    pub(crate) consent: Option<String>,
    pub(crate) campaign: Option<OfCampaign>,
}

impl Row {
    /// Whether it is a text conversation, which is live at once. Those of a legacy agent are followed like calls.
    pub(crate) fn is_text(&self) -> bool {
        let spoken = [Channel::Phone, Channel::WidgetVoice];
        self.runtime == Runtime::Engine && !spoken.contains(&self.channel)
    }
}

/// The statement that inserts the conversation of an accepted call.
pub(crate) fn row(db: Db, call: &NewCall) -> impl QueryFragment<Db> + QueryId + Send + use<> {
    queued(
        db,
        Row {
            id: call.id,
            account_id: call.account_id,
            agent_id: call.agent_id,
            agent_ref: call.agent_ref.clone(),
            agent_version: call.agent_version,
            key_id: call.key_id,
            runtime: call.runtime,
            channel: Channel::Phone,
            from: Some(call.from.clone()),
            to: Some(call.to.clone()),
            customer: Some(call.to.clone()),
            metadata: call.metadata.clone(),
            price: call.price,
            at: call.at,
            steady: call.steady,
            dialog: None,
            simulated: call.simulated,
            consent: call.consent.clone(),
            campaign: call.campaign.clone(),
        },
    )
}

/// The statement that inserts an unclaimed conversation.
pub(crate) fn queued(db: Db, row: Row) -> impl QueryFragment<Db> + QueryId + Send + use<> {
    let is_text = row.is_text();
    let state = match is_text {
        true => CallState::Live,
        false => CallState::Queued,
    };
    diesel::insert_into(calls::table).values((
        // Every claimed conversation counts as a call until it has ended.
        row! {
            calls: id = row.id, account_id = row.account_id, agent_id = row.agent_id,
            agent_ref = row.agent_ref, agent_version = row.agent_version, key_id = row.key_id,
            runtime = row.runtime, channel = row.channel, voice = !is_text, state,
            status = ConversationStatus::Unknown
        },
        row! {
            calls: from_number = row.from, to_number = row.to, customer_phone = row.customer,
            metadata = row.metadata, price_millicredits = row.price.millicredits_per_minute(),
            started_at = row.at, answered_at = is_text.then_some(row.at), has_audio = false, messages_count = 0, last_seq = i32::from(is_text),
            hangup_requested = false, dialog = row.dialog, simulated = row.simulated, consent = row.consent,
            campaign_id = row.campaign.as_ref().map(|campaign| campaign.id),
            dial_window = row.campaign.and_then(|campaign| campaign.window)
        },
        queued_at(db, row.steady).map(|at| calls::queued_at.eq(V(at))),
    ))
}

/// Accepts a call, or says why not.
pub(crate) async fn place(
    conn: &mut Conn,
    mut call: NewCall,
    offset: i64,
) -> Result<Verdict<Placed>> {
    if let Some(claim) = &call.idempotency {
        match idempotency::take(conn, call.account_id, claim, offset).await? {
            KeyOwner::Ours => {}
            KeyOwner::Used(answer) => return Ok(Rollback(Placed::KeyUsed(answer))),
            KeyOwner::InFlight => return Ok(Rollback(Placed::KeyInFlight)),
        }
    }
    let draw = Draw::of_call(&call);
    match wallets::hold(conn, &draw, call.reserve).await? {
        Reserve::Held => {}
        Reserve::WalletTooLow => return Ok(Rollback(Placed::WalletTooLow)),
        Reserve::BudgetTooLow => return Ok(Rollback(Placed::BudgetTooLow)),
    }
    let (account, id, at) = (call.account_id, call.id, call.at);
    row(conn.db(), &call).run(conn).await?;
    let endpoints = match call.event.take() {
        Some(event) => events::emit(conn, account, Some(id), event, at).await?,
        None => Vec::new(),
    };
    wallets::insert_reservation(conn, call.id, &draw, call.reserve).await?;
    failpoints::hit(failpoints::PLACE_BEFORE_COMMIT);
    Ok(Commit(Placed::Accepted(endpoints)))
}

#[boxed]
impl Store {
    /// Accepts a call in one transaction: key, reservation, conversation, event, deliveries, response. After
    /// `StoreError::UnknownCommit` the call may have been accepted; after other errors it was not.
    pub fn place_call(&self, call: NewCall) -> Answer<'_, Placed> {
        let offset = self.offset();
        match &self.queues {
            Some(queues) => Box::pin(queues.calls.make(call, offset)),
            None => transact!(self, |conn| place(conn, call, offset).await),
        }
    }

    /// Stores, for a call that is being dialed, what ends it if this process dies.
    pub fn call_dialed(
        &self,
        id: ConversationId,
        claim: ClaimId,
        dialog: String,
    ) -> Answer<'_, Fenced> {
        keep!(self, |conn| {
            let is_kept = diesel::update(calls::table.find(V(id)))
                .filter(calls::state.eq(V(CallState::Dialing)))
                .filter(calls::claim_id.eq(V(claim)))
                .set(calls::dialog.eq(dialog))
                .changes(conn)
                .await?;
            Ok(Fenced::of(is_kept))
        })
    }

    /// `dialing → live`. `dialog` is what ends the call if this process dies.
    pub async fn call_answered(
        &self,
        id: ConversationId,
        claim: ClaimId,
        at: Timestamp,
        dialog: Option<String>,
    ) -> Result<Fenced> {
        if let Some(queues) = &self.queues {
            return queues
                .steps
                .take(id, claim, Step::Answered(at, dialog))
                .await;
        }
        keep!(self, |conn| answered(conn, id, claim, (at, dialog)).await).await
    }

    pub async fn append_turn(
        &self,
        id: ConversationId,
        claim: ClaimId,
        mut turn: NewTurn,
    ) -> Result<Fenced> {
        // PostgreSQL's text cannot hold U+0000, and another service's output must not stop a call.
        turn.text.retain(|character| character != '\0');
        if let Some(queues) = &self.queues {
            return queues.steps.take(id, claim, Step::Turn(turn)).await;
        }
        keep!(self, |conn| append(conn, id, claim, turn).await).await
    }

    /// `dialing | live → closing`: from here on it is fixed how the call ended.
    pub fn close_call(
        &self,
        id: ConversationId,
        claim: ClaimId,
        end: CallEnd,
    ) -> Answer<'_, Fenced> {
        let closing = Closing { id, claim, end };
        match &self.queues {
            Some(queues) => Box::pin(queues.closings.make(closing, 0)),
            None => transact!(self, |conn| close(conn, closing).await),
        }
    }

    /// Asks the owner of a dialing or live call to hang up; `false` if the call is neither.
    pub fn request_hangup(&self, account: AccountId, id: ConversationId) -> Answer<'_, bool> {
        diesel::update(calls::table.find(V(id)))
            .filter(calls::account_id.eq(V(account)))
            .filter(calls::state.eq_any([CallState::Dialing, CallState::Live].map(V)))
            .set(calls::hangup_requested.eq(true))
            .commit_change(self)
    }

    /// `closing → completed | failed`, with summary, credits, ledger, event and deliveries in one transaction. Returns
    /// the endpoints that have deliveries, or `None` if the claim is lost.
    pub fn settle_call(
        &self,
        (account, id, claim): (AccountId, ConversationId, ClaimId),
        settlement: Settlement,
    ) -> Answer<'_, Option<Vec<EndpointId>>> {
        let settling = Settling {
            account,
            id,
            claim,
            settlement,
        };
        match &self.queues {
            Some(queues) => Box::pin(queues.settlements.make(settling, 0)),
            None => transact!(self, |conn| settle(conn, settling).await),
        }
    }

    /// Ends a call that was never claimed: `queued → failed`. `None` if it is no longer queued.
    pub fn end_queued_call(
        &self,
        (account, id): (AccountId, ConversationId),
        (reason, blocked_by): (FailureReason, Option<DialRule>),
        settlement: Settlement,
    ) -> Answer<'_, Option<Vec<EndpointId>>> {
        transact!(self, |conn| {
            let ended: Option<Ended> = diesel::update(calls::table.find(V(id)))
                .filter(calls::account_id.eq(V(account)))
                .filter(calls::state.eq(V(CallState::Queued)))
                .set(row! {
                    calls: state = settlement.state, status = settlement.state.list_status(),
                    failure_reason = reason, blocked_by,
                    outcome = Outcome::of(CallOutcome::Failed(reason), false), ended_at = settlement.at, duration_seconds = 0,
                    summary = &*moments::kept(&settlement.summary), credits = 0, last_seq += 1
                })
                .returning(Ended::as_returning())
                .returned(conn)
                .await?;
            finish(conn, account, id, ended, settlement).await
        })
    }
}

/// `dialing | live → closing` of a call by itself.
pub(crate) async fn close(conn: &mut Conn, closing: Closing) -> Result<Verdict<Fenced>> {
    let Closing { id, claim, end } = closing;
    let (termination, failure) = end.reasons();
    let latency = end.latency;
    let outcome = Outcome::of(end.outcome, moments::has_customer(conn, id).await?);
    type Closed = (i32, AccountId, AgentId, Runtime, Option<Timestamp>);
    let closed: Option<Closed> = diesel::update(calls::table.find(V(id)))
        .filter(calls::state.eq_any([CallState::Dialing, CallState::Live].map(V)))
        .filter(calls::claim_id.eq(V(claim)))
        .set((
            row! {
                calls: state = CallState::Closing, termination_reason = termination,
                failure_reason = failure, outcome, rang_at = end.signaled.rang_at,
                carrier_status = end.signaled.carrier_status, ended_at = end.ended_at,
                duration_seconds = end.duration_seconds,
                latency_turns = latency.map(|l| l.0),
                latency_p50_ms = latency.map(|l| l.1),
                latency_p95_ms = latency.map(|l| l.2), last_seq += 1
            },
            // The call is over, so nothing needs to end it. A legacy call keeps its provider's id, by which it
            // is recognized again.
            calls::dialog.eq(diesel::dsl::case_when(
                calls::runtime.eq(V(Runtime::Legacy)),
                calls::dialog,
            )
            .otherwise(None::<String>)),
        ))
        .returning((
            calls::last_seq,
            calls::account_id,
            calls::agent_id,
            calls::runtime,
            calls::answered_at,
        ))
        .returned(conn)
        .await?;
    let (seq, account, agent, runtime, answered_at) = some_or!(closed, Rollback(Fenced::Lost));
    moments::entered(conn, id, seq, CallState::Closing, end.ended_at).await?;
    if runtime == Runtime::Engine && answered_at.is_some() {
        analyses::order(conn, (account, agent), id).await?;
    }
    Ok(Commit(Fenced::Done))
}

/// Settles a call by itself.
pub(crate) async fn settle(
    conn: &mut Conn,
    settling: Settling,
) -> Result<Verdict<Option<Vec<EndpointId>>>> {
    let Settling {
        account,
        id,
        claim,
        settlement,
    } = settling;
    let ended: Option<Ended> = diesel::update(calls::table.find(V(id)))
        .filter(calls::state.eq(V(CallState::Closing)))
        .filter(calls::claim_id.eq(V(claim)))
        .filter(calls::account_id.eq(V(account)))
        .set((
            row! {
                calls of settlement: state, status = settlement.state.list_status(),
                summary = &*moments::kept(&settlement.summary), credits, claim_id = NULL,
                lease_expires_at = NULL, last_seq += 1
            },
            calls::voice.eq(diesel::dsl::case_when(
                calls::channel.eq(Some(Channel::WidgetChat)),
                false.into_sql::<Bool>(),
            )
            .otherwise(calls::voice)),
        ))
        .returning(Ended::as_returning())
        .returned(conn)
        .await?;
    let verdict = finish(conn, account, id, ended, settlement).await?;
    failpoints::hit(failpoints::CLOSE_BEFORE_COMMIT);
    Ok(verdict)
}

/// Records everything that follows from a call's end. Returns the endpoints that have deliveries.
async fn finish(
    conn: &mut Conn,
    account: AccountId,
    id: ConversationId,
    ended: Option<Ended>,
    settlement: Settlement,
) -> Result<Verdict<Option<Vec<EndpointId>>>> {
    let ended = some_or!(ended, Rollback(None));
    let Settlement { state, at, .. } = settlement;
    moments::entered(conn, id, ended.last_seq, state, at).await?;
    if ended.channel == Some(Channel::WidgetVoice) {
        let (whose, times) = ((id, ended.agent_id), (ended.started_at, at));
        talks::settle(conn, whose, times, settlement.credits).await?;
    }
    if ended.runtime == Runtime::Legacy {
        batches::call_ended(conn, id, (state, ended.failure_reason), at).await?;
    }
    let entry = (mint(at), settlement.description.as_str(), at);
    wallets::settle(conn, account, id, settlement.credits, entry).await?;
    // A text conversation is not a call.
    let endpoints = match ended.voice {
        true => events::emit(conn, account, Some(id), settlement.event, at).await?,
        false => Vec::new(),
    };
    // Last, because every ending call of the account writes to the row of the day.
    let day = UsageDay {
        day: ended.started_at.utc_day(),
        calls: i64::from(ended.voice),
        conversations: 1,
        duration_seconds: ended.duration_seconds.unwrap_or(0),
        credits: settlement.credits,
    };
    usage::add(conn, vec![(account, day)]).await?;
    Ok(Commit(Some(endpoints)))
}
