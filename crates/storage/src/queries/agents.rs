//! Agents and their versions.

use super::{numbers::unassign, pins, tools};
use crate::prelude::*;

pub(crate) async fn insert(conn: &mut Conn, new: NewAgent, by: Option<String>) -> Result<()> {
    let agent = new.agent;
    insert! {
        conn, agents of agent: id, account_id, runtime, name, name_folded = new.name_folded,
        language, status, provider_agent_id, legacy_config, head_version, published_version,
        created_at, updated_at
    }?;
    if let Some(config) = new.config {
        insert_version(conn, (agent.id, 1), (config, None), by, agent.created_at).await?;
    }
    Ok(())
}

async fn insert_version(
    conn: &mut Conn,
    (agent, version): (AgentId, i32),
    (config, settings): (String, Option<String>),
    saved_by: Option<String>,
    at: Timestamp,
) -> Result<()> {
    insert! {
        conn, versions: agent_id = agent, version, config, settings, created_at = at, saved_by
    }
}

/// What is set of a version beside its configuration, as JSON text.
async fn settings_of(conn: &mut Conn, agent: AgentId, version: i32) -> Result<Option<String>> {
    let found: Option<Option<String>> = versions::table
        .find((V(agent), version))
        .select(versions::settings)
        .found(conn)
        .await?;
    Ok(found.flatten())
}

pub(crate) async fn find(
    conn: &mut Conn,
    account: AccountId,
    id: AgentId,
) -> Result<Option<Agent>> {
    Ok(agents::table
        .filter(agents::id.eq(V(id)).and(agents::account_id.eq(V(account))))
        .select(Agent::as_select())
        .found(conn)
        .await?)
}

/// The agent that the client named, by its id or its id at the legacy provider, with its published configuration and
/// the number that its calls are placed from: its own oldest, else the account's. Where calls go over a trunk, only a
/// number of the trunk may be the caller. One statement, because placing a call waits for each.
/// One of an agent's versions; `None` is the head.
pub(crate) type OfVersion = (AccountId, AgentId, Option<i32>);

/// An agent with the configuration of one of its versions, as JSON text.
pub(crate) type WithConfig = (Agent, Option<String>);

/// An agent that a client wants to call, and the lines that there are.
pub(crate) type ToCall = (AccountId, AgentRef, Lines);

/// An agent with its published configuration, as JSON text, and the number that its calls are placed from.
pub(crate) type Callable = (Agent, Option<String>, Option<E164>);

pub(crate) async fn to_call(
    conn: &mut Conn,
    (account, reference, lines): ToCall,
) -> Result<Option<Callable>> {
    let (carrier, legacy_any) = (lines.carrier, lines.legacy_any);
    let carried = || {
        numbers::provider
            .eq(V(carrier.unwrap_or(NumberProvider::Sip)))
            .or(carrier.is_none().into_sql::<Bool>())
            .and(numbers::is_proven)
    };
    // A legacy agent's numbers are at its provider, which places its calls.
    let of_legacy = || {
        let theirs = legacy::table
            .filter(legacy::account_id.eq(V(account)))
            .select(legacy::agent_id.nullable());
        numbers::agent_id
            .is_not_null()
            .and(numbers::agent_id.eq_any(theirs))
    };
    let published = versions::agent_id
        .eq(agents::id)
        .and(versions::version.eq(agents::published_version));
    let its_own = numbers::table
        .filter(numbers::account_id.eq(V(account)))
        .filter(numbers::agent_id.eq(agents::id.nullable()))
        .filter(agents::runtime.eq(V(Runtime::Legacy)).or(carried()))
        .order((numbers::created_at, numbers::id))
        .select(numbers::phone_number)
        .single_value();
    let is_legacy = || agents::runtime.eq(V(Runtime::Legacy));
    let of_its_runtime = numbers::table
        .filter(numbers::account_id.eq(V(account)))
        .filter(
            is_legacy()
                .and(of_legacy().or(legacy_any.into_sql::<Bool>()))
                .or(not(is_legacy()).and(carried()).and(not(of_legacy()))),
        )
        .order((numbers::created_at, numbers::id))
        .select(numbers::phone_number)
        .single_value();
    let mut query = agents::table
        .left_join(versions::table.on(published))
        .filter(agents::account_id.eq(V(account)))
        .select((
            Agent::as_select(),
            versions::config.nullable(),
            its_own,
            of_its_runtime,
        ))
        .into_boxed::<Db>();
    query = match reference {
        AgentRef::Id(id) => query.filter(agents::id.eq(V(id))),
        AgentRef::Provider(id) => query.filter(agents::provider_agent_id.eq(id)),
    };
    type Found = (Agent, Option<String>, Option<E164>, Option<E164>);
    let found: Option<Found> = query.found(conn).await?;
    Ok(found.map(|(agent, config, own, any)| (agent, config, own.or(any))))
}

/// An agent of the account with the configuration of `version`, or of its head version, as JSON text.
pub(crate) async fn with_config(
    conn: &mut Conn,
    (account, id, version): OfVersion,
) -> Result<Option<WithConfig>> {
    let version = sql::<Integer>("COALESCE(")
        .bind::<Nullable<Integer>, _>(version)
        .sql(", agents.head_version)");
    let its = versions::agent_id
        .eq(agents::id)
        .and(versions::version.eq(version));
    Ok(agents::table
        .left_join(versions::table.on(its))
        .filter(agents::id.eq(V(id)).and(agents::account_id.eq(V(account))))
        .select((Agent::as_select(), versions::config.nullable()))
        .found(conn)
        .await?)
}

/// A version with its configuration, as JSON text.
async fn version(
    conn: &mut Conn,
    agent: AgentId,
    version: i32,
) -> Result<Option<(AgentVersion, String)>> {
    Ok(versions::table
        .find((V(agent), version))
        .select((AgentVersion::as_select(), versions::config))
        .found(conn)
        .await?)
}

#[boxed]
impl Store {
    pub fn create_agent(&self, new: NewAgent) -> Answer<'_, ()> {
        let by = self.author();
        keep!(self, |conn| insert(conn, new, by).await)
    }

    pub fn agent(&self, account: AccountId, id: AgentId) -> Answer<'_, Option<Agent>> {
        read!(self, |conn| find(conn, account, id).await)
    }

    /// An agent of the account with the configuration of `version`, or of its head version.
    pub fn agent_with_config(
        &self,
        account: AccountId,
        id: AgentId,
        version: Option<i32>,
    ) -> Answer<'_, Option<(Agent, Option<String>)>> {
        match &self.queues {
            Some(queues) => Box::pin(queues.lookups.agents.find((account, id, version))),
            None => read!(self, |conn| with_config(conn, (account, id, version)).await),
        }
    }

    /// An agent with its published configuration, as JSON text, and the number that its calls are placed from: its own
    /// oldest, else the account's oldest that its runtime can call from.
    pub async fn agent_to_call(
        &self,
        account: AccountId,
        reference: AgentRef,
        lines: Lines,
    ) -> Result<Option<Callable>> {
        let asked = (account, reference, lines);
        if let Some(queues) = &self.queues {
            return queues.lookups.agents_to_call.find(asked).await;
        }
        read!(self, |conn| to_call(conn, asked).await).await
    }

    /// An agent of the account with what is set of its head version, as JSON text.
    pub fn agent_with_settings(
        &self,
        account: AccountId,
        id: AgentId,
    ) -> Answer<'_, Option<(Agent, Option<String>)>> {
        read!(self, |conn| {
            let agent = some_or!(find(conn, account, id).await?, None);
            let settings = settings_of(conn, id, agent.head_version).await?;
            Ok(Some((agent, settings)))
        })
    }

    /// What is set of an agent's version, as JSON text, and the time zone of its account.
    pub fn settings_of_version(
        &self,
        account: AccountId,
        agent: AgentId,
        version: i32,
    ) -> Answer<'_, (Option<String>, Option<String>)> {
        read!(self, |conn| {
            let zone = account_settings::table
                .find(V(account))
                .select(account_settings::time_zone)
                .found(conn)
                .await?;
            Ok((settings_of(conn, agent, version).await?, zone))
        })
    }

    /// Changes an agent. `None` if its head version, or a status that changes, is no longer the one that the change is
    /// based on.
    pub fn change_agent(
        &self,
        account: AccountId,
        id: AgentId,
        change: AgentChange,
    ) -> Answer<'_, Option<(Agent, Option<String>)>> {
        let by = self.author();
        transact!(self, |conn| {
            let next = change.head_version + i32::from(change.config.is_some());
            let update = diesel::update(agents::table)
                .filter(agents::id.eq(V(id)).and(agents::account_id.eq(V(account))))
                .filter(agents::head_version.eq(change.head_version))
                .into_boxed()
                .when(change.status, |(seen, _)| agents::status.eq(V(seen)));
            let (name, folded) = change.name.unzip();
            let status = change.status.map(|(_, next)| next);
            let is_changed = update
                .set((
                    name.map(|name| agents::name.eq(name)),
                    folded.map(|folded| agents::name_folded.eq(folded)),
                    change
                        .language
                        .map(|language| agents::language.eq(language)),
                    status.map(|status| agents::status.eq(V(status))),
                    row! { agents: head_version = next, updated_at = change.at },
                ))
                .changes(conn)
                .await?;
            ensure!(is_changed, Rollback(None));
            if let Some(config) = change.config {
                let settings = match change.settings {
                    Some(settings) => Some(settings),
                    None => settings_of(conn, id, change.head_version).await?,
                };
                insert_version(conn, (id, next), (config, settings), by, change.at).await?;
            }
            if status == Some(AgentStatus::Archived) {
                unassign(conn, account, id, change.at).await?;
            }
            let changed = with_config(conn, (account, id, None)).await?;
            Ok(Verdict::keep_if(changed.is_some(), changed))
        })
    }

    /// Publishes a version, which then serves calls. The first publication makes a draft active, and pins the version's
    /// tools and knowledge. `None` if the status has changed since the publication was validated, if there is no such
    /// version, or if one of the tools is gone.
    pub fn publish_agent(
        &self,
        account: AccountId,
        id: AgentId,
        new: Publication,
    ) -> Answer<'_, Option<(Agent, Option<String>)>> {
        let by = self.author();
        transact!(self, |conn| {
            let (seen, next) = new.statuses;
            let is_changed = diesel::update(agents::table)
                .filter(agents::id.eq(V(id)).and(agents::account_id.eq(V(account))))
                .filter(agents::status.eq(V(seen)))
                .set(row! {
                    agents: published_version = new.version, status = next, updated_at = new.at
                })
                .changes(conn)
                .await?;
            ensure!(is_changed, Rollback(None));
            // This transaction has locked the agent's row, so no other can publish the version meanwhile.
            let (before, _) = some_or!(version(conn, id, new.version).await?, Rollback(None));
            // A published version is immutable: what the first publication pinned stays.
            if before.published_at.is_none() {
                if !tools::pin(conn, account, id, new.version, &new.tools).await? {
                    return Ok(Rollback(None));
                }
                pins::pin(conn, account, (id, new.version), new.knowledge).await?;
            }
            diesel::update(versions::table.find((V(id), new.version)))
                .set((
                    versions::published_at.eq(V(new.at)),
                    versions::published_by.eq(by),
                    new.note.map(|note| versions::note.eq(note)),
                ))
                .execute(conn)
                .await?;
            let published = with_config(conn, (account, id, None)).await?;
            Ok(Verdict::keep_if(published.is_some(), published))
        })
    }

    /// A page of the agent's versions below `before`, highest first, with one more than `limit` if there is a next
    /// page. `None` if there is no such agent.
    pub fn agent_versions(
        &self,
        account: AccountId,
        id: AgentId,
        before: Option<i32>,
        limit: i64,
    ) -> Answer<'_, Option<(Agent, Vec<AgentVersion>)>> {
        read!(self, |conn| {
            let agent = some_or!(find(conn, account, id).await?, None);
            let page = versions::table
                .filter(versions::agent_id.eq(V(id)))
                .filter(versions::version.lt(before.unwrap_or(i32::MAX)))
                .order(versions::version.desc())
                .limit(limit + 1)
                .select(AgentVersion::as_select())
                .load(conn)
                .await?;
            Ok(Some((agent, page)))
        })
    }

    /// An agent with one of its versions and that version's configuration, as JSON text. The inner `None` means that
    /// there is no such version.
    pub async fn agent_version(
        &self,
        account: AccountId,
        id: AgentId,
        number: i32,
    ) -> Result<Option<(Agent, Option<(AgentVersion, String)>)>> {
        read!(self, |conn| {
            let agent = some_or!(find(conn, account, id).await?, None);
            Ok(Some((agent, version(conn, id, number).await?)))
        })
        .await
    }

    /// Archives an engine agent, unassigns its numbers and returns it. A legacy or archived agent stays unchanged.
    pub fn archive_agent(
        &self,
        account: AccountId,
        id: AgentId,
        at: Timestamp,
    ) -> Answer<'_, Option<Agent>> {
        keep!(self, |conn| {
            let is_archived = diesel::update(agents::table)
                .filter(agents::id.eq(V(id)).and(agents::account_id.eq(V(account))))
                .filter(agents::runtime.eq(V(Runtime::Engine)))
                .filter(agents::status.ne(V(AgentStatus::Archived)))
                .set(row! { agents: status = AgentStatus::Archived, updated_at = at })
                .changes(conn)
                .await?;
            if is_archived {
                unassign(conn, account, id, at).await?;
            }
            find(conn, account, id).await
        })
    }

    /// When the newest conversation of each of these agents began; without those that have none.
    pub fn last_conversations(
        &self,
        account: AccountId,
        ids: Vec<AgentId>,
    ) -> Answer<'_, Vec<(AgentId, Timestamp)>> {
        read!(self, |conn| {
            ensure!(!ids.is_empty(), Vec::new());
            let newest = calls::table
                .filter(calls::account_id.eq(V(account)))
                .filter(calls::agent_id.eq(agents::id))
                .order((calls::started_at.desc(), calls::id.desc()))
                .select(calls::started_at)
                .single_value();
            let found: Vec<(AgentId, Option<Timestamp>)> = agents::table
                .filter(agents::account_id.eq(V(account)))
                .filter(agents::id.eq_any(ids.into_iter().map(V)))
                .select((agents::id, newest))
                .load(conn)
                .await?;
            let begun = found.into_iter().filter_map(|(id, at)| Some((id, at?)));
            Ok(begun.collect())
        })
    }

    /// Agents of all accounts that serve calls, or should, after `after` in id order.
    pub fn serving_agents(
        &self,
        account: Option<AccountId>,
        after: Option<AgentId>,
        limit: i64,
    ) -> Answer<'_, Vec<ServingAgent>> {
        let published = versions::agent_id
            .eq(agents::id)
            .and(versions::version.eq(agents::published_version));
        let serving = agents::table
            .inner_join(versions::table.on(published))
            .filter(agents::id.gt(V(after.unwrap_or_else(AgentId::nil))))
            .filter(agents::runtime.eq(V(Runtime::Engine)))
            .filter(agents::status.eq_any([V(AgentStatus::Active), V(AgentStatus::Error)]))
            .order(agents::id)
            .limit(limit)
            .select((
                agents::id,
                agents::account_id,
                agents::status,
                agents::published_version,
                versions::config,
            ));
        match account {
            Some(account) => serving
                .filter(agents::account_id.eq(V(account)))
                .read_all(self),
            None => serving.read_all(self),
        }
    }

    /// Sets the status that fits an agent's published version. `false` if version or status have changed since.
    pub fn judge_agent(
        &self,
        seen: ServingAgent,
        status: AgentStatus,
        at: Timestamp,
    ) -> Answer<'_, bool> {
        diesel::update(agents::table)
            .filter(agents::id.eq(V(seen.id)))
            .filter(agents::status.eq(V(seen.status)))
            .filter(agents::published_version.eq(seen.version))
            .set((agents::status.eq(V(status)), agents::updated_at.eq(V(at))))
            .commit_change(self)
    }
}
