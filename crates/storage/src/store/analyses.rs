//! Analyses of conversations that have ended, and the schemas that agents have for them.

use async_recursion::async_recursion as boxed;
use std::time::Duration;

use offhook_domain::{AccountId, AgentId, Timestamp};

use super::{Answer, keep, lease, mint, read, write};
use crate::dialect::dialect;
use crate::queries;
use crate::{AnalysisEnd, AnalysisJob, AnalysisSchema, Fenced, Result, Store, Verdict};

impl Store {
    /// Sets the schema of an agent of the account; conversations that have ended keep the one that they ended under. `None`
    /// if the account has no such agent; none in it if the agent never had one, and has none now.
    pub fn set_analysis_schema(
        &self,
        account: AccountId,
        agent: AgentId,
        definition: Option<String>,
        at: Timestamp,
    ) -> Answer<'_, Option<Option<AnalysisSchema>>> {
        write!(self, |conn| {
            let whose = (account, agent);
            let set = queries::analyses::set_schema(conn, whose, definition, at).await?;
            Ok(match set {
                Some(schema) => Verdict::Commit(Some(schema)),
                None => Verdict::Rollback(None),
            })
        })
    }

    /// Claims the oldest analysis that waits, of none of the `busy` accounts. It is counted as tried.
    #[boxed]
    pub async fn claim_analysis(
        &self,
        busy: Vec<AccountId>,
        now: Timestamp,
    ) -> Result<Option<AnalysisJob>> {
        // The writer is not asked where there is nothing to do, which is most of the time.
        if !read!(self, |conn| queries::analyses::any_waits(conn).await).await? {
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
        .await
    }

    /// Gives a claim back: to be tried again after `rest`, or, without one, at once and as if it had not been tried.
    pub fn release_analysis(&self, job: AnalysisJob, rest: Option<Duration>) -> Answer<'_, ()> {
        let offset = self.offset();
        keep!(self, |conn| {
            let now = dialect!(conn, lease_clock(offset))?;
            let until = rest.map(|rest| now.plus(rest));
            queries::analyses::release(conn, &job, until).await
        })
    }

    /// Renews a claim. It is lost, too, when the conversation was deleted.
    pub fn renew_analysis(&self, job: AnalysisJob) -> Answer<'_, Fenced> {
        let offset = self.offset();
        keep!(self, |conn| {
            let until = dialect!(conn, lease_clock(offset))?.plus(lease());
            let renewed = queries::analyses::renew(conn, &job, until).await?;
            Ok(fenced(renewed))
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
            let ended = queries::analyses::finish(conn, &job, end, at).await?;
            Ok(fenced(ended))
        })
    }
}

const fn fenced(done: bool) -> Fenced {
    if done { Fenced::Done } else { Fenced::Lost }
}
