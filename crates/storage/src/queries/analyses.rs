//! Analyses of conversations: the agents' schemas, the jobs that ended conversations create, and their results.

use crate::prelude::*;
use crate::schema::analysis_schemas as schemas;
use diesel::dsl::exists;
use diesel::expression::SqlLiteral;

/// How long a replaced schema stays, even if no job needs it: no transaction that has read it lasts this long.
const KEPT_FOR: Duration = Duration::from_secs(60);

#[boxed]
impl Store {
    /// Sets the schema of an agent as a new revision, unless it is already in force. Conversations that have ended keep
    /// the schema that was in force then. `None` if the account has no such agent; `Some(None)` if the agent never had
    /// a schema and gets none now.
    pub fn set_analysis_schema(
        &self,
        account: AccountId,
        agent: AgentId,
        definition: Option<String>,
        at: Timestamp,
    ) -> Answer<'_, Option<Option<AnalysisSchema>>> {
        transact!(self, |conn| {
            // A write that changes nothing: it locks the agent, so that other changes of its schema wait.
            let is_locked = diesel::update(agents::table.find(V(agent)))
                .filter(agents::account_id.eq(V(account)))
                .set(agents::head_version.eq(agents::head_version))
                .changes(conn)
                .await?;
            ensure!(is_locked, Rollback(None));
            let last: Option<(i32, AnalysisSchema)> = schemas::table
                .filter(schemas::agent_id.eq(V(agent)))
                .order(schemas::revision.desc())
                .select((schemas::revision, AnalysisSchema::as_select()))
                .found(conn)
                .await?;
            let revision = match last {
                Some((_, last)) if last.definition == definition => {
                    return Ok(Commit(Some(Some(last))));
                }
                None if definition.is_none() => return Ok(Commit(Some(None))),
                Some((revision, _)) => revision + 1,
                None => 1,
            };
            let next = diesel::insert_into(schemas::table)
                .values(row! { schemas: agent_id = agent, revision, definition, created_at = at })
                .returning(AnalysisSchema::as_returning())
                .get_result(conn)
                .await?;
            forget_replaced(conn, agent, at).await?;
            Ok(Commit(Some(Some(next))))
        })
    }

    /// The schema of an agent, which the caller has looked up for its account. `None` if none was ever set.
    pub fn analysis_schema(&self, agent: AgentId) -> Answer<'_, Option<AnalysisSchema>> {
        schemas::table
            .filter(schemas::agent_id.eq(V(agent)))
            .order(schemas::revision.desc())
            .select(AnalysisSchema::as_select())
            .read_first(self)
    }

    /// The analysis of a conversation of the account.
    pub fn analysis(
        &self,
        account: AccountId,
        conversation: ConversationId,
    ) -> Answer<'_, Option<Analysis>> {
        analyses::table
            .find(V(conversation))
            .filter(analyses::account_id.eq(V(account)))
            .select(Analysis::as_select())
            .read_first(self)
    }

    /// Claims the oldest waiting analysis that belongs to none of the `busy` accounts, and counts the attempt.
    pub async fn claim_analysis(
        &self,
        busy: Vec<AccountId>,
        now: Timestamp,
    ) -> Result<Option<AnalysisJob>> {
        // Reads first, so that the writer stays free when there is nothing to do, which is most of the time.
        let any: Option<ConversationId> = analyses::table
            .filter(is_pending())
            .select(analyses::conversation_id)
            .read_first(self)
            .await?;
        ensure!(any.is_some(), None);
        let (offset, claim) = (self.offset(), mint(now));
        transact!(self, |conn| {
            let now = dialect!(conn, lease_clock(offset))?;
            let conversation = some_or!(waiting(conn, busy, now).await?, Rollback(None));
            let (account, agent, revision, tries): (AccountId, AgentId, i32, i32) =
                diesel::update(analyses::table.find(V(conversation)))
                    .set(row! {
                        analyses: claim_id = claim, lease_expires_at = now.plus(lease()), tries += 1
                    })
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
            Ok(Commit(Some(AnalysisJob {
                conversation,
                account,
                claim,
                tries,
                definition: definition.flatten(),
            })))
        })
        .await
    }

    /// Releases a claim: for a retry after `rest`, or, without `rest`, at once and without counting the attempt.
    pub fn release_analysis(&self, job: AnalysisJob, rest: Option<Duration>) -> Answer<'_, ()> {
        let offset = self.offset();
        keep!(self, |conn| {
            let now = dialect!(conn, lease_clock(offset))?;
            diesel::update(analyses::table.find(V(job.conversation)))
                .filter(analyses::claim_id.eq(V(job.claim)))
                .set(row! {
                    analyses: claim_id = NULL, lease_expires_at = rest.map(|rest| now.plus(rest)),
                    tries -= i32::from(rest.is_none())
                })
                .run(conn)
                .await
        })
    }

    /// Renews a claim. The claim is also lost when the conversation was deleted.
    pub fn renew_analysis(&self, job: AnalysisJob) -> Answer<'_, Fenced> {
        let offset = self.offset();
        keep!(self, |conn| {
            let until = dialect!(conn, lease_clock(offset))?.plus(lease());
            let is_renewed = diesel::update(analyses::table.find(V(job.conversation)))
                .filter(analyses::claim_id.eq(V(job.claim)))
                .set(analyses::lease_expires_at.eq(V(until)))
                .changes(conn)
                .await?;
            Ok(Fenced::of(is_renewed))
        })
    }

    /// Ends an analysis, once.
    pub fn finish_analysis(
        &self,
        job: AnalysisJob,
        end: AnalysisEnd,
        at: Timestamp,
    ) -> Answer<'_, Fenced> {
        keep!(self, |conn| {
            let (status, data, error) = match end {
                AnalysisEnd::Completed(data) => (AnalysisStatus::Completed, Some(data), None),
                AnalysisEnd::Failed(error) => (AnalysisStatus::Failed, None, Some(error)),
            };
            let is_ended = diesel::update(analyses::table.find(V(job.conversation)))
                .filter(analyses::claim_id.eq(V(job.claim)))
                .set(row! {
                    analyses: status, data, error, completed_at = at, claim_id = NULL,
                    lease_expires_at = NULL
                })
                .changes(conn)
                .await?;
            Ok(Fenced::of(is_ended))
        })
    }

    /// Releases all claims, at the start of the one process that uses the embedded database.
    pub fn release_analyses(&self) -> Answer<'_, usize> {
        diesel::update(analyses::table)
            .filter(is_pending())
            .filter(analyses::lease_expires_at.is_not_null())
            .set(row! { analyses: claim_id = NULL, lease_expires_at = NULL })
            .commit_counted(self)
    }
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
    let in_force_then = some_or!(in_force_then, ());
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

/// Those of the agents that have, or once had, a schema.
pub(crate) async fn agents_with_schemas(
    conn: &mut Conn,
    agents: HashSet<AgentId>,
) -> Result<HashSet<AgentId>> {
    let found: Vec<AgentId> = schemas::table
        .filter(schemas::agent_id.eq_any(agents.into_iter().map(V)))
        .filter(schemas::definition.is_not_null())
        .select(schemas::agent_id)
        .load(conn)
        .await?;
    Ok(found.into_iter().collect())
}

/// Creates the analysis of a conversation that is ending, with its agent's current schema.
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
        .values(row! {
            analyses: conversation_id = conversation, account_id = account, agent_id = agent,
            revision, status = AnalysisStatus::Pending, tries = 0
        })
        .on_conflict_do_nothing()
        .run(conn)
        .await
}

/// The oldest settled conversation that waits for its analysis and is unclaimed at `judged_at`. Skips those of the
/// `busy` accounts.
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
