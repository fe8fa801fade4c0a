//! The voice libraries by provider.

use std::sync::Arc;

use offhook_domain::VoiceProvider;
use offhook_domain::ports::VoiceLibrary;
use reqwest::header::{AUTHORIZATION, HeaderName};

use crate::settings::SettingsError;
use crate::voices::{Source, VoiceLibrarySettings};
use crate::{cartesia, deepgram, elevenlabs};

/// Creates the voice library of a provider. The error names the provider.
pub fn voice_library(
    provider: VoiceProvider,
    settings: &VoiceLibrarySettings,
) -> Result<Arc<dyn VoiceLibrary>, SettingsError> {
    Ok(match provider {
        VoiceProvider::A => Arc::new(elevenlabs::voices::Library(Source::new(
            provider,
            settings,
            HeaderName::from_static("xi-api-key"),
            "",
        )?)),
        VoiceProvider::B => Arc::new(cartesia::voices::Library(Source::new(
            provider,
            settings,
            AUTHORIZATION,
            "Bearer ",
        )?)),
        VoiceProvider::C => Arc::new(deepgram::voices::Library(Source::new(
            provider,
            settings,
            AUTHORIZATION,
            "Token ",
        )?)),
    })
}
