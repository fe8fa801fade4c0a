//! The status `error`: the published version cannot hold a call at all.
//!
//! A version depends on this process's catalog, the providers that it is set up for, and its account's own keys. Agents
//! are checked at the start, and daily: processes may differ, and keys come and go.

use super::Agents;
use crate::Result;
use crate::prelude::*;
use crate::workers::{Turns, counted};

/// How often published versions are checked.
const EVERY: Duration = Duration::from_secs(86_400);

/// Agents per read.
const AT_ONCE: i64 = 200;

/// How long to wait before the database is queried again.
const RETRY_AFTER: Duration = Duration::from_secs(5);

#[boxed]
impl Agents {
    /// Checks every published version. One that cannot hold a call turns its `active` agent to `error`; one that can
    /// turns it back. Returns how many agents changed. If the store fails, the agents changed so far stay changed.
    pub async fn judge(&self) -> Result<usize> {
        self.judge_those(None).await
    }

    /// The same for an account, whose own keys have changed.
    pub async fn judge_of(&self, account: AccountId) -> Result<usize> {
        self.judge_those(Some(account)).await
    }

    async fn judge_those(&self, account: Option<AccountId>) -> Result<usize> {
        let (ctx, mut after, mut turned) = (&self.ctx, None::<AgentId>, 0);
        loop {
            let page = ctx.store.serving_agents(account, after, AT_ONCE).await?;
            let last = some_or!(page.last(), turned);
            after = Some(last.id);
            for agent in page {
                let of_account = self.providers.of(ctx, agent.account_id).await?;
                let status = match of_account.can_hold_a_call(&agent) {
                    true => AgentStatus::Active,
                    false => AgentStatus::Error,
                };
                if status == agent.status {
                    continue;
                }
                let (id, at) = (agent.id, ctx.clock.now());
                if ctx.store.judge_agent(agent, status, at).await? {
                    tracing::warn!(agent = %id, %status, "a published version was judged");
                    turned += 1;
                }
            }
        }
    }

    /// Checks now and daily, until `stop`.
    pub(crate) async fn keep_judging(self, stop: CancellationToken) {
        let mut turns = Turns::new(EVERY, &stop);
        while turns.next().await {
            if let Err(error) = counted("agents_judged", self.judge().await) {
                tracing::warn!(%error, "published versions could not be judged");
                turns.tick.reset_after(RETRY_AFTER);
            }
        }
    }
}

impl Providers {
    /// Whether this process can call one of the version's models and, where calls are spoken, use one of its
    /// recognizers and one of its voices.
    fn can_hold_a_call(&self, agent: &ServingAgent) -> bool {
        let Ok(config) = AgentConfig::from_stored(&agent.config) else {
            return false;
        };
        if config.publishable().is_err() || !self.can_be_spoken_with(&config) {
            return false;
        }
        let llm = &config.llm;
        let first = llm.provider.as_deref().zip(llm.model.as_deref());
        let fallback = llm.fallback.iter();
        let fallback = fallback.map(|other| (other.provider.as_str(), other.model.as_str()));
        let mut models = first.into_iter().chain(fallback);
        models.any(|(provider, model)| self.has_model(provider, model, llm.endpoint.as_deref()))
    }
}
