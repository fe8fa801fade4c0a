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
    }
}

impl CredentialProvider {
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
            | Self::Llm => None,
        }
    }

    /// Returns the credential type for private voices at a provider, if the provider has private voices.
    #[must_use]
    pub fn of_voices(provider: VoiceProvider) -> Option<Self> {
        let mut all = Self::ALL.iter().copied();
        all.find(|word| word.voices() == Some(provider))
    }
}
