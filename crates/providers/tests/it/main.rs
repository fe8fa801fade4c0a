//! The adapters, against services that behave and misbehave on a loopback port.

// Tells clippy that test helpers are tests.
#![cfg(test)]

mod applications;
mod elevenlabs;
mod elevenlabs_odd;
mod embeddings;
mod openai;
mod own_formats;
mod server;
mod speech;
mod voice_adding;
mod voice_catalogs;
mod voice_faults;
mod voices;
mod whatsapp;
