//! Cartesia: text-to-speech, and its list of voices.

pub(crate) mod text_to_speech;
pub(crate) mod voices;
