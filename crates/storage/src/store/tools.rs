//! Tools.

use async_recursion::async_recursion as boxed;
use offhook_domain::{AccountId, AgentId, ToolId};

use super::{read, write};
use crate::queries;
use crate::{PinnedTool, Result, Store, ToolChange, ToolRow, Verdict};

impl Store {
    /// Makes a tool with the values of its headers, in any form; `false` if the account has `most` already.
    ///
    /// # Errors
    /// `StoreError::Conflict` if the name is taken.
    #[boxed]
    pub async fn create_tool(
        &self,
        tool: ToolRow,
        headers: Option<&str>,
        most: i64,
    ) -> Result<bool> {
        let headers = self.seal_headers(tool.id, headers)?;
        write!(self, |conn| {
            // The account's row keeps two creations of one account apart.
            queries::locks::lock_account(conn, tool.account_id).await?;
            if queries::tools::count(conn, tool.account_id).await? >= most {
                return Ok(Verdict::Rollback(false));
            }
            queries::tools::insert(conn, tool, headers).await?;
            Ok(Verdict::Commit(true))
        })
        .await
    }

    fn seal_headers(&self, tool: ToolId, headers: Option<&str>) -> Result<Option<Vec<u8>>> {
        headers
            .map(|headers| self.master_key.seal(headers, &tool.uuid()))
            .transpose()
    }

    fn open_headers(&self, tool: ToolId, sealed: Option<&[u8]>) -> Result<Option<String>> {
        sealed
            .map(|sealed| self.master_key.open(sealed, &tool.uuid()))
            .transpose()
    }

    /// A tool of the account.
    #[boxed]
    pub async fn tool(&self, account: AccountId, id: ToolId) -> Result<Option<ToolRow>> {
        let found = read!(self, |conn| queries::tools::find(conn, account, id).await).await?;
        Ok(found.map(|(tool, _)| tool))
    }

    /// A tool of the account with the values of its headers, in the form in which they were given.
    ///
    /// # Errors
    /// `StoreError::Corrupt` if they do not open.
    #[boxed]
    pub async fn tool_with_headers(
        &self,
        account: AccountId,
        id: ToolId,
    ) -> Result<Option<(ToolRow, Option<String>)>> {
        let found = read!(self, |conn| queries::tools::find(conn, account, id).await).await?;
        let Some((tool, sealed)) = found else {
            return Ok(None);
        };
        let headers = self.open_headers(tool.id, sealed.as_deref())?;
        Ok(Some((tool, headers)))
    }

    /// Changes a tool if its revision is still the one that the change was made on; `None` if not. What versions have
    /// pinned stays as it is.
    ///
    /// # Errors
    /// `StoreError::Conflict` if the name is taken.
    #[boxed]
    pub async fn change_tool(
        &self,
        account: AccountId,
        id: ToolId,
        change: ToolChange,
    ) -> Result<Option<ToolRow>> {
        let headers = self.seal_headers(id, change.headers.as_deref())?;
        write!(self, |conn| {
            let key = (account, id, change.revision);
            let text = (change.name, change.definition);
            if !queries::tools::change(conn, key, text, headers, change.at).await? {
                return Ok(Verdict::Rollback(None));
            }
            let changed = queries::tools::find(conn, account, id).await?;
            Ok(Verdict::Commit(changed.map(|(tool, _)| tool)))
        })
        .await
    }

    /// The tools that a version of the account's agent has pinned, in the configuration's order.
    ///
    /// # Errors
    /// `StoreError::Corrupt` if a header's value does
    /// not open.
    #[boxed]
    pub async fn pinned_tools(
        &self,
        account: AccountId,
        agent: AgentId,
        version: i32,
    ) -> Result<Vec<PinnedTool>> {
        let pinned = read!(self, |conn| queries::tools::pinned(
            conn, account, agent, version
        )
        .await)
        .await?;
        let open = |(id, definition, sealed): (ToolId, String, Option<Vec<u8>>)| {
            Ok(PinnedTool {
                id,
                definition,
                headers: self.open_headers(id, sealed.as_deref())?,
            })
        };
        pinned.into_iter().map(open).collect()
    }
}
