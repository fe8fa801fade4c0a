//! The list of agents.

use crate::database::RunQueryDsl;
use diesel::prelude::*;
use offhook_domain::{AccountId, AgentId, Timestamp};

use super::names;
use super::names::{Names, Stretch};
use super::pages::behind;
use crate::database::{Conn, Db};
use crate::dialect::unlikely;
use crate::schema::{agent_grams as grams, agents};
use crate::sql::V;
use crate::{Agent, AgentFilter, PageKey, Result};

/// One page behind `after`, newest first, with one row more than `limit` if there is a next page.
pub(crate) async fn page(
    conn: &mut Conn,
    account: AccountId,
    filter: &AgentFilter,
    after: Option<PageKey<AgentId>>,
    limit: i64,
) -> Result<Vec<Agent>> {
    if let Some(text) = filter.q.as_deref().filter(|text| !text.is_empty()) {
        let within = Within {
            account,
            filter,
            text,
        };
        return names::page(conn, &within, (account, text), after, limit).await;
    }
    let query = listed(account, filter)
        .limit(limit + 1)
        .select(Agent::as_select());
    Ok(behind!(query, agents, after).load(conn).await?)
}

/// The account's agents that the filters show, newest first, whatever their names are.
fn listed(account: AccountId, filter: &AgentFilter) -> agents::BoxedQuery<'static, Db> {
    let mut query = agents::table
        .filter(agents::account_id.eq(V(account)))
        .order((agents::created_at.desc(), agents::id.desc()))
        .into_boxed::<Db>();
    if let Some(runtime) = filter.runtime {
        query = query.filter(unlikely(agents::runtime.eq(V(runtime))));
    }
    if let Some(status) = filter.status {
        query = query.filter(unlikely(agents::status.eq(V(status))));
    }
    query
}

/// The account's agents with a text in their names.
struct Within<'a> {
    account: AccountId,
    filter: &'a AgentFilter,
    text: &'a str,
}

impl Names for Within<'_> {
    type Id = AgentId;
    type Row = Agent;
    const PIECES: &'static str = names::OF_AGENTS;

    fn is_filtered(&self) -> bool {
        self.filter.runtime.is_some() || self.filter.status.is_some()
    }

    async fn reach(&self, conn: &mut Conn, at: Timestamp, ahead: i64) -> Result<Option<Timestamp>> {
        Ok(listed(self.account, self.filter)
            .filter(agents::created_at.le(V(at)))
            .select(agents::created_at)
            .limit(1)
            .offset(ahead)
            .first(conn)
            .await
            .optional()?)
    }

    async fn rows(
        &self,
        conn: &mut Conn,
        along: Option<i64>,
        stretch: Stretch<AgentId>,
    ) -> Result<Vec<Agent>> {
        let has_text = agents::name_folded.like(contains(self.text)).escape('\\');
        let Some(gram) = along else {
            let mut query = listed(self.account, self.filter)
                .filter(has_text)
                .limit(stretch.most)
                .select(Agent::as_select());
            if let Some(since) = stretch.since {
                query = query.filter(agents::created_at.ge(V(since)));
            }
            return Ok(behind!(query, agents, stretch.after).load(conn).await?);
        };
        // The pieces are the account's own, and lead to its agents alone: with its number here too, the agents' own
        // indexes would seem to be a way.
        let mut query = grams::table
            .inner_join(agents::table.on(agents::id.eq(grams::id)))
            .filter(grams::account_id.eq(V(self.account)))
            .filter(grams::gram.eq(gram))
            .filter(has_text)
            .order((grams::created_at.desc(), grams::id.desc()))
            .limit(stretch.most)
            .select(Agent::as_select())
            .into_boxed::<Db>();
        if let Some(runtime) = self.filter.runtime {
            query = query.filter(agents::runtime.eq(V(runtime)));
        }
        if let Some(status) = self.filter.status {
            query = query.filter(agents::status.eq(V(status)));
        }
        if let Some(since) = stretch.since {
            query = query.filter(grams::created_at.ge(V(since)));
        }
        Ok(behind!(query, grams, stretch.after).load(conn).await?)
    }
}

/// A LIKE pattern in which `%`, `_` and `\` are ordinary characters (decision 1.12).
pub(super) fn contains(text: &str) -> String {
    let mut pattern = String::with_capacity(text.len() + 2);
    pattern.push('%');
    for character in text.chars() {
        if matches!(character, '%' | '_' | '\\') {
            pattern.push('\\');
        }
        pattern.push(character);
    }
    pattern.push('%');
    pattern
}
