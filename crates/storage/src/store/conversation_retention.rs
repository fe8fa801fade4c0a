//! How long conversations are kept, and changes of plan, which change that.

use offhook_domain::{AccountId, Plan, Timestamp};

use super::{Answer, keep, mint, write};
use crate::queries;
use crate::{RetentionWindow, Store, Verdict};

impl Store {
    /// Notes an account's window.
    pub fn note_retention_window(&self, window: RetentionWindow) -> Answer<'_, ()> {
        keep!(self, |conn| queries::conversation_retention::note(
            conn, window
        )
        .await)
    }

    /// Moves an account from one plan to another and notes the window that it has then; `false` if it is not on the
    /// first one.
    pub fn set_plan(
        &self,
        account: AccountId,
        (from, to): (Plan, Plan),
        window: RetentionWindow,
        at: Timestamp,
    ) -> Answer<'_, bool> {
        write!(self, |conn| {
            if !queries::conversation_retention::set_plan(conn, account, (from, to)).await? {
                return Ok(Verdict::Rollback(false));
            }
            queries::conversation_retention::note(conn, window).await?;
            let id: offhook_domain::EventId = mint(at);
            let target = format!("{from} to {to}");
            let words = ("cli", "account.set-plan", target.as_str());
            queries::accounts::audit(conn, id.uuid(), Some(account), words, at).await?;
            Ok(Verdict::Commit(true))
        })
    }
}
