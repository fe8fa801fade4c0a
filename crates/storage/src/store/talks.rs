//! Spoken conversations of web pages.

use async_recursion::async_recursion as boxed;
use offhook_domain::{AgentId, ConversationId, Credits, Timestamp};
use offhook_failpoints as failpoints;

use super::{Answer, lease, write};
use crate::dialect::dialect;
use crate::queries;
use crate::{NewTalk, Result, Store, TalkTaken, Verdict};

impl Store {
    /// Begins a spoken conversation of a page, in one transaction: the widget's sessions and credits, the plan's live
    /// calls, the agent, the reservation, and the conversation, claimed already. A process that dies behind it leaves an
    /// orphan, which others report.
    ///
    /// # Errors
    /// `StoreError::UnknownCommit` if it may have been written, the others if it was not.
    #[boxed]
    pub async fn take_talk(&self, talk: NewTalk) -> Result<TalkTaken> {
        let offset = self.offset();
        let taken = write!(self, |conn| {
            let lease = dialect!(conn, lease_clock(offset))?.plus(lease());
            let taken = queries::talks::take(conn, talk, lease).await?;
            Ok(match taken {
                TalkTaken::Claimed(_) => Verdict::Commit(taken),
                refused => Verdict::Rollback(refused),
            })
        })
        .await;
        if matches!(taken, Ok(TalkTaken::Claimed(_))) {
            failpoints::hit(failpoints::ANSWER_AFTER_COMMIT);
        }
        taken
    }

    /// Holds more credits for a spoken conversation of an agent's widget; `false` if the wallet or the widget's day does
    /// not cover them.
    pub fn top_up_talk(
        &self,
        id: ConversationId,
        agent: AgentId,
        credits: Credits,
        now: Timestamp,
    ) -> Answer<'_, bool> {
        write!(self, |conn| {
            let held = queries::talks::top_up(conn, (id, agent), credits, now).await?;
            Ok(if held {
                Verdict::Commit(true)
            } else {
                Verdict::Rollback(false)
            })
        })
    }
}
