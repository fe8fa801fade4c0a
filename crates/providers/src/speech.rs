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

use offhook_engine::ports::speech::SpeechError;

pub use exec::SpeechProgram;
pub use registry::{SpeechProvider, SpeechRegistry, SpeechTransport};

type Result<T, E = SpeechError> = std::result::Result<T, E>;
