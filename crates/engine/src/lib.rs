//! The agent runtime: the dialogue, the session of a phone call, and the ports to models and carriers.
//!
//! It has neither storage nor HTTP: the caller passes in a [`CallSink`] that stores events, and the adapters of the
//! ports. Records use the time of a [`Clock`](offhook_domain::Clock), timers use tokio's.

mod chat;
mod claims;
mod control;
mod deadline;
mod dialogue;
mod extraction;
mod guard;
mod latencies;
mod latency;
mod live;
mod opt_out;
mod persona;
mod phrases;
mod reply;
mod runner;
mod segments;
mod session;
mod summary;
mod template;
mod tool_use;

pub mod legacy;
pub mod ports;
pub mod voice;

pub use chat::{CHAT_BREAK, ChatAnswer, ChatEnd, ChatPiece, ChatSink, answer};
pub use control::{CallControl, EndRequest};
pub use deadline::{Deadline, Moment};
pub use dialogue::Dialogue;
pub use extraction::{EXTRACTION_MAX_BYTES, Misfit, NoData, extract};
pub use latencies::Latencies;
pub use latency::TurnLatency;
pub use offhook_domain::TurnRole;
pub use offhook_domain::config::{Routing, Voicemail};
pub use persona::{ModelChoice, Persona};
pub use phrases::only_text;
pub use reply::{NoReply, Piece, Reply, ReplySource, quote};
pub use runner::run;
pub use session::{CallSink, ClaimLost, Session, SessionEnd, Turn};
pub use summary::{SUMMARY_MAX_BYTES, summarize};
pub use template::fill;
pub use tool_use::recalled;

// Unit and integration tests share one binary; the integration tests use the public API only.
#[cfg(test)]
#[path = "../tests/it/main.rs"]
mod it;
