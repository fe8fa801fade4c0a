//! The list of agents.

use crate::database::RunQueryDsl;
use diesel::prelude::*;
use offhook_domain::{AccountId, AgentId};

use super::pages::behind;
use crate::database::{Conn, Db};
use crate::dialect::unlikely;
use crate::schema::agents;
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
    let query = listed(account, filter)
        .limit(limit + 1)
        .select(Agent::as_select());
    Ok(behind!(query, agents, after).load(conn).await?)
}

/// The account's agents that the filters show, newest first. A text within their names is looked for in this order, so a
/// page ends where it is full (docs/adr/0016-search-by-plain-rows.md).
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
    if let Some(text) = filter.q.as_deref().filter(|text| !text.is_empty()) {
        let name = agents::name_folded;
        query = query.filter(name.like(contains(text)).escape('\\'));
    }
    query
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
