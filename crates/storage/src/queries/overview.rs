//! Live views. The number of rows that each query reads does not depend on the account's size.

use super::claims::is_claimed;
use crate::prelude::*;

impl Store {
    /// The measured latencies among the newest `most` calls since `since`.
    pub fn call_latencies(
        &self,
        account: AccountId,
        since: Timestamp,
        most: i64,
    ) -> Answer<'_, Vec<CallLatency>> {
        read!(self, |conn| {
            type Row = (Option<i32>, Option<i32>, Option<i32>);
            // The limit counts calls, measured or not: a filter on the latency would scan past all unmeasured ones.
            let rows: Vec<Row> = calls::table
                .filter(calls::account_id.eq(V(account)))
                .filter(calls::voice)
                .filter(calls::started_at.ge(V(since)))
                .order((calls::started_at.desc(), calls::id.desc()))
                .limit(most)
                .select((
                    calls::latency_turns,
                    calls::latency_p50_ms,
                    calls::latency_p95_ms,
                ))
                .load(conn)
                .await?;
            let measured = rows.into_iter().filter_map(|(turns, p50_ms, p95_ms)| {
                Some(CallLatency {
                    turns: turns.filter(|turns| *turns > 0)?,
                    p50_ms: p50_ms?,
                    p95_ms: p95_ms?,
                })
            });
            Ok(measured.collect())
        })
    }

    /// Up to `most` of the account's calls that are dialing, live or closing, newest first.
    pub fn calls_under_way(&self, account: AccountId, most: i64) -> Answer<'_, Vec<LiveCall>> {
        read!(self, |conn| {
            let newest = moments::conversation_id
                .eq(calls::id)
                .and(moments::seq.eq(calls::last_seq));
            let mut live: Vec<LiveCall> = calls::table
                .inner_join(agents::table)
                .left_join(moments::table.on(newest))
                .filter(calls::account_id.eq(V(account)))
                .filter(is_claimed())
                .select((
                    ConversationView::as_select(),
                    moments::role.nullable(),
                    moments::content.nullable(),
                    moments::at.nullable(),
                ))
                .load(conn)
                .await?;
            // With an ORDER BY, SQLite would scan all of the account's conversations; a plan has few live calls.
            live.sort_by_key(|call| {
                let conversation = &call.view.conversation;
                std::cmp::Reverse((conversation.started_at, conversation.id))
            });
            live.truncate(usize::try_from(most).unwrap_or(0));
            Ok(live)
        })
    }
}
