//! Adapters of external services:
//!
//! - voice lists of three providers
//! - language models: `scripted`, an in-process model with fixed answers, and every service with OpenAI's streaming
//!   chat completions
//! - services with OpenAI's embeddings
//! - speech-to-text and text-to-speech
//! - the provider of legacy agents, simulated and real
//! - WhatsApp's Cloud API
//! - applications that accounts connect
//!
//! [`ModelRegistry`] finds models by the names in an agent's configuration, [`SpeechRegistry`] recognizers and
//! synthesizers.

mod applications;
mod cartesia;
mod deepgram;
mod elevenlabs;
mod embeddings;
mod http;
mod legacy;
mod lenient;
mod openai;
mod registry;
mod scripted;
mod speech;
mod sse;
mod voices;
mod whatsapp;

use std::time::Duration;

/// How long an idle connection is kept. If the other side has just closed a connection, the effect of a request on it
/// is unknown, so the time is short.
const IDLE_LIMIT: Duration = Duration::from_secs(5);

pub use applications::{
    APPLICATIONS, ApplicationError, ApplicationSettings, application, application_within, token_url,
};
pub use elevenlabs::{ELEVENLABS_BASE_URL, ElevenLabsAgents};
pub use embeddings::{EmbeddingsSettings, embeddings};
pub use legacy::SimulatedLegacy;
pub use registry::{ModelRegistry, ProviderSettings, SettingsError};
pub use scripted::Scripted;
pub use speech::{SpeechProgram, SpeechProvider, SpeechRegistry, SpeechTransport};
pub use sse::{Events, NotEvents};
pub use voices::{VoiceLibrarySettings, voice_library};
pub use whatsapp::{WhatsAppSettings, whatsapp};

// Unit and integration tests share one binary; the integration tests use the public API only.
#[cfg(test)]
#[path = "../tests/it/main.rs"]
mod it;
