//! Legacy agents: bringing them to what their provider lists, and what their calls leave.

use async_recursion::async_recursion as boxed;
use std::time::Duration;

use offhook_domain::{AccountId, CredentialProvider, Timestamp};

use super::{read, write};
use crate::queries;
use crate::{ListedAgent, Result, Store, Synced, Verdict};

impl Store {
    /// Whether any account's legacy agents are to be asked for.
    #[boxed]
    pub async fn has_due_syncs(&self, now: Timestamp) -> Result<bool> {
        read!(self, |conn| queries::credentials::has_due(conn, now).await)
    }

    /// Takes up to `most` accounts whose legacy agents are to be asked for; each is this caller's for `lease`.
    #[boxed]
    pub async fn take_due_syncs(
        &self,
        most: i64,
        lease: Duration,
        now: Timestamp,
    ) -> Result<Vec<AccountId>> {
        write!(self, |conn| {
            let times = (now, now.plus(lease));
            let taken = queries::credentials::take_due(conn, most, times).await?;
            Ok(if taken.is_empty() {
                Verdict::Rollback(taken)
            } else {
                Verdict::Commit(taken)
            })
        })
    }

    /// Brings the account's legacy agents and their numbers to what the provider lists at `at`, where it was
    /// asked at `began`, and says when to ask again. Those that are not on the list are archived if it is whole.
    #[boxed]
    pub async fn sync_legacy_agents(
        &self,
        account: AccountId,
        (listed, is_whole): (Vec<ListedAgent>, bool),
        (began, at, next): (Timestamp, Timestamp, Timestamp),
    ) -> Result<Synced> {
        write!(self, |conn| {
            // One at a time, so that two of them never add the same agent.
            queries::locks::lock_account(conn, account).await?;
            let synced = queries::legacy::sync(conn, account, (listed, is_whole), at).await?;
            let of = (account, CredentialProvider::Legacy);
            queries::credentials::answered(conn, of, (began, next)).await?;
            Ok(Verdict::Commit(synced))
        })
    }
}
