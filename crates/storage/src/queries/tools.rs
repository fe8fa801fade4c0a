//! Tools, and those that versions have pinned.

use crate::database::RunQueryDsl;
use crate::store::{Answer, keep, read};
use diesel::prelude::*;
use offhook_domain::{AccountId, AgentId, Timestamp, ToolId};

use super::pages::behind;
use crate::database::{Conn, Db};
use crate::schema::{agent_version_tools as pins, agents, tools};
use crate::sql::V;
use crate::{PageKey, Result, Store, ToolRow};

/// What sealed header values belong to, and they themselves.
pub(crate) type Sealed = Option<Vec<u8>>;

pub(crate) async fn count(conn: &mut Conn, account: AccountId) -> Result<i64> {
    Ok(tools::table
        .filter(tools::account_id.eq(V(account)))
        .count()
        .get_result(conn)
        .await?)
}

pub(crate) async fn insert(conn: &mut Conn, tool: ToolRow, headers: Sealed) -> Result<()> {
    diesel::insert_into(tools::table)
        .values((
            tools::id.eq(V(tool.id)),
            tools::account_id.eq(V(tool.account_id)),
            tools::name.eq(tool.name),
            tools::definition.eq(V(tool.definition)),
            tools::headers.eq(headers),
            tools::revision.eq(tool.revision),
            tools::created_at.eq(V(tool.created_at)),
            tools::updated_at.eq(V(tool.updated_at)),
        ))
        .run(conn)
        .await
}

pub(crate) async fn find(
    conn: &mut Conn,
    account: AccountId,
    id: ToolId,
) -> Result<Option<(ToolRow, Sealed)>> {
    Ok(tools::table
        .filter(tools::id.eq(V(id)).and(tools::account_id.eq(V(account))))
        .select((ToolRow::as_select(), tools::headers))
        .found(conn)
        .await?)
}

impl Store {
    /// A page of the account's tools, newest first, with one more than `limit` if there is a next page.
    pub fn tools(
        &self,
        account: AccountId,
        after: Option<PageKey<ToolId>>,
        limit: i64,
    ) -> Answer<'_, Vec<ToolRow>> {
        read!(self, |conn| {
            let query = tools::table
                .filter(tools::account_id.eq(V(account)))
                .order((tools::created_at.desc(), tools::id.desc()))
                .limit(limit + 1)
                .select(ToolRow::as_select())
                .into_boxed::<Db>();
            Ok(behind!(query, tools, after).load(conn).await?)
        })
    }

    /// Deletes a tool; `false` if there is no such one. What versions have pinned stays.
    pub fn delete_tool(&self, account: AccountId, id: ToolId) -> Answer<'_, bool> {
        keep!(self, |conn| {
            diesel::delete(tools::table)
                .filter(tools::id.eq(V(id)).and(tools::account_id.eq(V(account))))
                .changes(conn)
                .await
        })
    }

    /// Ids and names of those of `ids` that are tools of the account.
    pub fn known_tools(
        &self,
        account: AccountId,
        ids: Vec<ToolId>,
    ) -> Answer<'_, Vec<(ToolId, String)>> {
        read!(self, |conn| {
            Ok(tools::table
                .filter(tools::account_id.eq(V(account)))
                .filter(tools::id.eq_any(ids.iter().copied().map(V)))
                .select((tools::id, tools::name))
                .load(conn)
                .await?)
        })
    }
}

/// Applies a change made on `revision`; `false` if the tool has changed since, or is gone.
pub(crate) async fn change(
    conn: &mut Conn,
    (account, id, revision): (AccountId, ToolId, i32),
    (name, definition): (String, String),
    headers: Sealed,
    at: Timestamp,
) -> Result<bool> {
    diesel::update(tools::table)
        .filter(tools::id.eq(V(id)).and(tools::account_id.eq(V(account))))
        .filter(tools::revision.eq(revision))
        .set((
            tools::name.eq(name),
            tools::definition.eq(V(definition)),
            tools::headers.eq(headers),
            tools::revision.eq(revision + 1),
            tools::updated_at.eq(V(at)),
        ))
        .changes(conn)
        .await
}

/// Writes down the account's tools `ids` as they are now for a version that has none pinned; `false` if one of them is
/// gone.
pub(crate) async fn pin(
    conn: &mut Conn,
    account: AccountId,
    agent: AgentId,
    version: i32,
    ids: &[ToolId],
) -> Result<bool> {
    for (position, id) in (0..).zip(ids) {
        let Some((tool, headers)) = find(conn, account, *id).await? else {
            return Ok(false);
        };
        diesel::insert_into(pins::table)
            .values((
                pins::agent_id.eq(V(agent)),
                pins::version.eq(version),
                pins::position.eq(position),
                pins::tool_id.eq(V(tool.id)),
                pins::definition.eq(V(tool.definition)),
                pins::headers.eq(headers),
            ))
            .execute(conn)
            .await?;
    }
    Ok(true)
}

/// The tools that a version of the account's agent has pinned, in the configuration's order.
pub(crate) async fn pinned(
    conn: &mut Conn,
    account: AccountId,
    agent: AgentId,
    version: i32,
) -> Result<Vec<(ToolId, String, Sealed)>> {
    Ok(pins::table
        .inner_join(agents::table.on(agents::id.eq(pins::agent_id)))
        .filter(agents::account_id.eq(V(account)))
        .filter(pins::agent_id.eq(V(agent)).and(pins::version.eq(version)))
        .order(pins::position)
        .select((pins::tool_id, pins::definition, pins::headers))
        .load(conn)
        .await?)
}
