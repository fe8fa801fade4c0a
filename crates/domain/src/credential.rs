//! The credentials that an account can store.

use crate::VoiceProvider;
use crate::agent::vocabulary;

vocabulary! {
    /// The service of an account's credential. Only credentials that are in use can be stored.
    CredentialProvider {
        /// The provider of legacy agents.
        Legacy => "legacy",
        /// The secret that signs the legacy provider's webhooks.
        LegacyWebhook => "legacy_webhook",
        /// The simulated phone network.
        Simulator => "simulator",
        /// A Twilio account, whose numbers are imported.
        Twilio => "twilio",
        /// The first voice provider.
        VoicesA => "provider_a",
        /// The second voice provider; the third one has no private voices.
        VoicesB => "provider_b",
        /// A WhatsApp Business app and its numbers.
        WhatsApp => "whatsapp",
        /// The server of an agent's own models (`llm.endpoint`).
        Llm => "llm",
        /// The account's own key for OpenAI, or for a service with its chat completions.
        OpenAi => "openai",
        /// The account's own key for Anthropic's models.
        Anthropic => "anthropic",
        /// The account's own key for Google's models.
        Google => "google",
        /// The account's own key for Deepgram's speech.
        Deepgram => "deepgram",
        /// The account's own key for Cartesia's speech.
        Cartesia => "cartesia",
        /// The account's own key for ElevenLabs' speech.
        ElevenLabs => "elevenlabs",
    }
}

impl CredentialProvider {
    /// The vendors of accounts' own keys, and what each is used for.
    pub fn own_keys() -> impl Iterator<Item = (Self, OwnKey)> {
        let all = Self::ALL.iter();
        all.filter_map(|provider| Some((*provider, provider.own_key()?)))
    }

    /// Returns the voice provider whose private voices the credential opens, if any.
    #[must_use]
    pub const fn voices(self) -> Option<VoiceProvider> {
        match self {
            Self::VoicesA => Some(VoiceProvider::A),
            Self::VoicesB => Some(VoiceProvider::B),
            Self::Legacy
            | Self::LegacyWebhook
            | Self::Simulator
            | Self::Twilio
            | Self::WhatsApp
            | Self::Llm
            | Self::OpenAi
            | Self::Anthropic
            | Self::Google
            | Self::Deepgram
            | Self::Cartesia
            | Self::ElevenLabs => None,
        }
    }

    /// Returns what the credential is used for in place of the deployment's key, if it is of this kind.
    #[must_use]
    pub const fn own_key(self) -> Option<OwnKey> {
        let (llm, stt, tts) = match self {
            Self::OpenAi => (Some("openai"), None, None),
            Self::Anthropic => (Some("anthropic"), None, None),
            Self::Google => (Some("google"), None, None),
            Self::Deepgram => (None, Some("deepgram"), Some("provider_c")),
            Self::Cartesia => (None, None, Some("provider_b")),
            Self::ElevenLabs => (None, Some("elevenlabs"), Some("provider_a")),
            Self::Legacy
            | Self::LegacyWebhook
            | Self::Simulator
            | Self::Twilio
            | Self::VoicesA
            | Self::VoicesB
            | Self::WhatsApp
            | Self::Llm => return None,
        };
        Some(OwnKey { llm, stt, tts })
    }

    /// Returns the credential type for private voices at a provider, if the provider has private voices.
    #[must_use]
    pub fn of_voices(provider: VoiceProvider) -> Option<Self> {
        let mut all = Self::ALL.iter().copied();
        all.find(|word| word.voices() == Some(provider))
    }
}

/// What an account's own key is used for: the providers' names in agents' configurations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OwnKey {
    /// `llm.provider`.
    pub llm: Option<&'static str>,
    /// `stt.provider`.
    pub stt: Option<&'static str>,
    /// `voice.provider`.
    pub tts: Option<&'static str>,
}
