//! Speech-to-text and text-to-speech: adapters of services and local programs, and scripted speech. [`SpeechRegistry`]
//! finds them by the names in an agent's configuration. The wire formats come from the services' documentation;
//! docs/guides/providers.md says what each was checked against.

pub(crate) mod endpoint;
mod exec;
pub(crate) mod fetch;
pub(crate) mod form;
pub(crate) mod hum;
pub(crate) mod listen;
pub(crate) mod registry;
mod scripted;
pub(crate) mod segment;
pub(crate) mod settings;
pub(crate) mod socket;
pub(crate) mod sound;
pub(crate) mod utter;
pub(crate) mod wav;
pub(crate) mod words;

use offhook_engine::ports::speech::SpeechError;

pub use exec::SpeechProgram;
pub use registry::{SpeechProvider, SpeechRegistry, SpeechTransport};

pub(crate) type Result<T, E = SpeechError> = std::result::Result<T, E>;
