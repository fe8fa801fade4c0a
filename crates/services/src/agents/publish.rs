//! Publishing: a version serves calls from then on.

use offhook_domain::body::{Integer, Optional, Text};

use super::{AgentView, Agents, TRIES, corrupt, publishable_status, refused, view};
use crate::error::Result;
use crate::knowledge;
use crate::prelude::*;

body! {
    /// `POST /v1/agents/{id}/publish`.
    #[derive(Debug)]
    pub PublishAgent {
        version: Option<i64>, Optional(Integer(1..=i64::from(i32::MAX))), "The version to publish (default: the latest). Publish an older one to roll back.";
        note: Option<String>, Optional(Text(0..=500)), "A note about the version, at most 500 characters.";
    }
}

#[boxed]
impl Agents {
    /// Publishes a version, so that it serves calls: `{version?, note?}`. An older version is a rollback. Refuses a
    /// configuration that cannot hold a call, and names its field.
    pub async fn publish(&self, account: AccountId, id: AgentId, body: &Json) -> Result<AgentView> {
        let PublishAgent { version, note } = PublishAgent::of(body, &())?;
        let version = version.and_then(|version| i32::try_from(version).ok());
        for _ in 0..TRIES {
            let agent = self.ctx.store.agent(account, id).await?;
            let agent = agent.ok_or(UseCaseError::NotFound)?;
            let statuses = (agent.status, publishable_status(&agent)?);
            let wanted = version.unwrap_or(agent.head_version);
            let found = self.ctx.store.agent_version(account, id, wanted).await?;
            let Some((before, stored)) = found.and_then(|(_, version)| version) else {
                return Err(match version {
                    Some(_) => FieldError::new("version", Fault::NoVersion).into(),
                    None => UseCaseError::Conflict(Refusal::AgentUnconfigured),
                });
            };
            let config = AgentConfig::from_stored(&stored).map_err(corrupt)?;
            let providers = self.providers.of(&self.ctx, account).await?;
            providers.check_publishable(&config)?;
            // A version that was published before keeps the tools and documents pinned then.
            let tools = match before.published_at {
                None => {
                    let tools = self
                        .ctx
                        .tools_to_pin(account, &config, &self.client)
                        .await?;
                    let tools = tools.map_err(refused)?.into_iter();
                    let tools: Vec<_> = tools.map(|(tool, _)| tool).collect();
                    let check = self
                        .ctx
                        .check_required_suite(&agent, wanted, &stored, &tools);
                    check.await?;
                    tools
                }
                Some(_) => Vec::new(),
            };
            // Last, after every check that may refuse, because it can change the workspace at the provider.
            self.ready_voices(account, &config).await?;
            let publication = Publication {
                version: wanted,
                statuses,
                note: note.clone(),
                tools,
                knowledge: knowledge::named(&config.knowledge_base),
                at: self.ctx.clock.now(),
            };
            let store = self.ctx.store.acting(self.actor);
            let published = store.publish_agent(account, id, publication);
            if let Some((agent, config)) = published.await? {
                return view(agent, config);
            }
        }
        Err(UseCaseError::Conflict(Refusal::AgentContended))
    }
}
