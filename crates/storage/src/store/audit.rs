//! The audit log of an account.

use offhook_domain::{AccountId, EventId, Timestamp};

use super::{Answer, keep, mint, write};
use crate::queries;
use crate::{Store, Verdict};

impl Store {
    /// Writes a line of the account's audit log.
    pub fn note(
        &self,
        account: AccountId,
        (action, target): (String, String),
        at: Timestamp,
    ) -> Answer<'_, ()> {
        let actor = self.actor();
        keep!(self, |conn| {
            let id: EventId = mint(at);
            let words = (actor.as_str(), action.as_str(), target.as_str());
            queries::accounts::audit(conn, id.uuid(), Some(account), words, at).await
        })
    }

    /// The same, unless the log has this line since then, whoever's.
    pub fn note_once(
        &self,
        account: AccountId,
        (action, target): (String, String),
        since: Timestamp,
        at: Timestamp,
    ) -> Answer<'_, ()> {
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
}
