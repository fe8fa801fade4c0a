//! Legacy agents: bringing them to what their provider lists, and what their calls leave.

use std::time::Duration;

use offhook_domain::{AccountId, CredentialProvider, Timestamp};

use super::{Answer, keep, write};
use crate::queries;
use crate::{ListedAgent, Store, Synced, Verdict};

impl Store {
    /// Takes up to `most` accounts whose legacy agents are to be asked for; each is this caller's for `lease`.
    pub fn take_due_syncs(
        &self,
        most: i64,
        lease: Duration,
        now: Timestamp,
    ) -> Answer<'_, Vec<AccountId>> {
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
    pub fn sync_legacy_agents(
        &self,
        account: AccountId,
        (listed, is_whole): (Vec<ListedAgent>, bool),
        (began, at, next): (Timestamp, Timestamp, Timestamp),
    ) -> Answer<'_, Synced> {
        keep!(self, |conn| {
            // One at a time, so that two of them never add the same agent.
            queries::locks::lock_account(conn, account).await?;
            let synced = queries::legacy::sync(conn, account, (listed, is_whole), at).await?;
            let of = (account, CredentialProvider::Legacy);
            queries::credentials::answered(conn, of, (began, next)).await?;
            Ok(synced)
        })
    }
}
