//! Adapters of the three voice providers' lists, and of language models: `scripted`, which is in process and always
//! answers alike, and every service that speaks OpenAI's streaming chat completions; and of services that speak its
//! embeddings; of the legacy agents' provider, simulated and real; of WhatsApp's Cloud API; and of the applications that
//! accounts connect. [`ModelRegistry`] finds models by the names that agents give, and [`SpeechRegistry`] ears and voices.

mod applications;
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

/// How long a connection is kept for the next request: of one on a connection that the other side has just closed nobody
/// knows what became.
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

// Tests of the parts and from outside are one binary; the latter use the library as everybody does.
#[cfg(test)]
#[path = "../tests/it/main.rs"]
mod it;
