//! Analyses of conversations that have ended, and the schemas that agents have for them.

use async_recursion::async_recursion as boxed;
use std::time::Duration;

use offhook_domain::{AccountId, AgentId, ConversationId, Timestamp};

use super::{lease, mint, read, write};
use crate::dialect::dialect;
use crate::queries;
use crate::{Analysis, AnalysisEnd, AnalysisJob, AnalysisSchema, Fenced, Result, Store, Verdict};

impl Store {
    /// The schema of an agent, which the caller has looked up for its account; `None` if none was ever set.
    #[boxed]
    pub async fn analysis_schema(&self, agent: AgentId) -> Result<Option<AnalysisSchema>> {
        read!(self, |conn| queries::analyses::schema(conn, agent).await)
    }

    /// Sets the schema of an agent of the account; conversations that have ended keep the one that they ended under. `None`
    /// if the account has no such agent; none in it if the agent never had one, and has none now.
    #[boxed]
    pub async fn set_analysis_schema(
        &self,
        account: AccountId,
        agent: AgentId,
        definition: Option<String>,
        at: Timestamp,
    ) -> Result<Option<Option<AnalysisSchema>>> {
        write!(self, |conn| {
            let whose = (account, agent);
            let set = queries::analyses::set_schema(conn, whose, definition, at).await?;
            Ok(match set {
                Some(schema) => Verdict::Commit(Some(schema)),
                None => Verdict::Rollback(None),
            })
        })
    }

    /// The analysis of a conversation of the account.
    #[boxed]
    pub async fn analysis(
        &self,
        account: AccountId,
        conversation: ConversationId,
    ) -> Result<Option<Analysis>> {
        read!(self, |conn| queries::analyses::find(
            conn,
            account,
            conversation
        )
        .await)
    }

    /// Claims the oldest analysis that waits, of none of the `busy` accounts. It is counted as tried.
    #[boxed]
    pub async fn claim_analysis(
        &self,
        busy: Vec<AccountId>,
        now: Timestamp,
    ) -> Result<Option<AnalysisJob>> {
        // The writer is not asked where there is nothing to do, which is most of the time.
        if !read!(self, |conn| queries::analyses::any_waits(conn).await)? {
            return Ok(None);
        }
        let (offset, claim) = (self.offset(), mint(now));
        write!(self, |conn| {
            let now = dialect!(conn, lease_clock(offset))?;
            let times = (now, now.plus(lease()));
            let claimed = queries::analyses::claim(conn, busy, claim, times).await?;
            Ok(match claimed {
                Some(job) => Verdict::Commit(Some(job)),
                None => Verdict::Rollback(None),
            })
        })
    }

    /// Takes every claim back: at the start of the one process that the embedded database has.
    #[boxed]
    pub async fn release_analyses(&self) -> Result<usize> {
        write!(self, |conn| Ok(Verdict::Commit(
            queries::analyses::release_all(conn).await?
        )))
    }

    /// Gives a claim back: to be tried again after `rest`, or, without one, at once and as if it had not been tried.
    #[boxed]
    pub async fn release_analysis(&self, job: AnalysisJob, rest: Option<Duration>) -> Result<()> {
        let offset = self.offset();
        write!(self, |conn| {
            let now = dialect!(conn, lease_clock(offset))?;
            let until = rest.map(|rest| now.plus(rest));
            queries::analyses::release(conn, &job, until).await?;
            Ok(Verdict::Commit(()))
        })
    }

    /// Renews a claim. It is lost, too, when the conversation was deleted.
    #[boxed]
    pub async fn renew_analysis(&self, job: AnalysisJob) -> Result<Fenced> {
        let offset = self.offset();
        write!(self, |conn| {
            let until = dialect!(conn, lease_clock(offset))?.plus(lease());
            let renewed = queries::analyses::renew(conn, &job, until).await?;
            Ok(Verdict::Commit(fenced(renewed)))
        })
    }

    /// Ends an analysis, once.
    #[boxed]
    pub async fn finish_analysis(
        &self,
        job: AnalysisJob,
        end: AnalysisEnd,
        at: Timestamp,
    ) -> Result<Fenced> {
        write!(self, |conn| {
            let ended = queries::analyses::finish(conn, &job, end, at).await?;
            Ok(Verdict::Commit(fenced(ended)))
        })
    }
}

const fn fenced(done: bool) -> Fenced {
    if done { Fenced::Done } else { Fenced::Lost }
}
