//! Configuration checks that need this service: catalog, target URLs, time zones and features not built yet.

use language_tags::LanguageTag;
use offhook_domain::config::CUSTOM_PROVIDER;
use offhook_domain::json::{item_path, member_path};
use offhook_domain::messages::Choices;
use offhook_egress::{Policy, TargetUrl};
use offhook_engine::ports::Endpoint;
use offhook_engine::voice::Ambient;

use super::speech::{FALLBACK_VOICES, VOICE_ID};
use super::{Agents, refused};
use crate::catalog::ModelKind;
use crate::error::Result;
use crate::prelude::*;
use crate::speech::lists_voices;
use crate::voices::UnreadyVoice;

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
    /// Checks a configuration against this service: languages, catalog, target URLs, time zones and sounds.
    pub(crate) fn check_config(&self, config: &AgentConfig) -> Result<(), FieldError> {
        self.config_faults(config)
            .into_iter()
            .next()
            .map_or(Ok(()), Err)
    }

    /// Every fault of a configuration on this service, in the documented order.
    pub(super) fn config_faults(&self, config: &AgentConfig) -> Vec<FieldError> {
        let mut faults = Faults::default();
        let llm = &config.llm;
        faults.note(check_language("config.language", &config.language));
        let model = |path: &str, provider: &str, model: Option<&str>| {
            self.check_provider(&member_path(path, "provider"), provider)?;
            let model = model.map(|model| {
                let path = member_path(path, "model");
                self.check_model(&path, provider, model)
            });
            model.unwrap_or(Ok(()))
        };
        if let Some(provider) = llm.provider.as_deref() {
            faults.note(model("config.llm", provider, llm.model.as_deref()));
        }
        for (at, other) in llm.fallback.iter().enumerate() {
            let path = item_path("config.llm.fallback", at);
            faults.note(model(&path, &other.provider, Some(&other.model)));
        }
        if let Some(endpoint) = &llm.endpoint {
            let parsed = TargetUrl::parse(endpoint, Policy::default());
            faults.note(parsed.map_err(|error| FieldError::new("config.llm.endpoint", error)));
        }
        faults.0.extend(self.speech_faults(config));
        if let Some(hours) = &config.conversation.calling_hours
            && jiff::tz::TimeZone::get(&hours.timezone).is_err()
        {
            let path = "config.conversation.calling_hours.timezone";
            faults.0.push(FieldError::new(path, Fault::TimeZone));
        }
        if let Some(place) = config.conversation.audio.ambient.as_deref()
            && Ambient::named(place).is_none()
        {
            let known = Ambient::ALL.map(Ambient::name).join("`, `");
            faults.0.push(FieldError::new(
                "config.conversation.audio.ambient",
                Fault::Choice(Choices(format!("one of `{known}`"))),
            ));
        }
        faults.0
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
        let first = self.publish_faults(config).into_iter().next();
        first.map_or(Ok(()), |fault| Err(refused(fault)))
    }

    /// Everything that prevents a call with this configuration here.
    pub(super) fn publish_faults(&self, config: &AgentConfig) -> Vec<FieldError> {
        let mut faults = config.publish_faults();
        let llm = &config.llm;
        let is_whole = !faults
            .iter()
            .any(|fault| fault.path.starts_with("config.llm"));
        if let Some((provider, model)) = llm.provider.as_deref().zip(llm.model.as_deref())
            && is_whole
            && !self.has_model(provider, model, llm.endpoint.as_deref())
        {
            faults.push(FieldError::new(
                "config.llm.provider",
                no_provider(ModelKind::Llm, provider, Fault::NoProvider),
            ));
        }
        faults.extend(self.speech_publish_faults(config));
        faults
    }
}

/// The fault of a provider that is not set up: with the remedy of an account, if it can have its own key.
pub(super) fn no_provider(
    kind: ModelKind,
    provider: &str,
    otherwise: impl FnOnce(String) -> Fault,
) -> Fault {
    match kind.may_be_own(provider) {
        true => Fault::NoKey(provider.to_owned()),
        false => otherwise(provider.to_owned()),
    }
}

/// The faults found so far.
#[derive(Default)]
pub(super) struct Faults(pub(super) Vec<FieldError>);

impl Faults {
    pub(super) fn note<T>(&mut self, checked: Result<T, FieldError>) {
        self.0.extend(checked.err());
    }
}

/// A language begins with a registered code: a recognizer or a voice could do nothing with `english`.
pub(super) fn check_language(path: &str, tag: &str) -> Result<(), FieldError> {
    let code = tag.split('-').next().unwrap_or(tag);
    let is_registered = LanguageTag::parse(code).is_ok_and(|code| code.is_valid());
    if is_registered {
        return Ok(());
    }
    let fault = Fault::UnknownLanguage(code.to_owned());
    Err(FieldError::new(path, fault))
}
