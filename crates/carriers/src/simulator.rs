//! A phone network of scripted people and machines.

pub(crate) mod client;
pub(crate) mod network;
pub(crate) mod numbers;
mod pace;
mod person;
pub(crate) mod server;
mod wire;
