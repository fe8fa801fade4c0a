//! What the provider of the legacy agents has told of its own accord, and what it calls the calls that it was given.

use async_recursion::async_recursion as boxed;
use std::time::Duration;

use offhook_domain::{AccountId, ClaimId, ConversationId, FailureReason, Timestamp};

use super::{read, write};
use crate::queries;
use crate::{Fenced, LegacyReport, NewTurn, Result, Store, Verdict};

/// How long a report is remembered: much longer than one that comes again is believed.
const KEPT: Duration = Duration::from_secs(24 * 3_600);

/// Reports that are deleted in one transaction.
const AT_MOST: i64 = 1_000;

impl Store {
    /// Writes a report down, once however often it comes, and says which of the account's calls it is about: the one that it
    /// names, or the one under way that the provider calls so. `None` if there is none, as when the call's own process does
    /// not know yet what it is called there.
    #[boxed]
    pub async fn take_legacy_report(
        &self,
        account: AccountId,
        report: &LegacyReport,
        at: Timestamp,
    ) -> Result<Option<ConversationId>> {
        let report = report.clone();
        write!(self, |conn| {
            let call = queries::legacy_reports::call_of(conn, account, &report).await?;
            let is_new = queries::legacy_reports::insert(conn, account, &report, call, at).await?;
            Ok(if is_new {
                Verdict::Commit(call)
            } else {
                Verdict::Rollback(call)
            })
        })
    }

    /// Why the provider has reported that it never began a call, if it has.
    #[boxed]
    pub async fn legacy_failure(
        &self,
        account: AccountId,
        id: ConversationId,
        provider_call_id: Option<&str>,
    ) -> Result<Option<FailureReason>> {
        let name = provider_call_id.map(str::to_owned);
        read!(self, |conn| queries::legacy_reports::failure(
            conn,
            account,
            id,
            name.as_deref()
        )
        .await)
    }

    /// What the provider calls a call of which it has reported that it took place; `None` if it has not.
    #[boxed]
    pub async fn legacy_call_reported(
        &self,
        account: AccountId,
        id: ConversationId,
    ) -> Result<Option<String>> {
        read!(self, |conn| queries::legacy_reports::called(
            conn, account, id
        )
        .await)
    }

    /// Remembers what the provider calls a call, for whoever goes on with it.
    #[boxed]
    pub async fn name_legacy_call(
        &self,
        id: ConversationId,
        claim: ClaimId,
        provider_call_id: &str,
    ) -> Result<Fenced> {
        let name = provider_call_id.to_owned();
        write!(self, |conn| Ok(Verdict::Commit(
            queries::legacy_reports::name_call(conn, id, claim, &name).await?
        )))
    }

    /// Replaces what was said in a live call, in one transaction.
    #[boxed]
    pub async fn replace_turns(
        &self,
        id: ConversationId,
        claim: ClaimId,
        turns: Vec<NewTurn>,
    ) -> Result<Fenced> {
        write!(self, |conn| Ok(Verdict::Commit(
            queries::legacy_reports::replace_turns(conn, id, claim, turns).await?
        )))
    }

    /// Deletes reports that are older than a day: `true` if there may be more.
    #[boxed]
    pub async fn delete_old_legacy_reports(&self, now: Timestamp) -> Result<bool> {
        let before = now.minus(KEPT);
        write!(self, |conn| {
            let deleted = queries::legacy_reports::delete(conn, before, AT_MOST).await?;
            Ok(match deleted {
                0 => Verdict::Rollback(false),
                _ => Verdict::Commit(true),
            })
        })
    }
}
