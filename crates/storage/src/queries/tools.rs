//! Tools, and those that versions have pinned.

use crate::prelude::*;
use crate::schema::agent_version_tools as pins;

/// A tool of the account, with its sealed header values.
async fn find(
    conn: &mut Conn,
    account: AccountId,
    id: ToolId,
) -> Result<Option<(ToolRow, Option<Vec<u8>>)>> {
    Ok(tools::table
        .filter(tools::id.eq(V(id)).and(tools::account_id.eq(V(account))))
        .select((ToolRow::as_select(), tools::headers))
        .found(conn)
        .await?)
}

pub(crate) async fn insert(conn: &mut Conn, tool: ToolRow, headers: Option<Vec<u8>>) -> Result<()> {
    insert! {
        conn, tools of tool: id, account_id, name, definition, headers = headers, revision,
        created_at, updated_at
    }
}

/// Pins these tools of the account for a version without pinned tools. `false` if one of them has changed or is gone.
pub(crate) async fn pin(
    conn: &mut Conn,
    account: AccountId,
    agent: AgentId,
    version: i32,
    tools: &[ToolToPin],
) -> Result<bool> {
    for (position, tool) in (0..).zip(tools) {
        let found = find(conn, account, tool.id).await?;
        let (_, headers) = some_or!(
            found.filter(|(now, _)| now.revision == tool.revision),
            false
        );
        insert! {
            conn, pins: agent_id = agent, version, position, tool_id = tool.id,
            definition = &tool.definition, headers
        }?;
    }
    Ok(true)
}

#[boxed]
impl Store {
    fn seal_headers(&self, tool: ToolId, headers: Option<&str>) -> Result<Option<Vec<u8>>> {
        headers
            .map(|headers| self.master_key.seal(headers, &tool.uuid()))
            .transpose()
    }

    fn open_headers(&self, tool: ToolId, sealed: Option<Vec<u8>>) -> Result<Option<String>> {
        sealed
            .map(|sealed| self.master_key.open(&sealed, &tool.uuid()))
            .transpose()
    }

    /// The account's agents whose published versions have tools, by name, each with a tool.
    pub fn tool_users(&self, account: AccountId) -> Answer<'_, Vec<(ToolId, PinningAgent)>> {
        agents::table
            .inner_join(pins::table.on(pins::agent_id.eq(agents::id)))
            .filter(pins::version.eq(agents::published_version))
            .filter(agents::account_id.eq(V(account)))
            .order((agents::name_folded, agents::id))
            .select((pins::tool_id, (agents::id, agents::name)))
            .read_all(self)
    }

    /// Creates a tool with the values of its headers, in any form; `false` if the account has `most` already.
    /// `StoreError::Conflict` if the name is taken.
    pub async fn create_tool(
        &self,
        tool: ToolRow,
        headers: Option<&str>,
        most: i64,
    ) -> Result<bool> {
        let headers = self.seal_headers(tool.id, headers)?;
        transact!(self, |conn| {
            // The lock on the account serializes creations for one account.
            locks::lock_account(conn, tool.account_id).await?;
            let made: i64 = tools::table
                .filter(tools::account_id.eq(V(tool.account_id)))
                .counted(conn)
                .await?;
            ensure!(made < most, Rollback(false));
            insert(conn, tool, headers).await?;
            Ok(Commit(true))
        })
        .await
    }

    /// A page of the account's tools, newest first, with one more than `limit` if there is a next page.
    pub fn tools(
        &self,
        account: AccountId,
        after: Option<PageKey<ToolId>>,
        limit: i64,
    ) -> Answer<'_, Vec<ToolRow>> {
        let query = newest!(tools, ToolRow, account, limit);
        behind!(query, tools, after).read_all(self)
    }

    pub fn tool(&self, account: AccountId, id: ToolId) -> Answer<'_, Option<ToolRow>> {
        read!(self, |conn| {
            let found = find(conn, account, id).await?;
            Ok(found.map(|(tool, _)| tool))
        })
    }

    /// A tool of the account with the values of its headers, in the form in which they were given.
    /// `StoreError::Corrupt` if they cannot be opened.
    pub async fn tool_with_headers(
        &self,
        account: AccountId,
        id: ToolId,
    ) -> Result<Option<(ToolRow, Option<String>)>> {
        let found = read!(self, |conn| find(conn, account, id).await).await?;
        let (tool, sealed) = some_or!(found, None);
        let headers = self.open_headers(tool.id, sealed)?;
        Ok(Some((tool, headers)))
    }

    /// Changes a tool; `None` if its revision is no longer the one that the change is based on. Pinned tools of
    /// versions stay as they are. `StoreError::Conflict` if the name is taken.
    pub async fn change_tool(
        &self,
        account: AccountId,
        id: ToolId,
        change: ToolChange,
    ) -> Result<Option<ToolRow>> {
        let headers = self.seal_headers(id, change.headers.as_deref())?;
        transact!(self, |conn| {
            let is_changed = diesel::update(tools::table)
                .filter(tools::id.eq(V(id)).and(tools::account_id.eq(V(account))))
                .filter(tools::revision.eq(change.revision))
                .set((
                    row! { tools of change: name, definition, headers = headers },
                    tools::revision.eq(change.revision + 1),
                    tools::updated_at.eq(V(change.at)),
                ))
                .changes(conn)
                .await?;
            ensure!(is_changed, Rollback(None));
            let changed = find(conn, account, id).await?;
            Ok(Commit(changed.map(|(tool, _)| tool)))
        })
        .await
    }

    /// Deletes a tool; `false` if it does not exist. Pinned tools of versions stay.
    pub fn delete_tool(&self, account: AccountId, id: ToolId) -> Answer<'_, bool> {
        diesel::delete(tools::table)
            .filter(tools::id.eq(V(id)).and(tools::account_id.eq(V(account))))
            .commit_change(self)
    }

    /// Filters `ids` to the account's tools, with their names.
    pub fn known_tools(
        &self,
        account: AccountId,
        ids: Vec<ToolId>,
    ) -> Answer<'_, Vec<(ToolId, String)>> {
        tools::table
            .filter(tools::account_id.eq(V(account)))
            .filter(tools::id.eq_any(ids.into_iter().map(V)))
            .select((tools::id, tools::name))
            .read_all(self)
    }

    /// The tools that a version of the account's agent has pinned, in the configuration's order. `StoreError::Corrupt`
    /// if a header's value cannot be opened.
    pub async fn pinned_tools(
        &self,
        account: AccountId,
        agent: AgentId,
        version: i32,
    ) -> Result<Vec<PinnedTool>> {
        let pinned: Vec<(ToolId, String, Option<Vec<u8>>)> = pins::table
            .inner_join(agents::table.on(agents::id.eq(pins::agent_id)))
            .filter(agents::account_id.eq(V(account)))
            .filter(pins::agent_id.eq(V(agent)).and(pins::version.eq(version)))
            .order(pins::position)
            .select((pins::tool_id, pins::definition, pins::headers))
            .read_all(self)
            .await?;
        let open = |(id, definition, sealed)| {
            let headers = self.open_headers(id, sealed)?;
            Ok(PinnedTool {
                id,
                definition,
                headers,
            })
        };
        pinned.into_iter().map(open).collect()
    }
}
