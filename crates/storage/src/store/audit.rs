//! The audit log of an account.

use async_recursion::async_recursion as boxed;
use offhook_domain::{AccountId, EventId, Timestamp};

use super::{mint, read, write};
use crate::queries;
use crate::{AuditEntry, PageKey, Result, Store, Verdict};

impl Store {
    /// Writes a line of the account's audit log.
    #[boxed]
    pub async fn note(
        &self,
        account: AccountId,
        (action, target): (String, String),
        at: Timestamp,
    ) -> Result<()> {
        let actor = self.actor();
        write!(self, |conn| {
            let id: EventId = mint(at);
            let words = (actor.as_str(), action.as_str(), target.as_str());
            queries::accounts::audit(conn, id.uuid(), Some(account), words, at).await?;
            Ok(Verdict::Commit(()))
        })
    }

    /// The same, unless the log has this line since then, whoever's.
    #[boxed]
    pub async fn note_once(
        &self,
        account: AccountId,
        (action, target): (String, String),
        since: Timestamp,
        at: Timestamp,
    ) -> Result<()> {
        let actor = self.actor();
        write!(self, |conn| {
            let line = (action.as_str(), target.as_str());
            if queries::accounts::is_audited(conn, account, line, since).await? {
                return Ok(Verdict::Rollback(()));
            }
            let id: EventId = mint(at);
            let words = (actor.as_str(), action.as_str(), target.as_str());
            queries::accounts::audit(conn, id.uuid(), Some(account), words, at).await?;
            Ok(Verdict::Commit(()))
        })
    }

    /// A page of the account's audit log, newest first, with one more than `limit` if there is a next page.
    #[boxed]
    pub async fn audit(
        &self,
        account: AccountId,
        after: Option<PageKey<EventId>>,
        limit: i64,
    ) -> Result<Vec<AuditEntry>> {
        read!(self, |conn| queries::people::audit_page(
            conn, account, after, limit
        )
        .await)
    }
}
