//! The adapters, against services that behave and misbehave on a loopback port.

mod openai;
mod server;
mod voices;
