//! Everything that is wrong with a change or a version, for an editor that shows all of it at once.

use super::bodies::UpdateAgent;
use super::{Agents, corrupt};
use crate::error::Result;
use crate::prelude::*;

#[boxed]
impl Agents {
    /// The faults for which [`Agents::update`] would refuse this body and, with `to_publish`, [`Agents::publish`] the version
    /// that it would save. Nothing is saved.
    pub async fn faults_of_change(
        &self,
        account: AccountId,
        id: AgentId,
        body: &Json,
        to_publish: bool,
    ) -> Result<Vec<FieldError>> {
        let providers = self.providers.of(&self.ctx, account).await?;
        let found = self.ctx.store.agent_with_config(account, id, None).await?;
        let (agent, stored) = found.ok_or(UseCaseError::NotFound)?;
        let head = stored.as_deref().map(AgentConfig::from_stored).transpose();
        let head = head.map_err(corrupt)?;
        let old = head.unwrap_or_else(|| AgentConfig::new(&agent.language));
        let mut faults = Vec::new();
        let config = match body
            .get("config")
            .filter(|change| change.as_object().is_some())
        {
            None => old.clone(),
            Some(change) => {
                let new = old.to_json().merge_patch(change);
                let (config, found) = AgentConfig::with_faults(&new, "config", &old.language);
                faults.extend(found);
                config
            }
        };
        if faults.is_empty() {
            // The other members, and a member of the configuration that is unknown although null.
            faults.extend(UpdateAgent::read_from(body).err());
        }
        // What is saved already blocks no other change.
        if to_publish || config != old {
            faults.extend(providers.config_faults(&config));
        }
        if to_publish {
            faults.extend(providers.publish_faults(&config));
            faults.extend(self.ctx.tools_of(account, &config).await?.err());
            faults.extend(
                self.voice_fault(account, &config, faults.is_empty())
                    .await?,
            );
        }
        Ok(one_of_each(faults))
    }

    /// The faults for which [`Agents::publish`] would refuse this version.
    pub async fn faults_of_version(
        &self,
        account: AccountId,
        id: AgentId,
        version: i32,
    ) -> Result<Vec<FieldError>> {
        let providers = self.providers.of(&self.ctx, account).await?;
        let found = self.ctx.store.agent_version(account, id, version).await?;
        let (_, found) = found.ok_or(UseCaseError::NotFound)?;
        let (before, stored) = found.ok_or(UseCaseError::NotFound)?;
        let config = AgentConfig::from_stored(&stored).map_err(corrupt)?;
        let mut faults = providers.publish_faults(&config);
        if before.published_at.is_none() {
            faults.extend(self.ctx.tools_of(account, &config).await?.err());
        }
        faults.extend(
            self.voice_fault(account, &config, faults.is_empty())
                .await?,
        );
        Ok(one_of_each(faults))
    }

    /// Last, because it can add a shared voice to the workspace at its provider.
    async fn voice_fault(
        &self,
        account: AccountId,
        config: &AgentConfig,
        is_last: bool,
    ) -> Result<Option<FieldError>> {
        if !is_last {
            return Ok(None);
        }
        match self.ready_voices(account, config).await {
            Ok(()) => Ok(None),
            Err(UseCaseError::Conflict(Refusal::Unpublishable(fault))) => Ok(Some(*fault)),
            Err(error) => Err(error),
        }
    }
}

/// The first fault of each field.
fn one_of_each(faults: Vec<FieldError>) -> Vec<FieldError> {
    let mut shown: Vec<FieldError> = Vec::with_capacity(faults.len());
    for fault in faults {
        if !shown.iter().any(|known| known.path == fault.path) {
            shown.push(fault);
        }
    }
    shown
}
