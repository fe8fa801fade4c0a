//! Adapters of the three voice providers' lists, and of language models: `scripted`, which is in process and always
//! answers alike, and every service that
//! speaks OpenAI's streaming chat completions. [`ModelRegistry`] finds them by the names that agents give.

mod legacy;
mod openai;
mod registry;
mod scripted;
mod sse;
mod voices;

pub use legacy::SimulatedLegacy;
pub use registry::{ModelRegistry, ProviderSettings, SettingsError};
pub use scripted::Scripted;
pub use voices::{VoiceLibrarySettings, voice_library};
