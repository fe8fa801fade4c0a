//! Deepgram: speech-to-text (Nova and Flux), text-to-speech (Aura), and its list of voices.

pub(crate) mod speech_to_text;
mod text_to_speech;
pub(crate) mod voices;
