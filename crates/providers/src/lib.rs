//! Adapters of external services:
//!
//! - voice lists of three providers
//! - language models: `scripted`, an in-process model with fixed answers, every service with OpenAI's streaming chat
//!   completions, Anthropic's Messages API, and Google's Gemini API
//! - services with OpenAI's embeddings
//! - speech-to-text and text-to-speech
//! - the provider of legacy agents, simulated and real
//! - WhatsApp's Cloud API
//! - applications that accounts connect
//!
//! [`ModelRegistry`] finds models by the names in an agent's configuration, [`SpeechRegistry`] recognizers and
//! synthesizers.

mod anthropic;
mod applications;
mod cartesia;
mod deepgram;
mod dialogue_turns;
mod elevenlabs;
mod embeddings;
mod google;
mod http;
mod legacy;
mod lenient;
mod model_registry;
mod model_service;
mod openai;
mod scripted;
mod settings;
mod speech;
mod speech_registry;
mod sse;
mod tool_calls;
mod voice_library;
mod voices;
mod whatsapp;

use std::time::Duration;

/// How long an idle connection is kept. If the other side has just closed a connection, the effect of a request on it
/// is unknown, so the time is short.
const IDLE_LIMIT: Duration = Duration::from_secs(5);

pub use applications::{
    ApplicationError, ApplicationSettings, application, application_within, applications,
    token_refusal, token_url,
};
pub use elevenlabs::{ELEVENLABS_BASE_URL, ElevenLabsAgents};
pub use embeddings::{EmbeddingsSettings, embeddings};
pub use legacy::SimulatedLegacy;
pub use model_registry::ModelRegistry;
pub use scripted::Scripted;
pub use settings::{ProviderSettings, SettingsError};
pub use speech::SpeechTransport;
pub use speech::exec::SpeechProgram;
pub use speech_registry::{SpeechProvider, SpeechRegistry};
pub use sse::{Events, NotEvents};
pub use voice_library::voice_library;
pub use voices::VoiceLibrarySettings;
pub use whatsapp::{WhatsAppSettings, whatsapp};

// Unit and integration tests share one binary; the integration tests use the public API only.
#[cfg(test)]
#[path = "../tests/it/main.rs"]
mod it;
