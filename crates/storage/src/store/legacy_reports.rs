//! What the provider of the legacy agents has told of its own accord, and what it calls the calls that it was given.

use std::time::Duration;

use offhook_domain::{AccountId, ClaimId, ConversationId, FailureReason, Timestamp};

use super::{Answer, keep, read, write};
use crate::queries;
use crate::{Fenced, LegacyReport, Store, Verdict};

/// How long a report is remembered: much longer than one that comes again is believed.
const KEPT: Duration = Duration::from_secs(24 * 3_600);

/// Reports that are deleted in one transaction.
const AT_MOST: i64 = 1_000;

impl Store {
    /// Writes a report down, once however often it comes, and says which of the account's calls it is about: the one that it
    /// names, or the one under way that the provider calls so. `None` if there is none, as when the call's own process does
    /// not know yet what it is called there.
    pub fn take_legacy_report(
        &self,
        account: AccountId,
        report: &LegacyReport,
        at: Timestamp,
    ) -> Answer<'_, Option<ConversationId>> {
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
    pub fn legacy_failure(
        &self,
        account: AccountId,
        id: ConversationId,
        provider_call_id: Option<&str>,
    ) -> Answer<'_, Option<FailureReason>> {
        let name = provider_call_id.map(str::to_owned);
        read!(self, |conn| queries::legacy_reports::failure(
            conn,
            account,
            id,
            name.as_deref()
        )
        .await)
    }

    /// Remembers what the provider calls a call, for whoever goes on with it.
    pub fn name_legacy_call(
        &self,
        id: ConversationId,
        claim: ClaimId,
        provider_call_id: &str,
    ) -> Answer<'_, Fenced> {
        let name = provider_call_id.to_owned();
        keep!(self, |conn| queries::legacy_reports::name_call(
            conn, id, claim, &name
        )
        .await)
    }

    /// Deletes reports that are older than a day: `true` if there may be more.
    pub fn delete_old_legacy_reports(&self, now: Timestamp) -> Answer<'_, bool> {
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
