//! Agents.

use async_recursion::async_recursion as boxed;
use offhook_domain::{AccountId, AgentId, AgentStatus, E164, Timestamp};

use super::{read, write};
use crate::queries;
use crate::{
    Agent, AgentChange, AgentFilter, AgentRef, AgentVersion, Lines, NewAgent, PageKey, Publication,
    Result, ServingAgent, Store, Verdict,
};

impl Store {
    /// Makes an agent.
    #[boxed]
    pub async fn create_agent(&self, new: NewAgent) -> Result<()> {
        write!(self, |conn| {
            queries::agents::insert(conn, new).await?;
            Ok(Verdict::Commit(()))
        })
    }

    /// An agent of the account.
    #[boxed]
    pub async fn agent(&self, account: AccountId, id: AgentId) -> Result<Option<Agent>> {
        read!(self, |conn| queries::agents::find(conn, account, id).await)
    }

    /// An agent of the account with the configuration of `version`, or of its head.
    #[boxed]
    pub async fn agent_with_config(
        &self,
        account: AccountId,
        id: AgentId,
        version: Option<i32>,
    ) -> Result<Option<(Agent, Option<String>)>> {
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
    }

    /// A page of the account's agents, newest first, with one more than `limit` if there is a next page.
    #[boxed]
    pub async fn agents(
        &self,
        account: AccountId,
        filter: AgentFilter,
        after: Option<PageKey<AgentId>>,
        limit: i64,
    ) -> Result<Vec<Agent>> {
        read!(self, |conn| queries::agent_pages::page(
            conn, account, &filter, after, limit
        )
        .await)
    }

    /// Changes an agent if its head (and status, if that changes) is still the one that the change was made on;
    /// `None` if not.
    #[boxed]
    pub async fn change_agent(
        &self,
        account: AccountId,
        id: AgentId,
        change: AgentChange,
    ) -> Result<Option<(Agent, Option<String>)>> {
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
    #[boxed]
    pub async fn publish_agent(
        &self,
        account: AccountId,
        id: AgentId,
        publication: Publication,
    ) -> Result<Option<(Agent, Option<String>)>> {
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
    #[boxed]
    pub async fn agent_versions(
        &self,
        account: AccountId,
        id: AgentId,
        before: Option<i32>,
        limit: i64,
    ) -> Result<Option<(Agent, Vec<AgentVersion>)>> {
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
    }

    /// Agents of all accounts that serve calls, or should, behind `after` in the order of their ids.
    #[boxed]
    pub async fn serving_agents(
        &self,
        after: Option<AgentId>,
        limit: i64,
    ) -> Result<Vec<ServingAgent>> {
        read!(self, |conn| queries::agents::serving(conn, after, limit)
            .await)
    }

    /// Gives an agent the status that its published version deserves; `false` if version or status have changed since.
    #[boxed]
    pub async fn judge_agent(
        &self,
        seen: ServingAgent,
        status: AgentStatus,
        at: Timestamp,
    ) -> Result<bool> {
        write!(self, |conn| {
            Ok(Verdict::Commit(
                queries::agents::judge(conn, &seen, status, at).await?,
            ))
        })
    }

    /// Archives an engine agent and returns it as it is then; a legacy one stays as it is. Its numbers are
    /// unassigned.
    #[boxed]
    pub async fn archive_agent(
        &self,
        account: AccountId,
        id: AgentId,
        at: Timestamp,
    ) -> Result<Option<Agent>> {
        write!(self, |conn| {
            if queries::agents::archive(conn, account, id, at).await? {
                queries::numbers::unassign(conn, account, id, at).await?;
            }
            Ok(Verdict::Commit(
                queries::agents::find(conn, account, id).await?,
            ))
        })
    }
}
