//! What the provider of the legacy agents has told of its own accord.

use crate::database::RunQueryDsl;
use crate::store::{Answer, keep, read};
use diesel::prelude::*;
use offhook_domain::{
    AccountId, CallState, ClaimId, ConversationId, FailureReason, Runtime, Timestamp,
};

use super::claims::is_claimed;
use crate::database::Conn;
use crate::schema::{
    conversation_moments as moments, conversations as calls, legacy_reports as reports,
};
use crate::sql::V;
use crate::{Fenced, LegacyReport, NewTurn, Result, Store};

/// Writes a report; `false` if it was there already.
pub(crate) async fn insert(
    conn: &mut Conn,
    account: AccountId,
    report: &LegacyReport,
    conversation: Option<ConversationId>,
    at: Timestamp,
) -> Result<bool> {
    diesel::insert_into(reports::table)
        .values((
            reports::account_id.eq(V(account)),
            reports::provider_call_id.eq(&report.provider_call_id),
            reports::kind.eq(report.kind()),
            reports::conversation_id.eq(conversation),
            reports::failure_reason.eq(report.failure),
            reports::received_at.eq(V(at)),
        ))
        .on_conflict_do_nothing()
        .changes(conn)
        .await
}

/// The account's legacy call of this id, or else the one under way that the provider calls so.
pub(crate) async fn call_of(
    conn: &mut Conn,
    account: AccountId,
    report: &LegacyReport,
) -> Result<Option<ConversationId>> {
    if let Some(id) = report.conversation {
        return Ok(calls::table
            .find(V(id))
            .filter(calls::account_id.eq(V(account)))
            .filter(calls::runtime.eq(V(Runtime::Legacy)))
            .select(calls::id)
            .found(conn)
            .await?);
    }
    Ok(calls::table
        .filter(calls::account_id.eq(V(account)))
        .filter(is_claimed())
        .filter(calls::dialog.eq(&report.provider_call_id))
        .filter(calls::runtime.eq(V(Runtime::Legacy)))
        .select(calls::id)
        .found(conn)
        .await?)
}

/// Why the provider says that a call was never begun, if it does.
pub(crate) async fn failure(
    conn: &mut Conn,
    account: AccountId,
    id: ConversationId,
    provider_call_id: Option<&str>,
) -> Result<Option<FailureReason>> {
    let by_call: Option<Option<FailureReason>> = reports::table
        .filter(reports::conversation_id.eq(V(id)))
        .filter(reports::account_id.eq(V(account)))
        .filter(reports::failure_reason.is_not_null())
        .select(reports::failure_reason)
        .found(conn)
        .await?;
    if let Some(Some(reason)) = by_call {
        return Ok(Some(reason));
    }
    let Some(provider_call_id) = provider_call_id else {
        return Ok(None);
    };
    let by_name: Option<Option<FailureReason>> = reports::table
        .filter(reports::account_id.eq(V(account)))
        .filter(reports::provider_call_id.eq(provider_call_id))
        .filter(reports::failure_reason.is_not_null())
        .select(reports::failure_reason)
        .found(conn)
        .await?;
    Ok(by_name.flatten())
}

impl Store {
    /// What the provider calls a call of which it has reported that it took place; `None` if it has not.
    pub fn legacy_call_reported(
        &self,
        account: AccountId,
        id: ConversationId,
    ) -> Answer<'_, Option<String>> {
        read!(self, |conn| {
            Ok(reports::table
                .filter(reports::conversation_id.eq(V(id)))
                .filter(reports::account_id.eq(V(account)))
                .filter(reports::failure_reason.is_null())
                .order(reports::received_at)
                .select(reports::provider_call_id)
                .found(conn)
                .await?)
        })
    }

    /// Replaces what was said in a live call, in one transaction.
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
                .filter(calls::claim_id.eq(V(claim)))
                .set(calls::messages_count.eq(i32::try_from(spoken).unwrap_or(i32::MAX)))
                .returning(calls::last_seq)
                .get_result(conn)
                .await
                .optional()?;
            let Some(last) = last else {
                return Ok(Fenced::Lost);
            };
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
                super::moments::said(conn, id, seq, turn).await?;
            }
            Ok(Fenced::Done)
        })
    }
}

/// Deletes up to `most` reports from before `before`.
pub(crate) async fn delete(conn: &mut Conn, before: Timestamp, most: i64) -> Result<usize> {
    let old: Vec<Timestamp> = reports::table
        .filter(reports::received_at.lt(V(before)))
        .order(reports::received_at)
        .limit(most)
        .select(reports::received_at)
        .load(conn)
        .await?;
    let Some(last) = old.last() else {
        return Ok(0);
    };
    let deleted = diesel::delete(reports::table)
        .filter(reports::received_at.le(V(*last)))
        .execute(conn)
        .await?;
    Ok(deleted)
}

/// Remembers what the provider calls a call, for whoever goes on with it.
pub(crate) async fn name_call(
    conn: &mut Conn,
    id: ConversationId,
    claim: ClaimId,
    provider_call_id: &str,
) -> Result<Fenced> {
    let written = diesel::update(calls::table.find(V(id)))
        .filter(calls::state.eq_any([CallState::Dialing, CallState::Live].map(V)))
        .filter(calls::claim_id.eq(V(claim)))
        .set(calls::dialog.eq(provider_call_id))
        .execute(conn)
        .await?;
    Ok(if written > 0 {
        Fenced::Done
    } else {
        Fenced::Lost
    })
}
