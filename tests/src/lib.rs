//! The basis of the black-box tests: the real binary as child processes, a client that sends exactly what a test
//! writes, a webhook receiver, and the simulated phone network as a separate process.
//!
//! The tests only use the service's contract: its command line, its HTTP API and its files.

mod baresip;
mod binary;
mod browser;
mod client;
mod database;
mod demo;
mod disk;
mod embeddings;
mod exposition;
// The included files have unit tests, which run in their own crates.
#[cfg(not(test))]
#[expect(
    clippy::expect_used,
    clippy::module_inception,
    unreachable_pub,
    reason = "a target fails by panicking, and what it includes is public where it stands"
)]
mod fuzzed;
mod model;
mod objects;
mod phone;
mod receiver;
mod replies;
mod server;
mod simulator;
mod site;
mod speech;
mod stream;
mod wait;

pub use baresip::Baresip;
pub use binary::{command, offhook};
pub use browser::{Browser, Language, Person, Words, can_browse};
pub use client::{Address, Answer, Client, Request, exchange};
pub use database::Database;
pub use demo::Demo;
pub use disk::Disk;
pub use embeddings::EmbeddingsServer;
pub use exposition::{Exposition, Sample};
pub use fantoccini::key::Key;
#[cfg(not(test))]
pub use fuzzed::TARGETS as FUZZ_TARGETS;
pub use model::model_server;
pub use objects::ObjectServer;
pub use offhook_testkit::free_port;
pub use phone::{Phone, PhoneCall, Utterance, Weather};
pub use receiver::{Received, Receiver};
pub use replies::LostReplies;
pub use server::{Account, Options, Server, haste};
pub use simulator::SimulatorProcess;
pub use site::Site;
pub use speech::{
    Listener, can_speak, has_program, read_channels, read_wav, silence, speech, wav, write_grammar,
};
pub use stream::{Stream, StreamEvent};
pub use wait::{eventually, millis_of, must, text, unix_millis, unix_seconds, within};
