//! How long conversations are kept, and changes of plan, which change that.

use async_recursion::async_recursion as boxed;
use offhook_domain::{AccountId, ConversationId, Plan, Timestamp};

use super::{mint, read, write};
use crate::queries;
use crate::{Account, Result, RetentionWindow, Store, Verdict};

impl Store {
    /// Every account with its window as it was last noted.
    #[boxed]
    pub async fn retention_windows(&self) -> Result<Vec<(Account, Option<RetentionWindow>)>> {
        read!(self, |conn| queries::conversation_retention::windows(conn)
            .await)
    }

    /// An account's window as it was last noted.
    #[boxed]
    pub async fn retention_window(&self, account: AccountId) -> Result<Option<RetentionWindow>> {
        read!(self, |conn| queries::conversation_retention::window(
            conn, account
        )
        .await)
    }

    /// Notes an account's window.
    #[boxed]
    pub async fn note_retention_window(&self, window: RetentionWindow) -> Result<()> {
        write!(self, |conn| {
            queries::conversation_retention::note(conn, window).await?;
            Ok(Verdict::Commit(()))
        })
    }

    /// Moves an account from one plan to another and notes the window that it has then; `false` if it is not on the
    /// first one.
    #[boxed]
    pub async fn set_plan(
        &self,
        account: AccountId,
        (from, to): (Plan, Plan),
        window: RetentionWindow,
        at: Timestamp,
    ) -> Result<bool> {
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

    /// How many of the account's conversations were accepted before `before`.
    #[boxed]
    pub async fn conversations_before(&self, account: AccountId, before: Timestamp) -> Result<i64> {
        read!(self, |conn| queries::conversation_retention::count_before(
            conn, account, before
        )
        .await)
    }

    /// Up to `most` of the account's oldest ended conversations from before `before`, and whether each tells of a
    /// recording.
    #[boxed]
    pub async fn ended_conversations_before(
        &self,
        account: AccountId,
        before: Timestamp,
        most: i64,
    ) -> Result<Vec<(ConversationId, bool)>> {
        read!(self, |conn| queries::conversation_retention::ended_before(
            conn, account, before, most
        )
        .await)
    }

    /// Deletes conversations of the account, with everything but their ledger rows. One of which a recording has been
    /// told since it was seen is left to the next time, with the recording.
    #[boxed]
    pub async fn delete_conversations(
        &self,
        account: AccountId,
        seen: Vec<(ConversationId, bool)>,
    ) -> Result<()> {
        write!(self, |conn| {
            queries::conversation_retention::delete(conn, account, seen).await?;
            Ok(Verdict::Commit(()))
        })
    }
}
