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
        let query = newest!(agents, Agent, account, limit)
            .when_is(agents::runtime, filter.runtime)
            .when_is(agents::status, filter.status)
            .when(filter.q.filter(|text| !text.is_empty()), |text| {
                agents::name_folded.like(contains(&text)).escape('\\')
            });
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
