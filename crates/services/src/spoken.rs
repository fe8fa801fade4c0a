//! The recognizer and the voice of one call, on a phone network with audio.

use offhook_domain::config::Voicemail;
use offhook_engine::Persona;
use offhook_engine::ports::speech::{VoiceKey, VoiceSettings};
use offhook_engine::voice::{
    Ambient, Pronunciation, PronunciationRule, RecognizerChoice, SpokenSettings, Voice,
    speech_detector,
};

use crate::dialer::Meter;
use crate::prelude::*;
use crate::retry::retried;
use crate::speech::SpeechOutput;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    /// The agent called.
    Outbound,
    /// The customer called.
    Inbound,
}

impl Direction {
    /// The direction of this conversation.
    pub(crate) fn of(call: &Conversation) -> Self {
        if call.is_inbound() {
            Self::Inbound
        } else {
            Self::Outbound
        }
    }

    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Outbound => "outbound",
            Self::Inbound => "inbound",
        }
    }
}

/// Why an agent cannot hold a spoken call here. It names providers, which are not secret, and nothing of the call.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SpeechUnavailable {
    /// No speech-to-text provider is usable.
    #[error("no recognizer can be had for the agent: {0}")]
    NoRecognizer(String),
    /// No text-to-speech provider is usable.
    #[error("no voice can be had for the agent: {0}")]
    NoSynthesizer(String),
}

impl Providers {
    /// The speech settings of the account's agent for one call. An unusable provider is skipped while another is left:
    /// they also replace each other during the call.
    pub(crate) async fn spoken(
        &self,
        store: &Store,
        account: AccountId,
        config: &AgentConfig,
        direction: Direction,
        meter: Option<&Meter>,
    ) -> Result<SpokenSettings, SpeechUnavailable> {
        let voices = self.keyed_voices(store, account, config).await;
        let recognizers = self
            .recognizers(config)
            .into_iter()
            .map(|(provider, settings)| {
                let found = self.speech.recognizer(&provider, &settings);
                let metered = found.map(|service| match meter {
                    Some(meter) => meter.ear(service, (&provider, &settings.model)),
                    None => service,
                });
                metered
                    .map(|service| RecognizerChoice { service, settings })
                    .map_err(|error| format!("`{provider}`: {error}"))
            });
        let voices = voices.into_iter().map(|voice| {
            let (provider, settings) = voice?;
            let found = self.speech.synthesizer(&provider, &settings);
            let metered = found.map(|service| match meter {
                Some(meter) => meter.voice(service, (&provider, &settings.model)),
                None => service,
            });
            metered
                .map(|service| Voice { service, settings })
                .map_err(|error| format!("`{provider}`: {error}"))
        });
        let conversation = &config.conversation;
        let turns = &conversation.turns;
        let ambient = conversation.audio.ambient.as_deref();
        let endpointing = u64::try_from(turns.endpointing_ms).unwrap_or(0);
        Ok(SpokenSettings {
            recognizers: within_reach(recognizers).map_err(SpeechUnavailable::NoRecognizer)?,
            voices: within_reach(voices).map_err(SpeechUnavailable::NoSynthesizer)?,
            endpointing: Duration::from_millis(endpointing),
            screens: direction == Direction::Outbound && turns.voicemail != Voicemail::Ignore,
            ambient: ambient.and_then(Ambient::named),
            pronunciation: pronunciation(config),
            detector: speech_detector(),
            recorder: None,
        })
    }

    /// The agent's voices, the account's own with its key; or why a voice is unusable.
    pub(crate) async fn keyed_voices(
        &self,
        store: &Store,
        account: AccountId,
        config: &AgentConfig,
    ) -> Vec<Result<SpeechOutput, String>> {
        let mut keyed = Vec::new();
        for (provider, settings) in self.voices(config) {
            let key = self
                .own_key(store, account, &provider, &settings.voice_id)
                .await;
            let key = key.map_err(|fault| format!("`{provider}`: {fault}"));
            keyed.push(key.map(|key| (provider, VoiceSettings { key, ..settings })));
        }
        keyed
    }

    /// The account's key, if the voice is its own. The deployment's key opens all other voices, and never an account's
    /// own, nor one that used to be.
    async fn own_key(
        &self,
        store: &Store,
        account: AccountId,
        provider: &str,
        voice_id: &str,
    ) -> Result<Option<VoiceKey>, String> {
        let Ok(provider) = provider.parse::<VoiceProvider>() else {
            return Ok(None);
        };
        let credential = some_or!(CredentialProvider::of_voices(provider), None);
        let owner = retried(|| store.voice_owner(account, provider, voice_id)).await;
        match owner.map_err(|error| error.to_string())? {
            VoiceOwner::Account => {}
            VoiceOwner::Service => return Ok(None),
            VoiceOwner::Nobody => return Err("the voice is the account's own no more".to_owned()),
        }
        let secret = retried(|| store.credential_secret(account, credential)).await;
        let secret = secret.map_err(|error| error.to_string())?;
        let secret = secret.ok_or("the account's credential for its own voice is gone")?;
        Ok(Some(VoiceKey::new(secret)))
    }
}

impl Providers {
    /// Whether the agent can hold a spoken call here at all.
    pub(crate) fn can_speak(&self, config: &AgentConfig) -> bool {
        let hears = self
            .recognizers(config)
            .iter()
            .any(|(provider, settings)| self.speech.recognizer(provider, settings).is_ok());
        let speaks = || {
            self.voices(config)
                .iter()
                .any(|(provider, settings)| self.speech.synthesizer(provider, settings).is_ok())
        };
        hears && speaks()
    }
}

/// The persona on a line that detects the end of turn itself: no further wait is added.
pub(crate) fn on_a_spoken_line(persona: Persona) -> Persona {
    Persona {
        endpointing: Duration::ZERO,
        ..persona
    }
}

/// The usable providers; if there are none, why not.
fn within_reach<T>(found: impl Iterator<Item = Result<T, String>>) -> Result<Vec<T>, String> {
    let mut within_reach = Vec::new();
    let mut faults = Vec::new();
    for one in found {
        match one {
            Ok(one) => within_reach.push(one),
            Err(fault) => faults.push(fault),
        }
    }
    if within_reach.is_empty() {
        if faults.is_empty() {
            return Err("it names no provider, and not exactly one is set up".to_owned());
        }
        return Err(faults.join("; "));
    }
    for fault in faults {
        tracing::warn!(fault, "a speech provider of the agent is passed over");
    }
    Ok(within_reach)
}

fn pronunciation(config: &AgentConfig) -> Pronunciation {
    let terms = config.conversation.pronunciation.iter();
    let terms = terms.map(|rule| PronunciationRule {
        term: rule.term.clone(),
        say: rule.say.clone(),
        match_case: rule.match_case,
    });
    Pronunciation::new(terms.collect())
}
