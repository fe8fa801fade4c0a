//! Legacy agents: listed, renamed and called here, configured at their provider.

mod found;
mod looks;
mod reports;

use offhook_domain::config::is_bcp47_shape;
use offhook_engine::legacy::{LegacyAgent, LegacyError};
use serde::Deserialize;

use crate::Result;
use crate::calls::RESERVED_SECONDS;
use crate::casefold::fold;
use crate::catalog::{self, CatalogError};
use crate::prelude::*;
use crate::workers::{Turns, counted};

/// How often an account's legacy agents are synchronized.
const SYNC_EVERY: Duration = Duration::from_secs(3_600);

/// How long one node may take for it before another one may try.
const SYNC_LEASE: Duration = Duration::from_secs(300);

/// How often due synchronizations are polled: a new credential is used this soon.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Accounts synchronized at once.
const BATCH: i64 = 8;

pub(crate) use looks::{Look, Looks};
pub use reports::ReportError;

/// The language of an agent whose provider names none.
const DEFAULT_LANGUAGE: &str = "en";

/// Why an account's legacy agents were not synchronized.
#[derive(Debug, thiserror::Error)]
pub enum SyncError {
    #[error(
        "account {0} has no credential for the legacy provider: store one with `offhook account credential set`"
    )]
    NoCredential(AccountId),
    /// The provider did not respond.
    #[error(transparent)]
    Provider(#[from] LegacyError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

#[derive(Clone)]
pub struct Legacy(pub(crate) Arc<Runner>);

#[boxed]
impl Legacy {
    /// Synchronizes an account's legacy agents and their numbers with the provider's list.
    pub async fn sync(&self, account: AccountId) -> Result<Synced, SyncError> {
        sync(&self.0, account).await
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Terms {
    credits_per_minute: f64,
}

/// The price per minute of a legacy agent's call.
pub(crate) fn price(plans: &Plans) -> Result<Price, CatalogError> {
    if let Some(price) = plans.prices.get(catalog::LEGACY) {
        return Ok(*price);
    }
    let terms: Terms = toml::from_str(include_str!("../catalog/legacy.toml")).map_err(|error| {
        CatalogError::new("crates/services/catalog/legacy.toml", error.to_string())
    })?;
    catalog::price(terms.credits_per_minute).ok_or_else(|| {
        CatalogError::new(
            "crates/services/catalog/legacy.toml",
            "bad credits_per_minute".to_owned(),
        )
    })
}

impl Providers {
    /// A legacy call's price per minute, and the credits to hold before it begins.
    pub(crate) fn legacy_terms(&self) -> (Price, Credits) {
        (
            self.legacy_price,
            self.legacy_price.of_seconds(RESERVED_SECONDS),
        )
    }

    /// Renames an agent at its provider, before it is renamed here.
    pub(crate) async fn rename_at_provider(
        &self,
        ctx: &Context,
        agent: &Agent,
        name: &str,
    ) -> Result<(), UseCaseError> {
        let credential = ctx.legacy_credential(agent.account_id).await?;
        let Some((credential, id)) = credential.zip(agent.provider_agent_id.as_deref()) else {
            return Err(UseCaseError::Conflict(Refusal::NoLegacyCredential));
        };
        let renamed = self.legacy.rename(&credential, id, name).await;
        renamed.map_err(|error| UseCaseError::Upstream(Refusal::LegacyFailed(error)))
    }
}

impl Context {
    /// The account's credential for the provider of the legacy agents.
    pub(crate) async fn legacy_credential(&self, account: AccountId) -> Result<Option<String>> {
        let provider = CredentialProvider::Legacy;
        self.store.credential_secret(account, provider).await
    }
}

/// Synchronizes the legacy agents of every account that has a credential: periodically, and soon after the credential
/// was stored. Nodes share the work: one of them claims a due account.
pub(crate) async fn keep_in_step(runner: Arc<Runner>, stop: CancellationToken) {
    let mut turns = Turns::new(LOOK_EVERY, &stop);
    while turns.next().await {
        let due = match take_due(&runner).await {
            Ok(due) => due,
            Err(error) => {
                tracing::warn!(%error, "due legacy agents could not be looked for");
                continue;
            }
        };
        for account in due {
            let synced = tokio::select! {
                // An account not synchronized is due again when its lease has expired.
                () = stop.cancelled() => return,
                synced = sync(&runner, account) => synced,
            };
            match counted("legacy_sync", synced) {
                Ok(synced) => tracing::info!(%account, ?synced, "legacy agents are in step"),
                // The lease expires, and then the account is due again.
                Err(error) => tracing::warn!(%account, %error, "legacy agents are not in step"),
            }
        }
    }
}

/// Only reads while nothing is due.
async fn take_due(runner: &Runner) -> Result<Vec<AccountId>> {
    let now = runner.clock.now();
    if !runner.store.has_due_syncs(now).await? {
        return Ok(Vec::new());
    }
    runner.store.take_due_syncs(BATCH, SYNC_LEASE, now).await
}

async fn sync(runner: &Arc<Runner>, account: AccountId) -> Result<Synced, SyncError> {
    let began = runner.clock.now();
    let credential = runner.legacy_credential(account).await?;
    let credential = credential.ok_or(SyncError::NoCredential(account))?;
    let listed = match runner.providers.legacy.agents(&credential).await {
        Ok(listed) => listed,
        Err(error) => {
            // The account sees it beside its credentials.
            let (store, why) = (&runner.store, error.to_string());
            let noted =
                store.credential_unanswered(account, CredentialProvider::Legacy, began, &why);
            noted.await?;
            return Err(error.into());
        }
    };
    let listed = listed.into_iter().map(listed_agent).collect();
    let at = runner.clock.now();
    let times = (began, at, at.plus(SYNC_EVERY));
    let store = &runner.store;
    let synced = store.sync_legacy_agents(account, listed, times);
    let synced = synced.await?;
    if let Err(error) = found::take_in(runner, account, &credential).await {
        tracing::warn!(%account, %error, "what legacy agents did by themselves is not looked at");
    }
    Ok(synced)
}

fn listed_agent(mut agent: LegacyAgent) -> ListedAgent {
    // An invalid tag names no language.
    agent.language = agent.language.filter(|tag| is_bcp47_shape(tag));
    let config = summary(&agent).to_compact();
    let language = agent
        .language
        .unwrap_or_else(|| DEFAULT_LANGUAGE.to_owned());
    let numbers = agent.phone_numbers.into_iter().map(|number| ListedNumber {
        number: number.number,
        label: number.label,
        provider: number.provider,
    });
    ListedAgent {
        provider_agent_id: agent.id,
        name_folded: fold(&agent.name),
        name: agent.name,
        language,
        config,
        numbers: numbers.collect(),
    }
}

/// The stored summary of an agent's configuration: unknown members are null.
fn summary(agent: &LegacyAgent) -> Json {
    let text = |text: &Option<String>| text.clone().map_or(Json::Null, Json::String);
    let object = |members: Vec<(&str, Json)>| {
        let members = members.into_iter();
        Json::Object(
            members
                .map(|(name, value)| (name.to_owned(), value))
                .collect(),
        )
    };
    object(vec![
        ("system_prompt", text(&agent.system_prompt)),
        ("first_message", text(&agent.first_message)),
        ("language", text(&agent.language)),
        ("llm", object(vec![("model", text(&agent.model))])),
        ("voice", object(vec![("voice_id", text(&agent.voice_id))])),
    ])
}
