//! Tests media through the public API.

mod codec;
mod jitter;
mod mp3;
mod pcm;
mod playout;
mod ports;
mod pump;
mod recorder;
mod resample;
mod rtp;
mod sdp;
mod telephone_event;
mod tones;
mod vad;
mod wav;
