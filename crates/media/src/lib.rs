#![doc = include_str!("../README.md")]
#![warn(missing_docs)]

pub mod ambient;
pub mod codec;
mod conceal;
mod foreign;
pub mod inbox;
pub mod jitter;
pub mod mp3;
pub mod outbox;
pub mod pcm;
pub mod playout;
pub mod ports;
pub mod pump;
pub mod recorder;
pub mod resample;
pub mod rtp;
pub mod sdp;
pub mod telephone_event;
pub mod tones;
pub mod vad;
pub mod wav;

use std::time::Duration;

/// The sample rate of all audio in this crate, in Hz.
pub const SAMPLE_RATE: u32 = 8_000;

/// Samples per frame.
pub const FRAME_SAMPLES: usize = 160;

/// The duration of a frame.
pub const FRAME_TIME: Duration = Duration::from_millis(20);

/// 20 ms of audio: mono, linear, 16 bit.
pub type Frame = [i16; FRAME_SAMPLES];

/// 20 ms of silence.
pub const SILENCE: Frame = [0; FRAME_SAMPLES];

// Unit and integration tests share one binary; the integration tests use the public API only.
#[cfg(test)]
#[path = "../tests/it/main.rs"]
mod it;
