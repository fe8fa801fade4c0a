//! A web page that talks, as an audio leg.
//!
//! What a page sends and is sent is sound of 20 ms a frame, mono, 16 bit little-endian, 16 kHz. The engine's is 8 kHz: it is
//! resampled here. There is no socket here: whoever has the page's connection gives what comes to [`PageEnd::hear`] and
//! sends what [`PageEnd::next`] hands out. Sound goes out as fast as it is said and no faster, so that little waits at the
//! page when the agent is cut short, and what was sent counts as heard.

mod flow;
mod inbox;
mod leg;

pub use inbox::Refused;
pub use leg::{PageEnd, PageLine, Sent, page};

/// Samples per second on the wire.
pub const WIRE_RATE: u32 = 16_000;

/// Bytes of a sample on the wire.
const SAMPLE_BYTES: usize = 2;

/// Bytes that a frame of a page's sound may have: 128 ms.
pub const MOST_FRAME_BYTES: usize = 4_096;

// Tests of the parts and from outside are one binary; the latter use the library as everybody does.
#[cfg(test)]
#[path = "../tests/it/main.rs"]
mod it;
