//! What only this service can know of a configuration: catalog, targets, time zones, and what is not built yet.

use offhook_domain::config::CUSTOM_PROVIDER;
use offhook_domain::json::FieldError;
use offhook_domain::{AccountId, AgentConfig, VoiceProvider};
use offhook_egress::{Policy, TargetUrl};

use super::{AgentError, Agents, refused};
use crate::Shared;
use crate::catalog::ModelKind;
use crate::voices::UnreadyVoice;

impl Agents {
    /// Makes sure that the agent can speak with the voice that is chosen, if there is one.
    pub(super) async fn ready_voice(
        &self,
        account: AccountId,
        config: &AgentConfig,
    ) -> Result<(), AgentError> {
        let voice = &config.voice;
        let fault = match (&voice.provider, &voice.voice_id) {
            (None, None) => return Ok(()),
            (Some(_), None) => FieldError::new(
                "config.voice.voice_id",
                "is required beside `provider`; GET /v1/voices lists them",
            ),
            (None, Some(_)) => {
                FieldError::new("config.voice.provider", "is required beside `voice_id`")
            }
            (Some(provider), Some(id)) => match self.1.make_ready(account, provider, id).await {
                Ok(()) => return Ok(()),
                Err(UnreadyVoice::Store(error)) => return Err(error.into()),
                Err(UnreadyVoice::Library(error)) => {
                    return Err(AgentError::VoiceProvider(error.to_string()));
                }
                Err(unready) => FieldError::new("config.voice.voice_id", unready.to_string()),
            },
        };
        Err(refused(fault))
    }
}

impl Shared {
    /// What only this service can know of a configuration: catalog, targets, time zones, and what is not built yet.
    pub(super) fn check_config(&self, config: &AgentConfig) -> Result<(), FieldError> {
        let llm = &config.llm;
        let named = llm.provider.as_deref().zip(llm.model.as_deref());
        if let Some(provider) = llm.provider.as_deref() {
            self.check_provider("config.llm.provider", provider)?;
        }
        if let Some((provider, model)) = named {
            self.check_model("config.llm.model", provider, model)?;
        }
        for (at, other) in llm.fallback.iter().enumerate() {
            let path = format!("config.llm.fallback[{at}]");
            self.check_provider(&format!("{path}.provider"), &other.provider)?;
            self.check_model(&format!("{path}.model"), &other.provider, &other.model)?;
        }
        if let Some(endpoint) = &llm.endpoint {
            TargetUrl::parse(endpoint, Policy::default())
                .map_err(|error| FieldError::new("config.llm.endpoint", error.to_string()))?;
        }
        if let Some(hours) = &config.conversation.calling_hours
            && jiff::tz::TimeZone::get(&hours.timezone).is_err()
        {
            return Err(FieldError::new(
                "config.conversation.calling_hours.timezone",
                "must be an IANA time zone, such as America/Mexico_City",
            ));
        }
        if let Some(provider) = &config.voice.provider
            && provider.parse::<VoiceProvider>().is_err()
        {
            return Err(FieldError::new(
                "config.voice.provider",
                "must be one of `provider_a`, `provider_b` or `provider_c`",
            ));
        }
        config.first_unavailable().map_or(Ok(()), Err)
    }

    fn check_provider(&self, path: &str, provider: &str) -> Result<(), FieldError> {
        if provider == CUSTOM_PROVIDER || self.catalog.has_provider(ModelKind::Llm, provider) {
            return Ok(());
        }
        let known = self.catalog.providers(ModelKind::Llm).join("`, `");
        Err(FieldError::new(
            path,
            format!("must be one of `{known}` or `{CUSTOM_PROVIDER}`"),
        ))
    }

    fn check_model(&self, path: &str, provider: &str, model: &str) -> Result<(), FieldError> {
        let known = provider == CUSTOM_PROVIDER
            || self.catalog.find(ModelKind::Llm, provider, model).is_some();
        if known {
            return Ok(());
        }
        Err(FieldError::new(
            path,
            format!("`{provider}` has no such model; GET /v1/models?kind=llm lists them"),
        ))
    }

    pub(super) fn check_publishable(&self, config: &AgentConfig) -> Result<(), AgentError> {
        config.publishable().map_err(refused)?;
        let llm = &config.llm;
        if let Some((provider, model)) = llm.provider.as_deref().zip(llm.model.as_deref())
            && self
                .models
                .find(provider, model, llm.endpoint.as_deref())
                .is_err()
        {
            return Err(refused(FieldError::new(
                "config.llm.provider",
                format!("`{provider}` is not set up on this service (models.{provider}.base_url)"),
            )));
        }
        Ok(())
    }
}
