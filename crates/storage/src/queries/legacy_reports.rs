//! Reports that the provider of the legacy agents sends on its own, and the provider's ids of the calls.

use super::{
    calls::{Row, queued},
    claims::{self, is_claimed},
    moments::said,
};
use crate::prelude::*;
use crate::schema::legacy_reports as reports;

/// How long a report is kept: much longer than a repeated report is accepted.
const KEPT: Duration = Duration::from_secs(24 * 3_600);

/// Reports deleted per transaction.
const AT_MOST: i64 = 1_000;

/// An account's conversations at the provider.
macro_rules! of_legacy {
    ($account:expr) => {
        calls::table
            .filter(calls::account_id.eq(V($account)))
            .filter(calls::runtime.eq(V(Runtime::Legacy)))
    };
}

#[boxed]
impl Store {
    /// Stores a report, once even if it comes repeatedly. Returns which of the account's calls it concerns: the one
    /// that it names, or the call in progress with the provider's id. `None` if there is none, for example when the
    /// call's own process does not know the provider's id yet.
    pub fn take_legacy_report(
        &self,
        account: AccountId,
        report: &LegacyReport,
        at: Timestamp,
    ) -> Answer<'_, Option<ConversationId>> {
        let report = report.clone();
        transact!(self, |conn| {
            let legacy = of_legacy!(account).select(calls::id);
            let call: Option<ConversationId> = match report.conversation {
                Some(id) => legacy.filter(calls::id.eq(V(id))).found(conn).await?,
                None => {
                    let named = calls::dialog.eq(&report.provider_call_id);
                    legacy
                        .filter(is_claimed())
                        .filter(named)
                        .found(conn)
                        .await?
                }
            };
            let is_new = insert_new! {
                conn, reports: account_id = account, provider_call_id = &report.provider_call_id,
                kind = report.kind(), conversation_id = call, failure_reason = report.failure,
                received_at = at
            }?;
            Ok(Verdict::keep_if(is_new, call))
        })
    }

    /// Filters `ids` to the conversations at the provider that the account does not have, among those that began at or
    /// after `since`.
    pub fn unknown_legacy(
        &self,
        account: AccountId,
        since: Timestamp,
        mut ids: Vec<String>,
    ) -> Answer<'_, Vec<String>> {
        read!(self, |conn| {
            let known: Vec<Option<String>> = of_legacy!(account)
                .filter(calls::started_at.ge(V(since)))
                .filter(calls::dialog.eq_any(ids.iter().map(Some)))
                .select(calls::dialog)
                .load(conn)
                .await?;
            ids.retain(|id| !known.contains(&Some(id.clone())));
            Ok(ids)
        })
    }

    /// Stores and claims a conversation that the provider handled on its own. `None` if the account has it already or
    /// does not have its agent. It costs nothing here.
    pub async fn take_legacy_conversation(
        &self,
        found: FoundConversation,
    ) -> Result<Option<Conversation>> {
        let offset = self.offset();
        transact!(self, |conn| {
            let lease = dialect!(conn, lease_clock(offset))?.plus(lease());
            let (id, account) = (found.id, found.account_id);
            // Two nodes that received the report are serialized here.
            locks::lock_account(conn, account).await?;
            let known: Option<ConversationId> = of_legacy!(account)
                .filter(calls::started_at.ge(V(found.began_at.minus(KEPT))))
                .filter(calls::dialog.eq(&found.provider_call_id))
                .select(calls::id)
                .found(conn)
                .await?;
            let agent: Option<AgentId> = agents::table
                .filter(agents::account_id.eq(V(account)))
                .filter(agents::provider_agent_id.eq(&found.provider_agent_id))
                .select(agents::id)
                .found(conn)
                .await?;
            let (None, Some(agent)) = (known, agent) else {
                return Ok(Rollback(None));
            };
            let row = Row {
                id,
                account_id: account,
                agent_id: agent,
                agent_ref: found.provider_agent_id,
                agent_version: 0,
                key_id: None,
                runtime: Runtime::Legacy,
                channel: found.channel,
                from: found.from,
                to: found.to,
                customer: found.customer,
                metadata: "{}".to_owned(),
                price: Price::default(),
                at: found.began_at,
                steady: found.steady,
                dialog: Some(found.provider_call_id),
                simulated: false,
                consent: None,
                campaign: None,
            };
            queued(conn.db(), row).execute(conn).await?;
            let claim = (id, mint(found.at));
            let claimed = claims::claim_one(conn, claim, (found.at, lease), found.node).await?;
            Ok(Verdict::keep_if(claimed.is_some(), claimed))
        })
        .await
    }

    /// The reason why a call never began, if the provider has reported one.
    pub fn legacy_failure(
        &self,
        account: AccountId,
        id: ConversationId,
        provider_call_id: Option<&str>,
    ) -> Answer<'_, Option<FailureReason>> {
        let name = provider_call_id.map(str::to_owned);
        read!(self, |conn| {
            let failures = reports::table
                .filter(reports::account_id.eq(V(account)))
                .filter(reports::failure_reason.is_not_null())
                .select(reports::failure_reason);
            let by_call: Option<Option<FailureReason>> = failures
                .filter(reports::conversation_id.eq(Some(id)))
                .found(conn)
                .await?;
            let (None | Some(None), Some(name)) = (by_call, name) else {
                return Ok(by_call.flatten());
            };
            let by_name: Option<Option<FailureReason>> = failures
                .filter(reports::provider_call_id.eq(name))
                .found(conn)
                .await?;
            Ok(by_name.flatten())
        })
    }

    /// The provider's id of a call that, according to its report, took place. `None` without such a report.
    pub fn legacy_call_reported(
        &self,
        account: AccountId,
        id: ConversationId,
    ) -> Answer<'_, Option<String>> {
        reports::table
            .filter(reports::conversation_id.eq(Some(id)))
            .filter(reports::account_id.eq(V(account)))
            .filter(reports::failure_reason.is_null())
            .order(reports::received_at)
            .select(reports::provider_call_id)
            .read_first(self)
    }

    /// Replaces the turns of a live call, in one transaction.
    pub fn replace_turns(
        &self,
        id: ConversationId,
        claim: ClaimId,
        turns: Vec<NewTurn>,
    ) -> Answer<'_, Fenced> {
        keep!(self, |conn| {
            let spoken = turns.iter().filter(|turn| turn.role != "tool").count();
            let last: Option<i32> = diesel::update(calls::table.find(V(id)))
                .filter(calls::state.eq(V(CallState::Live)))
                .filter(calls::claim_id.eq(Some(claim)))
                .set(calls::messages_count.eq(i32::try_from(spoken).unwrap_or(i32::MAX)))
                .returning(calls::last_seq)
                .returned(conn)
                .await?;
            let last = some_or!(last, Fenced::Lost);
            let mut places: Vec<i32> = moments::table
                .filter(moments::conversation_id.eq(V(id)))
                .filter(moments::role.is_not_null())
                .order(moments::seq)
                .select(moments::seq)
                .load(conn)
                .await?;
            diesel::delete(moments::table)
                .filter(moments::conversation_id.eq(V(id)))
                .filter(moments::role.is_not_null())
                .execute(conn)
                .await?;
            let more = turns.len().saturating_sub(places.len());
            let end = last.saturating_add(i32::try_from(more).unwrap_or(i32::MAX));
            places.extend(last.saturating_add(1)..=end);
            diesel::update(calls::table.find(V(id)))
                .set(calls::last_seq.eq(end))
                .execute(conn)
                .await?;
            for (seq, turn) in places.into_iter().zip(turns) {
                said(conn, id, seq, turn).await?;
            }
            Ok(Fenced::Done)
        })
    }

    /// Stores the provider's id of a call, for the next process that continues it.
    pub fn name_legacy_call(
        &self,
        id: ConversationId,
        claim: ClaimId,
        provider_call_id: &str,
    ) -> Answer<'_, Fenced> {
        let name = provider_call_id.to_owned();
        keep!(self, |conn| {
            let is_written = diesel::update(calls::table.find(V(id)))
                .filter(calls::state.eq_any([CallState::Dialing, CallState::Live].map(V)))
                .filter(calls::claim_id.eq(Some(claim)))
                .set(calls::dialog.eq(name))
                .changes(conn)
                .await?;
            Ok(Fenced::of(is_written))
        })
    }

    /// Deletes reports that are older than a day. Returns `true` if there may be more.
    pub fn delete_old_legacy_reports(&self, now: Timestamp) -> Answer<'_, bool> {
        transact!(self, |conn| {
            let old: Vec<Timestamp> = reports::table
                .filter(reports::received_at.lt(V(now.minus(KEPT))))
                .order(reports::received_at)
                .limit(AT_MOST)
                .select(reports::received_at)
                .load(conn)
                .await?;
            let last = some_or!(old.last(), Rollback(false));
            let is_deleted = diesel::delete(reports::table)
                .filter(reports::received_at.le(V(*last)))
                .changes(conn)
                .await?;
            Ok(Verdict::keep_if(is_deleted, is_deleted))
        })
    }
}
