//! The list of agents.

use crate::prelude::*;

impl Store {
    /// A page of the account's agents, newest first, with one more than `limit` if there is a next page. The search for
    /// a text in their names runs in this order, so it stops when the page is full
    /// (docs/adr/0016-search-by-plain-rows.md).
    pub fn agents(
        &self,
        account: AccountId,
        filter: AgentFilter,
        after: Option<PageKey<AgentId>>,
        limit: i64,
    ) -> Answer<'_, Vec<Agent>> {
        let mut query = agents::table
            .filter(agents::account_id.eq(V(account)))
            .order((agents::created_at.desc(), agents::id.desc()))
            .limit(limit + 1)
            .select(Agent::as_select())
            .into_boxed::<Db>();
        if let Some(runtime) = filter.runtime {
            query = query.filter(unlikely(agents::runtime.eq(V(runtime))));
        }
        if let Some(status) = filter.status {
            query = query.filter(unlikely(agents::status.eq(V(status))));
        }
        if let Some(text) = filter.q.filter(|text| !text.is_empty()) {
            query = query.filter(agents::name_folded.like(contains(&text)).escape('\\'));
        }
        behind!(query, agents, after).read_all(self)
    }
}

/// A LIKE pattern in which `%`, `_` and `\` are ordinary characters.
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
