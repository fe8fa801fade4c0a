//! A call's steps. Each is fenced: `UPDATE … WHERE id AND state AND claim_id`, and zero rows write nothing.

use crate::database::RunQueryDsl;
use crate::store::{Answer, keep};
use diesel::prelude::*;
use diesel::query_builder::{QueryFragment, QueryId};
use offhook_domain::{
    AccountId, AgentId, CallOutcome, CallState, Channel, ClaimId, ConversationId,
    ConversationStatus, E164, FailureReason, KeyId, Price, Runtime, Timestamp,
};

use super::{analyses, batch_looks, events, moments, talks, usage, usage_hours, wallets};
use crate::database::{Conn, Db};
use crate::dialect::queued_at;
use crate::schema::conversations as calls;
use crate::sql::V;
use crate::{CallEnd, Fenced, NewCall, Result, Settlement, Store, UsageDay};

/// What a call that ends adds to its day: when it began, whether it is by voice, how long it took.
type Ended = (Timestamp, bool, Option<i64>);

/// Where it took place, and with which agent.
type Whose = (Option<Channel>, AgentId);

/// What is written of a call as it is accepted, placed here or come in.
pub(crate) struct Row {
    pub(crate) id: ConversationId,
    pub(crate) account_id: AccountId,
    pub(crate) agent_id: AgentId,
    pub(crate) agent_ref: String,
    pub(crate) agent_version: i32,
    pub(crate) key_id: Option<KeyId>,
    pub(crate) runtime: Runtime,
    pub(crate) from: Option<E164>,
    pub(crate) to: E164,
    pub(crate) customer: Option<E164>,
    pub(crate) metadata: String,
    pub(crate) price: Price,
    pub(crate) at: Timestamp,
    pub(crate) steady: Timestamp,
    pub(crate) dialog: Option<String>,
}

/// Writes the conversation of an accepted call.
pub(crate) async fn insert(conn: &mut Conn, call: &NewCall) -> Result<()> {
    row(conn.db(), call).run(conn).await
}

/// The statement that does.
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
            from: Some(call.from.clone()),
            to: call.to.clone(),
            customer: Some(call.to.clone()),
            metadata: call.metadata.clone(),
            price: call.price,
            at: call.at,
            steady: call.steady,
            dialog: None,
        },
    )
}

/// The statement that writes a conversation which nobody has claimed.
pub(crate) fn queued(db: Db, row: Row) -> impl QueryFragment<Db> + QueryId + Send + use<> {
    diesel::insert_into(calls::table).values((
        (
            calls::id.eq(V(row.id)),
            calls::account_id.eq(V(row.account_id)),
            calls::agent_id.eq(V(row.agent_id)),
            calls::agent_ref.eq(row.agent_ref),
            calls::agent_version.eq(row.agent_version),
            calls::key_id.eq(row.key_id),
            calls::runtime.eq(V(row.runtime)),
            calls::channel.eq(V(Channel::Phone)),
            calls::voice.eq(true),
            calls::state.eq(V(CallState::Queued)),
            calls::status.eq(V(ConversationStatus::Unknown)),
        ),
        (
            calls::from_number.eq(row.from),
            calls::to_number.eq(V(row.to)),
            calls::customer_phone.eq(row.customer),
            calls::metadata.eq(V(row.metadata)),
            calls::price_millicredits.eq(row.price.millicredits_per_minute()),
            calls::started_at.eq(V(row.at)),
            calls::has_audio.eq(false),
            calls::messages_count.eq(0),
            calls::last_seq.eq(0),
            calls::hangup_requested.eq(false),
            calls::dialog.eq(row.dialog),
            queued_at(db, row.steady).map(|at| calls::queued_at.eq(V(at))),
        ),
    ))
}

impl Store {
    /// Keeps of a call that is being dialed what ends it should this process die.
    pub fn call_dialed(
        &self,
        id: ConversationId,
        claim: ClaimId,
        dialog: String,
    ) -> Answer<'_, Fenced> {
        keep!(self, |conn| {
            let changed = diesel::update(calls::table.find(V(id)))
                .filter(calls::state.eq(V(CallState::Dialing)))
                .filter(calls::claim_id.eq(V(claim)))
                .set(calls::dialog.eq(dialog))
                .execute(conn)
                .await?;
            Ok(match changed {
                0 => Fenced::Lost,
                _ => Fenced::Done,
            })
        })
    }

    /// `dialing | live → closing`: how the call ended is fixed from here on.
    pub fn close_call(
        &self,
        id: ConversationId,
        claim: ClaimId,
        end: CallEnd,
    ) -> Answer<'_, Fenced> {
        keep!(self, |conn| {
            let (termination, failure) = match end.outcome {
                CallOutcome::Completed(reason) => (Some(reason), None),
                CallOutcome::Failed(reason) => (None, Some(reason)),
            };
            let latency = end.latency;
            type Closed = (i32, AccountId, AgentId, Runtime, Option<Timestamp>);
            let closed: Option<Closed> = diesel::update(calls::table.find(V(id)))
                .filter(calls::state.eq_any([CallState::Dialing, CallState::Live].map(V)))
                .filter(calls::claim_id.eq(V(claim)))
                .set((
                    calls::state.eq(V(CallState::Closing)),
                    calls::termination_reason.eq(termination),
                    calls::failure_reason.eq(failure),
                    calls::ended_at.eq(V(end.ended_at)),
                    calls::duration_seconds.eq(end.duration_seconds),
                    calls::latency_turns.eq(latency.map(|l| l.0)),
                    calls::latency_p50_ms.eq(latency.map(|l| l.1)),
                    calls::latency_p95_ms.eq(latency.map(|l| l.2)),
                    // There is no call left that it could end.
                    calls::dialog.eq(None::<String>),
                    calls::last_seq.eq(calls::last_seq + 1),
                ))
                .returning((
                    calls::last_seq,
                    calls::account_id,
                    calls::agent_id,
                    calls::runtime,
                    calls::answered_at,
                ))
                .get_result(conn)
                .await
                .optional()?;
            let Some((seq, account, agent, runtime, answered_at)) = closed else {
                return Ok(Fenced::Lost);
            };
            moments::entered(conn, id, seq, CallState::Closing, end.ended_at).await?;
            if runtime == Runtime::Engine && answered_at.is_some() {
                analyses::order(conn, (account, agent), id).await?;
            }
            Ok(Fenced::Done)
        })
    }

    /// Asks the owner of a dialing or live call to hang up; `false` if the call is neither.
    pub fn request_hangup(&self, account: AccountId, id: ConversationId) -> Answer<'_, bool> {
        keep!(self, |conn| {
            diesel::update(calls::table.find(V(id)))
                .filter(calls::account_id.eq(V(account)))
                .filter(calls::state.eq_any([CallState::Dialing, CallState::Live].map(V)))
                .set(calls::hangup_requested.eq(true))
                .changes(conn)
                .await
        })
    }
}

pub(crate) async fn answered(
    conn: &mut Conn,
    id: ConversationId,
    claim: ClaimId,
    (at, dialog): (Timestamp, Option<String>),
) -> Result<Fenced> {
    let seq: Option<i32> = diesel::update(calls::table.find(V(id)))
        .filter(calls::state.eq(V(CallState::Dialing)))
        .filter(calls::claim_id.eq(V(claim)))
        .set((
            calls::state.eq(V(CallState::Live)),
            calls::answered_at.eq(V(at)),
            // What came in has told it already.
            dialog.map(|dialog| calls::dialog.eq(dialog)),
            calls::last_seq.eq(calls::last_seq + 1),
        ))
        .returning(calls::last_seq)
        .get_result(conn)
        .await
        .optional()?;
    let Some(seq) = seq else {
        return Ok(Fenced::Lost);
    };
    moments::entered(conn, id, seq, CallState::Live, at).await?;
    Ok(Fenced::Done)
}

/// The closing transaction: summary, credits, ledger, event and deliveries. Returns the endpoints with work.
pub(crate) async fn settle(
    conn: &mut Conn,
    (account, id, claim): (AccountId, ConversationId, ClaimId),
    settlement: Settlement,
) -> Result<Option<Vec<offhook_domain::EndpointId>>> {
    let ended: Option<(i32, Runtime, Option<FailureReason>, Ended, Whose)> =
        diesel::update(calls::table.find(V(id)))
            .filter(calls::state.eq(V(CallState::Closing)))
            .filter(calls::claim_id.eq(V(claim)))
            .filter(calls::account_id.eq(V(account)))
            .set((
                calls::state.eq(V(settlement.state)),
                calls::status.eq(V(settlement.state.list_status())),
                calls::summary.eq(&*moments::kept(&settlement.summary)),
                calls::credits.eq(settlement.credits),
                calls::claim_id.eq(None::<ClaimId>),
                calls::lease_expires_at.eq(None::<Timestamp>),
                calls::last_seq.eq(calls::last_seq + 1),
            ))
            .returning((
                calls::last_seq,
                calls::runtime,
                calls::failure_reason,
                (calls::started_at, calls::voice, calls::duration_seconds),
                (calls::channel, calls::agent_id),
            ))
            .get_result(conn)
            .await
            .optional()?;
    let Some((seq, runtime, reason, ended, (channel, agent))) = ended else {
        return Ok(None);
    };
    moments::entered(conn, id, seq, settlement.state, settlement.at).await?;
    if channel == Some(Channel::WidgetVoice) {
        let times = (ended.0, settlement.at);
        talks::settle(conn, (id, agent), times, settlement.credits).await?;
    }
    if runtime == Runtime::Legacy {
        let outcome = (settlement.state, reason);
        batch_looks::call_ended(conn, id, outcome, settlement.at).await?;
    }
    finish(conn, account, id, ended, settlement).await.map(Some)
}

/// Ends a call that no dialer has claimed. Returns the endpoints with work, or `None` if it is queued no more.
pub(crate) async fn end_queued(
    conn: &mut Conn,
    (account, id): (AccountId, ConversationId),
    reason: FailureReason,
    settlement: Settlement,
) -> Result<Option<Vec<offhook_domain::EndpointId>>> {
    let ended: Option<(i32, Runtime, Option<FailureReason>, Ended)> =
        diesel::update(calls::table.find(V(id)))
            .filter(calls::account_id.eq(V(account)))
            .filter(calls::state.eq(V(CallState::Queued)))
            .set((
                calls::state.eq(V(settlement.state)),
                calls::status.eq(V(settlement.state.list_status())),
                calls::failure_reason.eq(V(reason)),
                calls::ended_at.eq(V(settlement.at)),
                calls::duration_seconds.eq(0),
                calls::summary.eq(&*moments::kept(&settlement.summary)),
                calls::credits.eq(0),
                calls::last_seq.eq(calls::last_seq + 1),
            ))
            .returning((
                calls::last_seq,
                calls::runtime,
                calls::failure_reason,
                (calls::started_at, calls::voice, calls::duration_seconds),
            ))
            .get_result(conn)
            .await
            .optional()?;
    let Some((seq, runtime, reason, ended)) = ended else {
        return Ok(None);
    };
    moments::entered(conn, id, seq, settlement.state, settlement.at).await?;
    if runtime == Runtime::Legacy {
        let outcome = (settlement.state, reason);
        batch_looks::call_ended(conn, id, outcome, settlement.at).await?;
    }
    finish(conn, account, id, ended, settlement).await.map(Some)
}

async fn finish(
    conn: &mut Conn,
    account: AccountId,
    id: ConversationId,
    (started_at, voice, duration_seconds): Ended,
    settlement: Settlement,
) -> Result<Vec<offhook_domain::EndpointId>> {
    let entry = (
        crate::store::mint(settlement.at),
        settlement.description.as_str(),
        settlement.at,
    );
    wallets::settle(conn, account, id, settlement.credits, entry).await?;
    let endpoints = events::emit(conn, account, id, settlement.event, settlement.at).await?;
    // Last, as every call of the account that ends writes to the hour's row and to the day's.
    if voice {
        let failed = settlement.state == CallState::Failed;
        usage_hours::add(conn, account, started_at, failed).await?;
    }
    let ended = UsageDay {
        day: started_at.utc_day(),
        calls: i64::from(voice),
        conversations: 1,
        duration_seconds: duration_seconds.unwrap_or(0),
        credits: settlement.credits,
    };
    usage::add(conn, account, ended).await?;
    Ok(endpoints)
}
