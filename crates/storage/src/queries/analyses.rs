//! Analyses of conversations: the schemas that agents have, the work that their ends order, and what comes of it.

use crate::store::{Answer, keep, read};
use std::time::Duration;

use crate::database::RunQueryDsl;
use crate::dialect::Lock as _;
use diesel::dsl::{exists, sql};
use diesel::expression::SqlLiteral;
use diesel::prelude::*;
use diesel::sql_types::Bool;
use offhook_domain::{
    AccountId, AgentId, AnalysisStatus, CallState, ClaimId, ConversationId, Timestamp,
};

use crate::database::Conn;
use crate::schema::{
    agents, analysis_schemas as schemas, conversation_analyses as analyses, conversations as calls,
};
use crate::sql::V;
use crate::{Analysis, AnalysisEnd, AnalysisJob, AnalysisSchema, Result, Store};

/// How long after its successor a schema is still there, whatever waits for it: no transaction that has read it lasts so
/// long.
const KEPT_FOR: Duration = Duration::from_secs(60);

impl Store {
    /// The schema of an agent, which the caller has looked up for its account; `None` if none was ever set.
    pub fn analysis_schema(&self, agent: AgentId) -> Answer<'_, Option<AnalysisSchema>> {
        read!(self, |conn| {
            Ok(schemas::table
                .filter(schemas::agent_id.eq(V(agent)))
                .order(schemas::revision.desc())
                .select(AnalysisSchema::as_select())
                .found(conn)
                .await?)
        })
    }

    /// The analysis of a conversation of the account.
    pub fn analysis(
        &self,
        account: AccountId,
        conversation: ConversationId,
    ) -> Answer<'_, Option<Analysis>> {
        read!(self, |conn| {
            Ok(analyses::table
                .find(V(conversation))
                .filter(analyses::account_id.eq(V(account)))
                .select(Analysis::as_select())
                .found(conn)
                .await?)
        })
    }

    /// Takes every claim back: at the start of the one process that the embedded database has.
    pub fn release_analyses(&self) -> Answer<'_, usize> {
        keep!(self, |conn| {
            Ok(diesel::update(analyses::table)
                .filter(is_pending())
                .filter(analyses::lease_expires_at.is_not_null())
                .set((
                    analyses::claim_id.eq(None::<V<ClaimId>>),
                    analyses::lease_expires_at.eq(None::<V<Timestamp>>),
                ))
                .execute(conn)
                .await?)
        })
    }
}

/// Sets the schema of an agent of the account, as a revision of its own unless it is in force already. `None` if the account
/// has no such agent.
pub(crate) async fn set_schema(
    conn: &mut Conn,
    (account, agent): (AccountId, AgentId),
    definition: Option<String>,
    at: Timestamp,
) -> Result<Option<Option<AnalysisSchema>>> {
    // A write that changes nothing: who sets the same agent's schema waits.
    let locked = diesel::update(agents::table.find(V(agent)))
        .filter(agents::account_id.eq(V(account)))
        .set(agents::head_version.eq(agents::head_version))
        .execute(conn)
        .await?;
    if locked == 0 {
        return Ok(None);
    }
    let last: Option<(i32, AnalysisSchema)> = schemas::table
        .filter(schemas::agent_id.eq(V(agent)))
        .order(schemas::revision.desc())
        .select((schemas::revision, AnalysisSchema::as_select()))
        .found(conn)
        .await?;
    let next = AnalysisSchema {
        definition,
        created_at: at,
    };
    let revision = match last {
        Some((_, last)) if last.definition == next.definition => return Ok(Some(Some(last))),
        None if next.definition.is_none() => return Ok(Some(None)),
        Some((revision, _)) => revision + 1,
        None => 1,
    };
    diesel::insert_into(schemas::table)
        .values((
            schemas::agent_id.eq(V(agent)),
            schemas::revision.eq(revision),
            schemas::definition.eq(next.definition.clone().map(V)),
            schemas::created_at.eq(V(at)),
        ))
        .execute(conn)
        .await?;
    forget_replaced(conn, agent, at).await?;
    Ok(Some(Some(next)))
}

/// Deletes schemas that were replaced some time ago and that no conversation waits for.
async fn forget_replaced(conn: &mut Conn, agent: AgentId, now: Timestamp) -> Result<()> {
    let in_force_then: Option<i32> = schemas::table
        .filter(schemas::agent_id.eq(V(agent)))
        .filter(schemas::created_at.lt(V(now.minus(KEPT_FOR))))
        .order(schemas::revision.desc())
        .select(schemas::revision)
        .found(conn)
        .await?;
    let Some(in_force_then) = in_force_then else {
        return Ok(());
    };
    let waiting: Vec<i32> = analyses::table
        .filter(analyses::agent_id.eq(V(agent)))
        .filter(is_pending())
        .filter(analyses::revision.lt(in_force_then))
        .select(analyses::revision)
        .distinct()
        .load(conn)
        .await?;
    diesel::delete(schemas::table)
        .filter(schemas::agent_id.eq(V(agent)))
        .filter(schemas::revision.lt(in_force_then))
        .filter(schemas::revision.ne_all(waiting))
        .run(conn)
        .await
}

/// `status = 'pending'`, written out for the partial indexes.
fn is_pending() -> SqlLiteral<Bool> {
    sql("conversation_analyses.status = 'pending'")
}

/// Orders the analysis of a conversation that is ending, by the schema that its agent has now.
pub(crate) async fn order(
    conn: &mut Conn,
    (account, agent): (AccountId, AgentId),
    conversation: ConversationId,
) -> Result<()> {
    let current: Option<(i32, bool)> = schemas::table
        .filter(schemas::agent_id.eq(V(agent)))
        .order(schemas::revision.desc())
        .select((schemas::revision, schemas::definition.is_not_null()))
        .found(conn)
        .await?;
    let Some((revision, true)) = current else {
        return Ok(());
    };
    diesel::insert_into(analyses::table)
        .values((
            analyses::conversation_id.eq(V(conversation)),
            analyses::account_id.eq(V(account)),
            analyses::agent_id.eq(V(agent)),
            analyses::revision.eq(revision),
            analyses::status.eq(V(AnalysisStatus::Pending)),
            analyses::tries.eq(0),
        ))
        .on_conflict_do_nothing()
        .run(conn)
        .await
}

/// Whether any analysis waits.
pub(crate) async fn any_waits(conn: &mut Conn) -> Result<bool> {
    let waiting = analyses::table
        .filter(is_pending())
        .select(analyses::conversation_id);
    let first: Option<ConversationId> = waiting.found(conn).await?;
    Ok(first.is_some())
}

/// The oldest conversation that is settled, waits for its analysis and is nobody's at `judged_at`; none of the `busy`
/// accounts'.
async fn waiting(
    conn: &mut Conn,
    busy: Vec<AccountId>,
    judged_at: Timestamp,
) -> Result<Option<ConversationId>> {
    let settled = [CallState::Completed, CallState::Failed].map(V);
    let conversation = calls::table
        .filter(calls::id.eq(analyses::conversation_id))
        .filter(calls::state.eq_any(settled));
    let is_free = analyses::lease_expires_at
        .is_null()
        .or(analyses::lease_expires_at.lt(V(judged_at)));
    let waiting = analyses::table
        .filter(is_pending())
        .filter(is_free)
        .filter(analyses::account_id.ne_all(busy.into_iter().map(V)))
        .filter(exists(conversation))
        .order(analyses::conversation_id)
        .select(analyses::conversation_id);
    Ok(waiting.locked("FOR UPDATE SKIP LOCKED").found(conn).await?)
}

/// Claims the oldest analysis that waits, of none of the `busy` accounts.
pub(crate) async fn claim(
    conn: &mut Conn,
    busy: Vec<AccountId>,
    claim: ClaimId,
    (now, until): (Timestamp, Timestamp),
) -> Result<Option<AnalysisJob>> {
    let Some(conversation) = waiting(conn, busy, now).await? else {
        return Ok(None);
    };
    let (account, agent, revision, tries): (AccountId, AgentId, i32, i32) =
        diesel::update(analyses::table.find(V(conversation)))
            .set((
                analyses::claim_id.eq(V(claim)),
                analyses::lease_expires_at.eq(V(until)),
                analyses::tries.eq(analyses::tries + 1),
            ))
            .returning((
                analyses::account_id,
                analyses::agent_id,
                analyses::revision,
                analyses::tries,
            ))
            .get_result(conn)
            .await?;
    let definition: Option<Option<String>> = schemas::table
        .find((V(agent), revision))
        .select(schemas::definition)
        .found(conn)
        .await?;
    Ok(Some(AnalysisJob {
        conversation,
        account,
        claim,
        tries,
        definition: definition.flatten(),
    }))
}

/// Gives a claim back: to be tried again after `rest`, or at once and as if it had not been tried.
pub(crate) async fn release(
    conn: &mut Conn,
    job: &AnalysisJob,
    rest: Option<Timestamp>,
) -> Result<()> {
    diesel::update(analyses::table.find(V(job.conversation)))
        .filter(analyses::claim_id.eq(V(job.claim)))
        .set((
            analyses::claim_id.eq(None::<V<ClaimId>>),
            analyses::lease_expires_at.eq(rest.map(V)),
            analyses::tries.eq(analyses::tries - i32::from(rest.is_none())),
        ))
        .run(conn)
        .await
}

/// Renews a claim; `false` if it is gone, or the conversation.
pub(crate) async fn renew(conn: &mut Conn, job: &AnalysisJob, until: Timestamp) -> Result<bool> {
    diesel::update(analyses::table.find(V(job.conversation)))
        .filter(analyses::claim_id.eq(V(job.claim)))
        .set(analyses::lease_expires_at.eq(V(until)))
        .changes(conn)
        .await
}

/// Ends an analysis; `false` if its claim is gone, or the conversation.
pub(crate) async fn finish(
    conn: &mut Conn,
    job: &AnalysisJob,
    end: AnalysisEnd,
    at: Timestamp,
) -> Result<bool> {
    let (status, data, error) = match end {
        AnalysisEnd::Completed(data) => (AnalysisStatus::Completed, Some(data), None),
        AnalysisEnd::Failed(error) => (AnalysisStatus::Failed, None, Some(error)),
    };
    diesel::update(analyses::table.find(V(job.conversation)))
        .filter(analyses::claim_id.eq(V(job.claim)))
        .set((
            analyses::status.eq(V(status)),
            analyses::data.eq(data.map(V)),
            analyses::error.eq(error),
            analyses::completed_at.eq(V(at)),
            analyses::claim_id.eq(None::<V<ClaimId>>),
            analyses::lease_expires_at.eq(None::<V<Timestamp>>),
        ))
        .changes(conn)
        .await
}
