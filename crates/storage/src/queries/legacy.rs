//! Legacy agents, as their provider lists them.

use super::{agents as agent_rows, credentials, numbers};
use crate::prelude::*;

impl Store {
    /// Claims up to `most` accounts whose synchronization of legacy agents is due. Each belongs to the caller for
    /// `lease`.
    pub fn take_due_syncs(
        &self,
        most: i64,
        lease: Duration,
        now: Timestamp,
    ) -> Answer<'_, Vec<AccountId>> {
        transact!(self, |conn| {
            let taken = credentials::take_due(conn, most, (now, now.plus(lease))).await?;
            Ok(Verdict::keep_if(!taken.is_empty(), taken))
        })
    }

    /// Makes the account's legacy agents and their numbers match the provider's list of time `at`, which was requested
    /// at `began`, and schedules the next synchronization. Agents that are missing from the list are archived.
    /// A name changes only when the provider's has changed since the last time, so that a name given here stays.
    pub fn sync_legacy_agents(
        &self,
        account: AccountId,
        listed: Vec<ListedAgent>,
        (began, at, next): (Timestamp, Timestamp, Timestamp),
    ) -> Answer<'_, Synced> {
        keep!(self, |conn| {
            // Serialized, so that two synchronizations never add the same agent.
            locks::lock_account(conn, account).await?;
            let known: Vec<(Agent, String, bool)> = agents::table
                .inner_join(legacy::table)
                .filter(legacy::account_id.eq(V(account)))
                .select((Agent::as_select(), legacy::seen_name, legacy::gone))
                .load(conn)
                .await?;
            let mut known: HashMap<String, (Agent, String, bool)> = known
                .into_iter()
                .filter_map(|row| Some((row.0.provider_agent_id.clone()?, row)))
                .collect();
            let mut synced = Synced {
                listed: listed.len(),
                ..Synced::default()
            };
            for agent in listed {
                let (id, is_back) = match known.remove(&agent.provider_agent_id) {
                    Some((row, seen, gone)) => {
                        refresh(conn, &row, &agent, (seen, gone), at).await?;
                        (row.id, gone)
                    }
                    None => {
                        synced.added += 1;
                        (add(conn, account, &agent, at).await?, false)
                    }
                };
                for listed in agent.numbers {
                    let number = PhoneNumber {
                        id: mint(at),
                        account_id: account,
                        phone_number: listed.number,
                        label: listed.label,
                        provider: listed.provider,
                        agent_id: Some(id),
                        created_at: at,
                        updated_at: at,
                        is_proven: false,
                        at_legacy: true,
                        by_credential: false,
                    };
                    let text = number.phone_number.clone();
                    // A number that the account has already stays as it is. A number of another account stays with that
                    // account.
                    let is_new = numbers::insert(conn, number).await?;
                    if !is_new {
                        numbers::at_legacy(conn, account, text.clone()).await?;
                    }
                    if is_back && !is_new {
                        numbers::give_back(conn, account, text, id, at).await?;
                    }
                }
            }
            for (row, seen, gone) in known.into_values() {
                if gone {
                    continue;
                }
                synced.archived += 1;
                remember(conn, row.id, &seen, true).await?;
                diesel::update(agents::table.find(V(row.id)))
                    .set(row! { agents: status = AgentStatus::Archived, updated_at = at })
                    .execute(conn)
                    .await?;
                numbers::unassign(conn, account, row.id, at).await?;
            }
            let of = (account, CredentialProvider::Legacy);
            credentials::answered(conn, of, (began, next)).await?;
            Ok(synced)
        })
    }
}

async fn add(
    conn: &mut Conn,
    account: AccountId,
    listed: &ListedAgent,
    at: Timestamp,
) -> Result<AgentId> {
    let id: AgentId = mint(at);
    let agent = Agent {
        id,
        account_id: account,
        runtime: Runtime::Legacy,
        name: listed.name.clone(),
        language: listed.language.clone(),
        status: AgentStatus::Active,
        provider_agent_id: Some(listed.provider_agent_id.clone()),
        legacy_config: Some(listed.config.clone()),
        head_version: 0,
        published_version: 0,
        created_at: at,
        updated_at: at,
    };
    let new = NewAgent {
        agent,
        name_folded: listed.name_folded.clone(),
        config: None,
    };
    agent_rows::insert(conn, new, None).await?;
    insert! {
        conn, legacy: agent_id = id, account_id = account, seen_name = &listed.name, gone = false
    }?;
    Ok(id)
}

async fn refresh(
    conn: &mut Conn,
    row: &Agent,
    listed: &ListedAgent,
    (seen, gone): (String, bool),
    at: Timestamp,
) -> Result<()> {
    let renamed = listed.name != seen;
    if renamed || gone {
        remember(conn, row.id, &listed.name, false).await?;
    }
    let takes_name = renamed && listed.name != row.name;
    let changed = row.language != listed.language
        || row.legacy_config.as_deref() != Some(listed.config.as_str());
    if takes_name || changed || gone {
        diesel::update(agents::table.find(V(row.id)))
            .set((
                takes_name.then(|| agents::name.eq(listed.name.clone())),
                takes_name.then(|| agents::name_folded.eq(listed.name_folded.clone())),
                gone.then(|| agents::status.eq(V(AgentStatus::Active))),
                agents::language.eq(listed.language.clone()),
                agents::legacy_config.eq(V(listed.config.clone())),
                agents::updated_at.eq(V(at)),
            ))
            .execute(conn)
            .await?;
    }
    Ok(())
}

async fn remember(conn: &mut Conn, agent: AgentId, seen: &str, gone: bool) -> Result<()> {
    diesel::update(legacy::table.find(V(agent)))
        .set((legacy::seen_name.eq(seen), legacy::gone.eq(gone)))
        .run(conn)
        .await
}
