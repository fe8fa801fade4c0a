//! Ears and voices: adapters of speech services, of local programs, and speech that is scripted.
//! [`SpeechRegistry`] finds them by the names that agents give. Their wire shapes come from the services'
//! documentation; docs/VOICE.md says which were checked against what.

mod aura;
mod cartesia;
mod deepgram;
mod elevenlabs;
mod endpoint;
mod exec;
mod fetch;
mod form;
mod hum;
mod listen;
mod openai;
mod registry;
mod scribe;
mod scripted;
mod segment;
mod settings;
mod socket;
mod sound;
mod utter;
mod wav;
mod words;

use std::fmt;

use offhook_engine::ports::speech::SpeechError;

pub use exec::SpeechProgram;
pub use registry::{SpeechProvider, SpeechRegistry, SpeechTransport};

type Result<T, E = SpeechError> = std::result::Result<T, E>;

/// Where a speech service is, and how to be let in.
#[derive(Clone, PartialEq, Eq)]
pub struct SpeechEndpoint {
    /// The URL that the service's paths follow, such as `https://api.deepgram.com` or `http://127.0.0.1:9000`.
    pub base_url: String,
    /// The key, if the service wants one.
    pub api_key: Option<String>,
}

/// Without the key.
impl fmt::Debug for SpeechEndpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key = self.api_key.as_ref().map(|_| "…");
        f.debug_struct("SpeechEndpoint")
            .field("base_url", &self.base_url)
            .field("api_key", &key)
            .finish()
    }
}
