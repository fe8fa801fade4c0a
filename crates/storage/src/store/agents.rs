//! Agents.

use async_recursion::async_recursion as boxed;
use offhook_domain::{AccountId, AgentId, AgentStatus, E164, Timestamp};

use super::{Answer, keep, read, write};
use crate::queries;
use crate::{
    Agent, AgentChange, AgentFilter, AgentRef, AgentVersion, Lines, NewAgent, PageKey, Publication,
    Result, Store, Verdict,
};

impl Store {
    /// Makes an agent.
    pub fn create_agent(&self, new: NewAgent) -> Answer<'_, ()> {
        keep!(self, |conn| queries::agents::insert(conn, new).await)
    }

    /// An agent of the account.
    pub fn agent(&self, account: AccountId, id: AgentId) -> Answer<'_, Option<Agent>> {
        read!(self, |conn| queries::agents::find(conn, account, id).await)
    }

    /// An agent of the account with the configuration of `version`, or of its head.
    pub fn agent_with_config(
        &self,
        account: AccountId,
        id: AgentId,
        version: Option<i32>,
    ) -> Answer<'_, Option<(Agent, Option<String>)>> {
        read!(self, |conn| {
            let Some(agent) = queries::agents::find(conn, account, id).await? else {
                return Ok(None);
            };
            let version = version.unwrap_or(agent.head_version);
            let config = queries::agents::config(conn, id, version).await?;
            Ok(Some((agent, config)))
        })
    }

    /// An agent with its published configuration, as JSON text, and the number that its calls are placed from: its own
    /// oldest, else the account's oldest that its runtime can call from.
    #[boxed]
    pub async fn agent_to_call(
        &self,
        account: AccountId,
        reference: AgentRef,
        lines: Lines,
    ) -> Result<Option<(Agent, Option<String>, Option<E164>)>> {
        read!(self, |conn| queries::agents::to_call(
            conn, account, &reference, lines
        )
        .await)
        .await
    }

    /// A page of the account's agents, newest first, with one more than `limit` if there is a next page.
    pub fn agents(
        &self,
        account: AccountId,
        filter: AgentFilter,
        after: Option<PageKey<AgentId>>,
        limit: i64,
    ) -> Answer<'_, Vec<Agent>> {
        read!(self, |conn| queries::agent_pages::page(
            conn, account, &filter, after, limit
        )
        .await)
    }

    /// Changes an agent if its head (and status, if that changes) is still the one that the change was made on;
    /// `None` if not.
    pub fn change_agent(
        &self,
        account: AccountId,
        id: AgentId,
        change: AgentChange,
    ) -> Answer<'_, Option<(Agent, Option<String>)>> {
        write!(self, |conn| {
            let (at, next) = (change.at, change.status.map(|(_, next)| next));
            if !queries::agents::change(conn, account, id, change).await? {
                return Ok(Verdict::Rollback(None));
            }
            if next == Some(AgentStatus::Archived) {
                queries::numbers::unassign(conn, account, id, at).await?;
            }
            let Some(agent) = queries::agents::find(conn, account, id).await? else {
                return Ok(Verdict::Rollback(None));
            };
            let config = queries::agents::config(conn, id, agent.head_version).await?;
            Ok(Verdict::Commit(Some((agent, config))))
        })
    }

    /// Makes a version the one that serves calls, if the status is still the one that the publication was judged by;
    /// `None` if not, or if one of the tools is gone.
    pub fn publish_agent(
        &self,
        account: AccountId,
        id: AgentId,
        publication: Publication,
    ) -> Answer<'_, Option<(Agent, Option<String>)>> {
        write!(self, |conn| {
            if !queries::agents::publish(conn, account, id, publication).await? {
                return Ok(Verdict::Rollback(None));
            }
            let Some(agent) = queries::agents::find(conn, account, id).await? else {
                return Ok(Verdict::Rollback(None));
            };
            let config = queries::agents::config(conn, id, agent.head_version).await?;
            Ok(Verdict::Commit(Some((agent, config))))
        })
    }

    /// A page of the agent's versions below `before`, the highest first, with one more than `limit` if there is a next
    /// page; `None` without such an agent.
    pub fn agent_versions(
        &self,
        account: AccountId,
        id: AgentId,
        before: Option<i32>,
        limit: i64,
    ) -> Answer<'_, Option<(Agent, Vec<AgentVersion>)>> {
        read!(self, |conn| {
            let Some(agent) = queries::agents::find(conn, account, id).await? else {
                return Ok(None);
            };
            let page = queries::agents::versions_page(conn, id, before, limit).await?;
            Ok(Some((agent, page)))
        })
    }

    /// An agent with one of its versions and that one's configuration, as JSON text; the inner `None` without such a
    /// version.
    #[boxed]
    pub async fn agent_version(
        &self,
        account: AccountId,
        id: AgentId,
        version: i32,
    ) -> Result<Option<(Agent, Option<(AgentVersion, String)>)>> {
        read!(self, |conn| {
            let Some(agent) = queries::agents::find(conn, account, id).await? else {
                return Ok(None);
            };
            let version = queries::agents::version(conn, id, version).await?;
            Ok(Some((agent, version)))
        })
        .await
    }

    /// Archives an engine agent and returns it as it is then; a legacy one stays as it is. Its numbers are
    /// unassigned.
    pub fn archive_agent(
        &self,
        account: AccountId,
        id: AgentId,
        at: Timestamp,
    ) -> Answer<'_, Option<Agent>> {
        keep!(self, |conn| {
            if queries::agents::archive(conn, account, id, at).await? {
                queries::numbers::unassign(conn, account, id, at).await?;
            }
            queries::agents::find(conn, account, id).await
        })
    }
}
