//! An account's own keys for models and speech. Where it has one, its agents use that and not the deployment's; what they
//! use by it costs nothing here, as with its own server (`custom`).

use futures_util::StreamExt as _;
use futures_util::stream::BoxStream;
use offhook_egress::{Policy, TargetUrl};
use offhook_engine::Latencies;
use offhook_engine::ports::{
    AccountKey, Endpoint, KeyAnswer, LanguageModel, ModelDelta, ModelError, ModelRequest, Models,
};

use crate::catalog::{Catalog, ModelKind};
use crate::error::SecretFault;
use crate::prelude::*;
use crate::{CredentialFault, Result};

/// The longest key, in characters.
const KEY_CHARS: usize = 1_024;

/// The end of a key that is shown, and the shortest key whose end is.
const SHOWN: usize = 4;
const SHORTEST: usize = 12;

/// Parses an account's own key: the key itself, or for OpenAI also a JSON object of `api_key` and `base_url`. The error
/// contains nothing of the secret.
pub(crate) fn read(vendor: CredentialProvider, secret: &str) -> Result<AccountKey, SecretFault> {
    let (key, base_url) = match vendor {
        CredentialProvider::OpenAi if secret.starts_with('{') => with_base_url(secret)?,
        _ => (secret.to_owned(), None),
    };
    if key.is_empty() || key.len() > KEY_CHARS || !key.bytes().all(|b| b.is_ascii_graphic()) {
        let fault = FieldError::new("api_key", Fault::Graphic);
        return Err(SecretFault::Field(fault));
    }
    Ok(AccountKey {
        vendor,
        base_url,
        key: key.into(),
    })
}

fn with_base_url(secret: &str) -> Result<(String, Option<String>), SecretFault> {
    let json = Json::parse(secret.as_bytes()).map_err(|error| match error {
        JsonError::NotJson => SecretFault::OpenAi,
        JsonError::Field(fault) => SecretFault::Field(fault),
    })?;
    let read = || -> Result<_, FieldError> {
        let mut fields = Fields::of(&json, "")?;
        let key = fields.required_string("api_key", 1..=KEY_CHARS)?.to_owned();
        let url = fields.optional_string("base_url", 1..=2_048)?;
        if let Some(url) = url {
            TargetUrl::parse(url, Policy::default())
                .map_err(|error| FieldError::new("base_url", error))?;
        }
        let url = url.map(str::to_owned);
        fields.finish()?;
        Ok((key, url))
    };
    read().map_err(SecretFault::Field)
}

/// The end of a key, by which an account recognizes it. A short key has none: it would be most of the secret.
pub(crate) fn end_of(key: &str) -> Option<String> {
    let characters: Vec<char> = key.chars().collect();
    let is_long = characters.len() >= SHORTEST;
    is_long.then(|| characters[characters.len() - SHOWN..].iter().collect())
}

impl Providers {
    /// These providers with the account's own keys, read now.
    pub(crate) async fn of(
        self: &Arc<Self>,
        ctx: &Context,
        account: AccountId,
    ) -> Result<Arc<Self>, StoreError> {
        let stored = ctx.store.own_keys(account).await?;
        if stored.is_empty() {
            return Ok(Arc::clone(self));
        }
        let keys = stored.into_iter().map(|(provider, secret)| {
            let corrupt = |fault| StoreError::Corrupt(format!("credential {provider}: {fault}"));
            read(provider, &secret).map_err(corrupt)
        });
        let keys: Vec<AccountKey> = keys.collect::<Result<_, _>>()?;
        let used = keys.iter().filter_map(|key| key.vendor.own_key());
        let catalog = Arc::new(self.catalog.with_own_keys(&used.collect::<Vec<_>>()));
        let models = self.models.with_keys(&keys);
        let speech = self.speech.with_keys(&keys);
        Ok(Arc::new(Self {
            models: Arc::new(Listed {
                own: Some(Owner {
                    store: ctx.store.clone(),
                    clock: Arc::clone(&ctx.clock),
                    account,
                    vendors: keys.iter().map(|key| key.vendor).collect(),
                }),
                ..Listed::new(models.as_ref().unwrap_or(&self.models), &catalog)
            }),
            catalog,
            speech: speech.unwrap_or_else(|| Arc::clone(&self.speech)),
            // How fast the account's own services are says nothing about the deployment's.
            latencies: Latencies::default(),
            network: self.network.clone(),
            legacy: Arc::clone(&self.legacy),
            legacy_price: self.legacy_price,
        }))
    }

    /// As [`of`](Self::of), for an account whose row was read: one without own keys costs no statement.
    pub(crate) async fn of_account(
        self: &Arc<Self>,
        ctx: &Context,
        account: &Account,
    ) -> Result<Arc<Self>, StoreError> {
        match account.has_own_keys {
            true => self.of(ctx, account.id).await,
            false => Ok(Arc::clone(self)),
        }
    }

    /// Asks the vendor of an own key once whether it accepts the key. The key was checked when it was stored.
    pub(crate) async fn ask_vendor(&self, vendor: CredentialProvider, secret: &str) -> KeyAnswer {
        let Ok(key) = read(vendor, secret) else {
            return KeyAnswer::Unconfirmed;
        };
        let Some(provider) = vendor.own_key().and_then(|used| used.llm) else {
            return self.speech.ask(&key).await;
        };
        let models = self.models.with_keys(&[key]);
        match models.and_then(|models| models.find(provider, "", None).ok()) {
            Some(model) => model.ask().await,
            None => KeyAnswer::Unconfirmed,
        }
    }

    /// The models for a conversation that began at this price. A model that costs more is not one of them: the account's
    /// own key, which made it free, has been removed since.
    pub(crate) fn models_within(&self, price: Price) -> Arc<dyn Models> {
        Arc::new(Listed {
            at_most: Some(price),
            ..Listed::new(&self.models, &self.catalog)
        })
    }
}

/// The models of the catalog. What an account may name with its own key alone, the deployment's key does not serve.
pub(crate) struct Listed {
    inner: Arc<dyn Models>,
    catalog: Arc<Catalog>,
    at_most: Option<Price>,
    /// The account whose own keys are among them.
    own: Option<Owner>,
}

#[derive(Clone)]
struct Owner {
    store: Store,
    clock: Arc<dyn Clock>,
    account: AccountId,
    vendors: Arc<[CredentialProvider]>,
}

impl Owner {
    /// The vendor whose key of the account serves a provider's models.
    fn vendor(&self, provider: &str) -> Option<CredentialProvider> {
        let serves = |used: OwnKey| used.llm == Some(provider);
        let mut vendors = self.vendors.iter().copied();
        vendors.find(|vendor| vendor.own_key().is_some_and(serves))
    }
}

impl Listed {
    pub(crate) fn new(inner: &Arc<dyn Models>, catalog: &Arc<Catalog>) -> Self {
        Self {
            inner: Arc::clone(inner),
            catalog: Arc::clone(catalog),
            at_most: None,
            own: None,
        }
    }
}

impl Models for Listed {
    fn find(
        &self,
        provider: &str,
        model: &str,
        endpoint: Option<&Endpoint>,
    ) -> Result<Arc<dyn LanguageModel>, ModelError> {
        if provider != offhook_domain::config::CUSTOM_PROVIDER {
            let listed = self.catalog.find(ModelKind::Llm, provider, model);
            let price = listed.ok_or(ModelError::NotConfigured)?.any_price();
            if self.at_most.is_some_and(|most| price > most) {
                return Err(ModelError::NotConfigured);
            }
        }
        let found = self.inner.find(provider, model, endpoint)?;
        let owner = self.own.as_ref();
        let own = owner.and_then(|owner| Some((owner.clone(), owner.vendor(provider)?)));
        Ok(match own {
            Some((owner, vendor)) => Arc::new(Watched(found, owner, vendor)),
            None => found,
        })
    }

    fn with_keys(&self, keys: &[AccountKey]) -> Option<Arc<dyn Models>> {
        self.inner.with_keys(keys)
    }
}

/// A model that an account may use by its own key. If the vendor refuses the key, that is recorded with it.
struct Watched(Arc<dyn LanguageModel>, Owner, CredentialProvider);

impl LanguageModel for Watched {
    fn stream(&self, request: ModelRequest) -> BoxStream<'static, Result<ModelDelta, ModelError>> {
        let Self(model, owner, vendor) = self;
        let (owner, vendor, at) = (owner.clone(), *vendor, owner.clock.now());
        let watched = model.stream(request).inspect(move |delta| {
            if !matches!(delta, Err(ModelError::Refused(401 | 403))) {
                return;
            }
            let Owner { store, account, .. } = owner.clone();
            tracing::warn!(%account, provider = %vendor, "an account's own key was refused");
            tokio::spawn(async move {
                let why = CredentialFault::KeyRefused.to_string();
                let written = store.credential_unanswered(account, vendor, at, &why);
                if let Err(error) = written.await {
                    tracing::warn!(%error, %account, "the refusal of an own key is not recorded");
                }
            });
        });
        watched.boxed()
    }
}
