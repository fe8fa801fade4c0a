//! The models that agents can use.

use std::collections::HashMap;
use std::sync::Arc;

use offhook_egress::{GuardedClient, TargetUrl, http_url};
use offhook_engine::ports::{Endpoint, LanguageModel, ModelError, Models};

use crate::http;
use crate::openai::{ChatCompletions, completions_url};
use crate::scripted::Scripted;
use crate::settings::{ProviderSettings, SettingsError};

/// The provider for endpoints of customers.
const CUSTOM: &str = "custom";

/// The provider that needs no settings.
const SCRIPTED: &str = "scripted";

/// Finds models by provider: those of the settings, `scripted`, and `custom` if it has a client.
pub struct ModelRegistry {
    providers: HashMap<String, Arc<dyn LanguageModel>>,
    custom: Option<GuardedClient>,
}

impl ModelRegistry {
    /// A registry of these providers and `scripted`. All share one HTTP client without environment proxies and
    /// redirects. The error names the provider.
    pub fn new(
        settings: impl IntoIterator<Item = (String, ProviderSettings)>,
    ) -> Result<Self, SettingsError> {
        let mut settings = settings.into_iter().peekable();
        let mut providers: HashMap<String, Arc<dyn LanguageModel>> = HashMap::new();
        if settings.peek().is_some() {
            let client = http::streaming_client()?;
            for (name, provider) in settings {
                let model = trusted(&client, &name, &provider)?;
                providers.insert(name, Arc::new(model));
            }
        }
        providers.insert(SCRIPTED.to_owned(), Arc::new(Scripted));
        Ok(Self {
            providers,
            custom: None,
        })
    }

    /// Enables customers' own endpoints. Requests to them use this client, with the account's credential only.
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
        let url = completions_url(&endpoint.url);
        let url = TargetUrl::parse(&url, client.policy()).map_err(|_| ModelError::NotConfigured)?;
        let authorization = http::given_credential(CUSTOM, "Bearer ", endpoint.key.as_deref())
            .map_err(|_| ModelError::NotConfigured)?;
        Ok(Arc::new(ChatCompletions::custom(
            client,
            url,
            authorization,
        )))
    }
}

fn trusted(
    client: &reqwest::Client,
    name: &str,
    settings: &ProviderSettings,
) -> Result<ChatCompletions, SettingsError> {
    if [SCRIPTED, CUSTOM].contains(&name) {
        return Err(SettingsError::BuiltIn(name.to_owned()));
    }
    let url = http_url(&completions_url(&settings.base_url))
        .ok_or_else(|| SettingsError::BaseUrl(name.to_owned()))?;
    let authorization = http::given_credential(name, "Bearer ", settings.api_key.as_deref())?;
    Ok(ChatCompletions::trusted(client.clone(), url, authorization))
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
