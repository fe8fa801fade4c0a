//! What agents remember of callers: the summaries of their earlier conversations.

use crate::prelude::*;

impl Store {
    /// When an agent's last conversations with a number since `since` began, and their summaries, newest first.
    pub fn earlier_summaries(
        &self,
        (account, agent): (AccountId, AgentId),
        phone: E164,
        since: Option<Timestamp>,
        most: i64,
    ) -> Answer<'_, Vec<(Timestamp, String)>> {
        read!(self, |conn| {
            let found: Vec<(Timestamp, Option<String>)> = calls::table
                .filter(calls::account_id.eq(V(account)))
                .filter(calls::customer_phone.eq(V(phone)))
                .filter(unlikely(calls::agent_id.eq(V(agent))))
                .filter(not(calls::forgotten))
                .filter(calls::summary.is_not_null().and(calls::summary.ne("")))
                .order((calls::started_at.desc(), calls::id.desc()))
                .limit(most)
                .select((calls::started_at, calls::summary))
                .into_boxed::<Db>()
                .when(since, |since| calls::started_at.ge(V(since)))
                .load(conn)
                .await?;
            let summaries = found.into_iter();
            Ok(summaries
                .filter_map(|(at, summary)| Some((at, summary?)))
                .collect())
        })
    }

    /// Leaves an agent's conversations with a number out of its memory; returns how many there were.
    pub fn forget_caller(
        &self,
        (account, agent): (AccountId, AgentId),
        phone: E164,
    ) -> Answer<'_, usize> {
        keep!(self, |conn| {
            Ok(diesel::update(calls::table)
                .filter(calls::account_id.eq(V(account)))
                .filter(calls::customer_phone.eq(V(phone)))
                .filter(unlikely(calls::agent_id.eq(V(agent))))
                .filter(not(calls::forgotten))
                .set(calls::forgotten.eq(true))
                .execute(conn)
                .await?)
        })
    }
}
