//! The models that agents can use.

use std::collections::HashMap;
use std::sync::Arc;

use offhook_egress::GuardedClient;
use offhook_engine::ports::{AccountKey, Endpoint, LanguageModel, ModelError, Models};

use crate::anthropic::{self, Messages};
use crate::google::{self, GenerateContent};
use crate::http;
use crate::model_service::{Client, Refusals, Service};
use crate::openai::{self, ChatCompletions};
use crate::scripted::Scripted;
use crate::settings::{ProviderSettings, SettingsError};

/// The provider for endpoints of customers.
const CUSTOM: &str = "custom";

/// The provider that needs no settings.
const SCRIPTED: &str = "scripted";

/// The providers whose wire format and base URL are known. All others have OpenAI's wire format.
const OPENAI: &str = "openai";
const ANTHROPIC: &str = "anthropic";
const GOOGLE: &str = "google";

/// The base URL of a vendor's own service; `None` for a provider that is no vendor.
fn base_url(provider: &str) -> Option<&'static str> {
    match provider {
        OPENAI => Some(openai::BASE_URL),
        ANTHROPIC => Some(anthropic::BASE_URL),
        GOOGLE => Some(google::BASE_URL),
        _ => None,
    }
}

/// Finds models by provider: those of the settings, `scripted`, and `custom` if it has a client.
#[derive(Clone)]
pub struct ModelRegistry {
    providers: HashMap<String, Arc<dyn LanguageModel>>,
    /// The deployment's client, and the base URLs of its providers.
    trusted: Option<(reqwest::Client, HashMap<String, String>)>,
    custom: Option<GuardedClient>,
    refusals: Refusals,
}

impl ModelRegistry {
    /// A registry of these providers and `scripted`. All share one HTTP client without environment proxies and
    /// redirects. The error names the provider.
    pub fn new(
        settings: impl IntoIterator<Item = (String, ProviderSettings)>,
    ) -> Result<Self, SettingsError> {
        let mut settings = settings.into_iter().peekable();
        let mut registry = Self {
            providers: HashMap::new(),
            trusted: None,
            custom: None,
            refusals: Refusals::default(),
        };
        if settings.peek().is_some() {
            let (client, mut urls) = (http::streaming_client()?, HashMap::new());
            for (name, provider) in settings {
                if [SCRIPTED, CUSTOM].contains(&&*name) {
                    return Err(SettingsError::BuiltIn(name));
                }
                let key = provider.api_key.as_deref();
                let trusted = Client::Trusted(client.clone());
                let model = registry.service(&name, trusted, &provider.base_url, key)?;
                registry.providers.insert(name.clone(), model);
                urls.insert(name, provider.base_url);
            }
            registry.trusted = Some((client, urls));
        }
        registry
            .providers
            .insert(SCRIPTED.to_owned(), Arc::new(Scripted));
        Ok(registry)
    }

    /// Enables customers' own endpoints and keys. Requests to their services use this client, with the account's
    /// credential only.
    #[must_use]
    pub fn with_custom_client(mut self, client: GuardedClient) -> Self {
        self.custom = Some(client);
        self
    }

    /// The provider names that agents can use, sorted.
    pub fn providers(&self) -> Vec<&str> {
        let named = self.providers.keys().map(String::as_str);
        let mut names: Vec<&str> = named.chain(self.custom.as_ref().map(|_| CUSTOM)).collect();
        names.sort_unstable();
        names
    }

    /// A service in the wire format of the provider.
    fn service(
        &self,
        provider: &str,
        client: Client,
        base_url: &str,
        key: Option<&str>,
    ) -> Result<Arc<dyn LanguageModel>, SettingsError> {
        let service = Service {
            client,
            base: base_url.trim_end_matches('/').to_owned(),
            key: key.map(str::to_owned),
            refusals: self.refusals.clone(),
        };
        match provider {
            ANTHROPIC => service.in_format::<Messages>(provider),
            GOOGLE => service.in_format::<GenerateContent>(provider),
            _ => service.in_format::<ChatCompletions>(provider),
        }
    }

    /// A provider with an account's own key: at the service that the account chose, else where the deployment has the
    /// provider, else at the vendor.
    fn own(&self, provider: &str, key: &AccountKey) -> Option<Arc<dyn LanguageModel>> {
        let guarded = || self.custom.clone().map(Client::Guarded);
        let trusted = self.trusted.as_ref();
        let deployed = trusted.and_then(|(client, urls)| Some((client, urls.get(provider)?)));
        let (client, base_url) = match (&key.base_url, deployed) {
            (Some(chosen), _) => (guarded()?, chosen.as_str()),
            (None, Some((client, url))) => (Client::Trusted(client.clone()), url.as_str()),
            (None, None) => (guarded()?, base_url(provider)?),
        };
        let model = self.service(provider, client, base_url, Some(&key.key));
        model.ok()
    }
}

impl Models for ModelRegistry {
    fn find(
        &self,
        provider: &str,
        _model: &str,
        endpoint: Option<&Endpoint>,
    ) -> Result<Arc<dyn LanguageModel>, ModelError> {
        if provider != CUSTOM {
            let found = self.providers.get(provider);
            return found.cloned().ok_or(ModelError::NotConfigured);
        }
        let client = self.custom.clone().ok_or(ModelError::NotConfigured)?;
        let endpoint = endpoint.ok_or(ModelError::NotConfigured)?;
        let (client, key) = (Client::Guarded(client), endpoint.key.as_deref());
        let model = self.service(CUSTOM, client, &endpoint.url, key);
        model.map_err(|_| ModelError::NotConfigured)
    }

    fn with_keys(&self, keys: &[AccountKey]) -> Option<Arc<dyn Models>> {
        let mut own = None;
        for key in keys {
            let Some(provider) = key.vendor.own_key().and_then(|used| used.llm) else {
                continue;
            };
            let model = self.own(provider, key);
            let own = own.get_or_insert_with(|| self.clone());
            match model {
                Some(model) => own.providers.insert(provider.to_owned(), model),
                None => own.providers.remove(provider),
            };
        }
        own.map(|own| Arc::new(own) as Arc<dyn Models>)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(name: &str, base_url: &str, key: Option<&str>) -> [(String, ProviderSettings); 1] {
        let settings = ProviderSettings {
            base_url: base_url.to_owned(),
            api_key: key.map(str::to_owned),
        };
        [(name.to_owned(), settings)]
    }

    fn at(url: &str) -> Endpoint {
        Endpoint {
            url: url.to_owned(),
            key: None,
        }
    }

    #[test]
    fn scripted_is_always_there_and_custom_only_with_its_client() {
        let registry = ModelRegistry::new([]).unwrap();
        assert_eq!(registry.providers(), ["scripted"]);
        assert!(registry.find("scripted", "scripted", None).is_ok());
        for provider in ["custom", "openai"] {
            let found = registry.find(provider, "m", Some(&at("https://models.example.com/v1")));
            assert_eq!(found.err(), Some(ModelError::NotConfigured));
        }
    }

    #[test]
    fn a_custom_endpoint_keeps_the_rules_for_targets() {
        let client = GuardedClient::new(offhook_egress::Policy::default()).unwrap();
        let registry = ModelRegistry::new([]).unwrap().with_custom_client(client);
        let find = |endpoint: Option<&str>| {
            let endpoint = endpoint.map(at);
            registry.find("custom", "m", endpoint.as_ref()).err()
        };
        assert_eq!(find(Some("https://models.example.com/v1")), None);
        for endpoint in [
            None,
            Some("http://models.example.com/v1"),
            Some("https://127.0.0.1/v1"),
            Some("https://user:pass@models.example.com/v1"),
        ] {
            assert_eq!(
                find(endpoint),
                Some(ModelError::NotConfigured),
                "{endpoint:?}"
            );
        }
    }

    #[test]
    fn an_invalid_setting_is_reported_with_its_providers_name() {
        let error = |settings| ModelRegistry::new(settings).err().map(|e| e.to_string());
        assert_eq!(
            error(one("mine", "models.example.com", None)).as_deref(),
            Some(
                "provider `mine`: base_url must be a whole http or https URL without query or fragment"
            )
        );
        assert_eq!(
            error(one("mine", "https://models.example.com", Some("a\nb"))).as_deref(),
            Some("provider `mine`: api_key holds characters that no HTTP header can carry")
        );
        assert_eq!(
            error(one("scripted", "https://models.example.com", None)).as_deref(),
            Some("provider `scripted` is built in and takes no settings")
        );
    }

    #[test]
    fn a_key_does_not_show_itself_in_debug_output() {
        let [(_, settings)] = one("mine", "https://models.example.com", Some("sk-secret"));
        assert!(!format!("{settings:?}").contains("secret"));
    }
}
