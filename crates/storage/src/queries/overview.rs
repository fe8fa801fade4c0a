//! Live views. The number of rows that each query reads does not depend on the account's size.

use super::claims::is_claimed;
use crate::prelude::*;

/// The ids of the newest calls of a stretch, for a subquery.
macro_rules! newest_calls {
    ($account:expr, $stretch:expr, $most:expr) => {{
        let Stretch {
            agent,
            since,
            until,
        } = $stretch;
        calls::table
            .filter(calls::account_id.eq(V($account)))
            .filter(calls::voice)
            .filter(calls::started_at.ge(V(since)))
            .filter(calls::started_at.lt(V(until)))
            .order((calls::started_at.desc(), calls::id.desc()))
            .limit($most)
            .into_boxed()
            .when(agent, |agent| calls::agent_id.eq(V(agent)))
    }};
}

impl Store {
    /// The totals of a stretch by quarter of an hour, those without conversations left out, oldest first. It reads the
    /// stretch's part of an index by start and each of its rows once.
    pub fn quarters(&self, account: AccountId, stretch: Stretch) -> Answer<'_, Vec<Quarter>> {
        read!(self, |conn| {
            let seconds = Quarter::SECONDS;
            let quarter = match conn.db() {
                Db::Sqlite => format!("started_at / ({seconds} * 1000000)"),
                Db::Postgres => {
                    format!("CAST(floor(extract(epoch FROM started_at) / {seconds}) AS bigint)")
                }
            };
            let ended = "voice AND ended_at IS NOT NULL";
            let success = Outcome::AnsweredHuman.as_str();
            let query = format!(
                "SELECT {quarter} AS quarter, \
                   CAST(sum(CASE WHEN {ended} THEN 1 ELSE 0 END) AS bigint) AS calls, \
                   CAST(sum(CASE WHEN {ended} AND status = 'failed' THEN 1 ELSE 0 END) AS bigint) AS failed, \
                   CAST(sum(CASE WHEN {ended} AND outcome = '{success}' THEN 1 ELSE 0 END) AS bigint) AS answered, \
                   CAST(coalesce(sum(CASE WHEN {ended} AND outcome = '{success}' THEN duration_seconds END), 0) AS bigint) AS seconds, \
                   CAST(coalesce(sum(credits), 0) AS bigint) AS credits \
                 FROM conversations WHERE account_id = $1 AND started_at >= $2 AND started_at < $3"
            );
            let (by_agent, order) = (" AND agent_id = $4", " GROUP BY 1 ORDER BY 1");
            let bound = |query: String| {
                diesel::sql_query(query)
                    .bind::<sql::Uuid, _>(V(account))
                    .bind::<sql::Instant, _>(V(stretch.since))
                    .bind::<sql::Instant, _>(V(stretch.until))
            };
            Ok(match stretch.agent {
                None => bound(query + order).load(conn).await?,
                Some(agent) => {
                    let query = bound(query + by_agent + order);
                    query.bind::<sql::Uuid, _>(V(agent)).load(conn).await?
                }
            })
        })
    }

    /// What the ended conversations of a stretch have used, by agent and key. It reads as many rows as [`Store::quarters`].
    pub fn usage_shares(
        &self,
        account: AccountId,
        (since, until): (Timestamp, Timestamp),
    ) -> Answer<'_, Vec<UsageShare>> {
        let query = diesel::sql_query(
            "SELECT agent_id, key_id, CAST(count(*) AS bigint) AS conversations, \
               CAST(coalesce(sum(duration_seconds), 0) AS bigint) AS seconds, \
               CAST(coalesce(sum(credits), 0) AS bigint) AS credits \
             FROM conversations \
             WHERE account_id = $1 AND started_at >= $2 AND started_at < $3 AND ended_at IS NOT NULL \
             GROUP BY agent_id, key_id",
        );
        read!(self, |conn| {
            Ok(query
                .bind::<sql::Uuid, _>(V(account))
                .bind::<sql::Instant, _>(V(since))
                .bind::<sql::Instant, _>(V(until))
                .load(conn)
                .await?)
        })
    }

    /// Why calls of a stretch failed, and how many for each reason. It reads the failed ones alone.
    pub fn failures(
        &self,
        account: AccountId,
        Stretch {
            agent,
            since,
            until,
        }: Stretch,
    ) -> Answer<'_, Vec<(Option<FailureReason>, i64)>> {
        calls::table
            .filter(calls::account_id.eq(V(account)))
            .filter(calls::status.eq(V(ConversationStatus::Failed)))
            .filter(calls::voice)
            .filter(calls::started_at.ge(V(since)))
            .filter(calls::started_at.lt(V(until)))
            .group_by(calls::failure_reason)
            .select((calls::failure_reason, count_star()))
            .into_boxed()
            .when(agent, |agent| calls::agent_id.eq(V(agent)))
            .read_all(self)
    }

    /// The steps of each measured reply in the newest `most` calls of a stretch, as they were written down.
    pub fn reply_latencies(
        &self,
        account: AccountId,
        stretch: Stretch,
        most: i64,
    ) -> Answer<'_, Vec<String>> {
        read!(self, |conn| {
            let newest = newest_calls!(account, stretch, most);
            let ids: Vec<ConversationId> = newest.select(calls::id).load(conn).await?;
            let steps: Vec<Option<String>> = moments::table
                .filter(moments::conversation_id.eq_any(ids.into_iter().map(V)))
                .filter(moments::latency.is_not_null())
                .select(moments::latency)
                .load(conn)
                .await?;
            Ok(steps.into_iter().flatten().collect())
        })
    }

    /// The measured latencies among the newest `most` calls of a stretch.
    pub fn call_latencies(
        &self,
        account: AccountId,
        stretch: Stretch,
        most: i64,
    ) -> Answer<'_, Vec<CallLatency>> {
        read!(self, |conn| {
            type Row = (Option<i32>, Option<i32>, Option<i32>);
            // The limit counts calls, measured or not: a filter on the latency would scan past all unmeasured ones.
            let rows: Vec<Row> = newest_calls!(account, stretch, most)
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
