//! The ports to external systems that the call engine does not use. The adapters are in `providers`.

mod applications;
mod embeddings;
mod voices;

pub mod whatsapp;

pub use applications::{
    Application, Authorization, Consents, FunctionCall, FunctionError, Grant, GrantError,
    ToolkitFunction,
};
pub use embeddings::{EmbeddingError, Embeddings};
pub use voices::{SharedVoice, VoiceAnswerFault, VoiceLibrary, VoiceLibraryError};
