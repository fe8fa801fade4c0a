//! What an account sets of an agent beside its configuration. Each change saves the next version with the head's
//! configuration; publishing it puts both in force.

use offhook_domain::body::{
    Flag, Integer, Like, LongText, Name, Nested, Optional, Or, Required, Text,
};
use offhook_egress::{MAX_URL_CHARACTERS, TargetUrl};
use offhook_signing::SigningSecret;
use ring::rand::SystemRandom;
use serde::{Deserialize, Serialize};

use super::{Agents, TRIES, stale};
use crate::Zone;
use crate::error::Result;
use crate::prelude::*;
use crate::refusal::VersionField;

body! {
    /// The server that is asked before a call begins.
    #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
    pub ContextUrl {
        url: String, Required(Text(1..=MAX_URL_CHARACTERS)), "The URL that is asked before a call begins: public https, at most 2,048 characters.";
        outgoing: bool, Or(Flag, false), "Whether it is asked before outgoing calls, too (default false).";
        failure_message: Option<String>, Optional(LongText(2_000)), "What the agent says before it ends the call if the URL gives no usable answer; null: the call goes on without it.";
    }
}

body! {
    /// `PUT /v1/agents/{id}/settings`.
    #[derive(Debug)]
    pub SetAgentSettings {
        time_zone: Option<String>, Optional(Like(Text(1..=64), zone)), "The IANA time zone of the built-in variables; null: that of the calling hours, else the account's.";
        caller_memory: i64, Or(Integer(0..=5), 0), "How many summaries of earlier conversations with the same phone number the model is shown, 0 to 5 (default 0: none).";
        guard: Option<bool>, Optional(Flag), "Whether a sentence that claims a completed action (\"I have booked it\") is replaced by an honest one unless a tool has carried one out; null (default): for agents with a tool besides `end_call`.";
        context_url: Option<ContextUrl>, Optional(Nested::<ContextUrl>::of()), "The server that is asked before a call begins; null: none.";
        required_suite: Option<String>, Optional(Name(64)), "The suite of scenarios that a version has to pass before it is published, unless it was published before; null: none. The latest settings count, whichever version is published.";
        new_secret: bool, Or(Flag, false), "Makes a new signing secret for the context URL, in place of the earlier one (default false).";
        expected_version: Option<i64>, Optional(Integer(0..=i64::from(i32::MAX))), "The version that the change is based on; 409 if it is not the latest.";
    }
}

fn zone(fields: &mut Fields<'_>, name: &str) -> Result<String, FieldError> {
    let zone = fields.required_string(name, 1..=64)?;
    match Zone::named(zone) {
        Some(_) => Ok(zone.to_owned()),
        None => Err(fields.fault(name, Fault::TimeZone)),
    }
}

/// What is set of a version.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct AgentSettings {
    pub time_zone: Option<String>,
    pub caller_memory: i64,
    /// `None`: the agent has a guard if it has a tool that acts.
    pub guard: Option<bool>,
    pub context_url: Option<ContextUrl>,
    /// The suite that a version has to pass before it is published.
    pub required_suite: Option<String>,
}

impl AgentSettings {
    /// Parses the text of a version; without one, nothing is set.
    pub(crate) fn from_stored(stored: Option<&str>) -> Result<Self, StoreError> {
        let corrupt = |error| StoreError::Corrupt(format!("an agent's settings: {error}"));
        let read = stored.map(serde_json::from_str).transpose();
        Ok(read.map_err(corrupt)?.unwrap_or_default())
    }

    fn to_stored(&self) -> String {
        // Serializing plain structs of texts and numbers cannot fail.
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// The settings as the API shows them.
#[derive(Debug, Clone)]
pub struct AgentSettingsView {
    /// The version that has them: the latest.
    pub version: i32,
    pub settings: AgentSettings,
    /// The signing secret of the context URL, if one was made now; shown once.
    pub secret: Option<String>,
}

#[boxed]
impl Agents {
    /// What is set of an agent's latest version.
    pub async fn settings(&self, account: AccountId, id: AgentId) -> Result<AgentSettingsView> {
        let found = self.ctx.store.agent_with_settings(account, id).await?;
        let (agent, stored) = found.ok_or(UseCaseError::NotFound)?;
        Ok(AgentSettingsView {
            version: agent.head_version,
            settings: AgentSettings::from_stored(stored.as_deref())?,
            secret: None,
        })
    }

    /// Replaces an agent's settings; if that changes them, the next version is saved.
    pub async fn set_settings(
        &self,
        account: AccountId,
        id: AgentId,
        body: &Json,
    ) -> Result<AgentSettingsView> {
        let body = SetAgentSettings::of(body, &())?;
        let wanted = AgentSettings {
            time_zone: body.time_zone,
            caller_memory: body.caller_memory,
            guard: body.guard,
            context_url: body.context_url,
            required_suite: body.required_suite,
        };
        if let Some(context) = &wanted.context_url {
            TargetUrl::parse(&context.url, self.client.policy())
                .map_err(|error| FieldError::new("context_url.url", error))?;
        }
        let mut secret = None;
        for _ in 0..TRIES {
            let store = &self.ctx.store.acting(self.actor);
            let found = store.agent_with_settings(account, id).await?;
            let (agent, stored) = found.ok_or(UseCaseError::NotFound)?;
            if agent.runtime == Runtime::Legacy {
                return Err(UseCaseError::UnsupportedRuntime(Refusal::LegacyChange));
            }
            if agent.status == AgentStatus::Archived {
                return Err(UseCaseError::Conflict(Refusal::AgentArchived));
            }
            let head = agent.head_version;
            if body
                .expected_version
                .is_some_and(|expected| expected != i64::from(head))
            {
                return Err(stale(VersionField::Expected, head));
            }
            if wanted.context_url.is_some() && secret.is_none() {
                secret = self.secret(account, id, body.new_secret).await?;
            }
            let before = AgentSettings::from_stored(stored.as_deref())?;
            if before == wanted {
                return Ok(view(head, wanted, secret));
            }
            let config = store.agent_with_config(account, id, Some(head)).await?;
            let config = config.and_then(|(_, config)| config);
            let change = AgentChange {
                head_version: head,
                name: None,
                language: None,
                status: None,
                config: Some(
                    config.unwrap_or_else(|| AgentConfig::new(&agent.language).to_stored()),
                ),
                settings: Some(wanted.to_stored()),
                at: self.ctx.clock.now(),
            };
            if let Some((agent, _)) = store.change_agent(account, id, change).await? {
                if before.required_suite.is_some() && before.required_suite != wanted.required_suite
                {
                    let what = ("agent.required_suite".to_owned(), id.to_string());
                    let named = |suite: Option<&str>| {
                        Json::object([("required_suite", Json::from(suite.unwrap_or_default()))])
                    };
                    let changes = Changes::between(
                        &named(before.required_suite.as_deref()),
                        &named(wanted.required_suite.as_deref()),
                    );
                    let (store, at) = (store.acting(self.actor), self.ctx.clock.now());
                    store.note(account, what, changes, at).await?;
                }
                return Ok(view(agent.head_version, wanted, secret));
            }
        }
        Err(UseCaseError::Conflict(Refusal::AgentContended))
    }
}

#[boxed]
impl Agents {
    /// Makes the agent's signing secret, if it has none or a new one is wanted.
    async fn secret(
        &self,
        account: AccountId,
        id: AgentId,
        is_new: bool,
    ) -> Result<Option<String>> {
        let store = &self.ctx.store;
        if !is_new && store.agent_secret(id).await?.is_some() {
            return Ok(None);
        }
        let unrandom = |_| StoreError::Internal("the system gives no randomness".to_owned());
        let secret = SigningSecret::generate(&SystemRandom::new()).map_err(unrandom)?;
        let is_set = store.set_agent_secret(account, id, secret.expose());
        UseCaseError::unless_found(is_set.await?)?;
        Ok(Some(secret.expose().to_owned()))
    }

    /// Leaves an agent's conversations with a number out of its memory; returns how many there were. They stay in lists.
    pub async fn forget_caller(
        &self,
        account: AccountId,
        id: AgentId,
        phone: E164,
    ) -> Result<usize> {
        let store = &self.ctx.store;
        let agent = store.agent(account, id).await?;
        let agent = agent.ok_or(UseCaseError::NotFound)?;
        Ok(store.forget_caller((account, agent.id), phone).await?)
    }
}

const fn view(version: i32, settings: AgentSettings, secret: Option<String>) -> AgentSettingsView {
    AgentSettingsView {
        version,
        settings,
        secret,
    }
}
