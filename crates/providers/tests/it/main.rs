//! The adapters, against services that behave and misbehave on a loopback port.

mod applications;
mod elevenlabs;
#[cfg(test)]
#[cfg(test)]
mod elevenlabs_odd;
mod embeddings;
mod openai;
mod server;
#[cfg(test)]
mod speech;
mod voice_adding;
mod voice_catalogs;
mod voice_faults;
mod voices;
#[cfg(test)]
mod whatsapp;
