//! Speech-to-text and text-to-speech: adapters of services and local programs, and scripted speech. [`SpeechRegistry`]
//! finds them by the names in an agent's configuration. The wire formats come from the services' documentation;
//! docs/guides/providers.md says what each was checked against.

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
