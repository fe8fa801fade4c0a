//! A talking web page as an audio leg.
//!
//! Pages send and receive audio in 20 ms frames, mono, 16 bit little-endian, 16 kHz. It is resampled to the engine's 8
//! kHz here. This crate has no socket: the owner of the page's connection passes received audio to [`PageEnd::hear`]
//! and sends what [`PageEnd::next`] returns. Audio is sent in real time, so that little waits at the page when the
//! agent is interrupted, and sent audio counts as heard.

mod flow;
mod inbox;
mod leg;

pub use inbox::Refused;
pub use leg::{PageEnd, PageLine, Sent, page};

/// Samples per second on the wire.
pub const WIRE_RATE: u32 = 16_000;

/// Bytes per sample on the wire.
const SAMPLE_BYTES: usize = 2;

/// The largest frame of a page's audio in bytes: 128 ms.
pub const MOST_FRAME_BYTES: usize = 4_096;

// Unit and integration tests share one binary; the integration tests use the public API only.
#[cfg(test)]
#[path = "../tests/it/main.rs"]
mod it;
