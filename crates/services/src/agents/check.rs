//! Configuration checks that need this service: catalog, target URLs, time zones and features not built yet.

use offhook_domain::config::CUSTOM_PROVIDER;
use offhook_domain::json::{Fault, FieldError, member_path};
use offhook_domain::messages::Choices;
use offhook_domain::{AccountId, AgentConfig};
use offhook_egress::{Policy, TargetUrl};
use offhook_engine::ports::Endpoint;
use offhook_engine::voice::Ambient;

use super::speech::{FALLBACK_VOICES, VOICE_ID};
use super::{Agents, refused};
use crate::catalog::ModelKind;
use crate::error::{Result, UseCaseError};
use crate::speech::lists_voices;
use crate::voices::UnreadyVoice;
use crate::{Providers, Refusal};

impl Agents {
    /// Makes sure that the agent can speak with the chosen voice, if any, and with the fallback voices.
    pub(super) async fn ready_voices(
        &self,
        account: AccountId,
        config: &AgentConfig,
    ) -> Result<()> {
        let voice = &config.voice;
        let chosen = voice.provider.as_deref().zip(voice.voice_id.as_deref());
        let chosen = chosen.map(|(provider, id)| (VOICE_ID.to_owned(), provider, id));
        let others = voice.fallback_voices.iter().map(|(provider, id)| {
            let path = member_path(FALLBACK_VOICES, provider);
            (path, provider.as_str(), id.as_str())
        });
        for (path, provider, id) in chosen.into_iter().chain(others) {
            // A self-hosted program or server does not list its voices.
            if !lists_voices(provider) {
                continue;
            }
            match self.voices.make_ready(account, provider, id).await {
                Ok(()) => {}
                Err(UnreadyVoice::Store(error)) => return Err(error.into()),
                Err(UnreadyVoice::Library(error)) => {
                    return Err(UseCaseError::Upstream(Refusal::VoicesFailed(error)));
                }
                Err(UnreadyVoice::Invalid(fault)) => {
                    return Err(refused(FieldError::new(path, fault)));
                }
            }
        }
        Ok(())
    }
}

impl Providers {
    /// Checks a configuration against this service: catalog, target URLs, time zones and features not built yet.
    pub(crate) fn check_config(&self, config: &AgentConfig) -> Result<(), FieldError> {
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
                .map_err(|error| FieldError::new("config.llm.endpoint", error))?;
        }
        self.check_speech(config)?;
        if let Some(hours) = &config.conversation.calling_hours
            && jiff::tz::TimeZone::get(&hours.timezone).is_err()
        {
            return Err(FieldError::new(
                "config.conversation.calling_hours.timezone",
                Fault::TimeZone,
            ));
        }
        if let Some(place) = config.conversation.audio.ambient.as_deref()
            && Ambient::named(place).is_none()
        {
            let known = Ambient::ALL.map(Ambient::name).join("`, `");
            return Err(FieldError::new(
                "config.conversation.audio.ambient",
                Fault::Choice(Choices(format!("one of `{known}`"))),
            ));
        }
        Ok(())
    }

    fn check_provider(&self, path: &str, provider: &str) -> Result<(), FieldError> {
        if provider == CUSTOM_PROVIDER || self.catalog.has_provider(ModelKind::Llm, provider) {
            return Ok(());
        }
        let known = self.catalog.providers(ModelKind::Llm).join("`, `");
        Err(FieldError::new(
            path,
            Fault::Choice(Choices(format!("one of `{known}` or `{CUSTOM_PROVIDER}`"))),
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
            Fault::NoModel {
                provider: provider.to_owned(),
                kind: "llm",
            },
        ))
    }

    /// Whether this process can call a model.
    pub(super) fn has_model(&self, provider: &str, model: &str, endpoint: Option<&str>) -> bool {
        let endpoint = endpoint.map(|url| Endpoint {
            url: url.to_owned(),
            key: None,
        });
        let found = self.models.find(provider, model, endpoint.as_ref());
        found.is_ok()
    }

    pub(crate) fn check_publishable(&self, config: &AgentConfig) -> Result<()> {
        config.publishable().map_err(refused)?;
        let llm = &config.llm;
        if let Some((provider, model)) = llm.provider.as_deref().zip(llm.model.as_deref())
            && !self.has_model(provider, model, llm.endpoint.as_deref())
        {
            return Err(refused(FieldError::new(
                "config.llm.provider",
                Fault::NoProvider(provider.to_owned()),
            )));
        }
        self.check_speech_publishable(config).map_err(refused)
    }
}
