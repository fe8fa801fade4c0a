//! Whose credentials an account may store.

use crate::VoiceProvider;
use crate::agent::vocabulary;

vocabulary! {
    /// Where an account's credential opens a door. Only what something reads can be stored.
    CredentialProvider {
        /// The provider of the legacy agents.
        Legacy => "legacy",
        /// The secret that signs what the provider of the legacy agents tells of its own accord.
        LegacyWebhook => "legacy_webhook",
        /// The simulated phone network.
        Simulator => "simulator",
        /// Twilio: an account there, whose numbers are imported.
        Twilio => "twilio",
        /// The first voice provider.
        VoicesA => "provider_a",
        /// The second voice provider; the third lists no voices of anybody's own.
        VoicesB => "provider_b",
        /// A WhatsApp Business app and its numbers.
        WhatsApp => "whatsapp",
        /// The server of an agent's own models (`llm.endpoint`).
        Llm => "llm",
    }
}

impl CredentialProvider {
    /// Whose voices it opens, if it is a voice provider.
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

    /// What opens an account's own voices at a provider, if it has any of anybody's own.
    #[must_use]
    pub fn of_voices(provider: VoiceProvider) -> Option<Self> {
        let mut all = Self::ALL.iter().copied();
        all.find(|word| word.voices() == Some(provider))
    }
}
