//! The callee's speech, as G.711 µ-law.

use offhook_media::FRAME_SAMPLES;
use offhook_media::codec::Codec;

/// "Hello, do you have a table for two?", spoken by flite's slt: the recording of the detector's own tests.
const RECORDED: &[u8] = include_bytes!("../../../../crates/media/tests/it/speech.ulaw");

/// The frames of "do you have a table for two". It has no pause of more than 100 ms and ends in the middle of its
/// last vowel: the detector takes its first and its last frame for speech.
const PHRASE: std::ops::Range<usize> = 44..115;

/// 20 ms of the line.
pub(super) type Codes = [u8; FRAME_SAMPLES];

pub(super) const SILENCE: Codes = [0xFF; FRAME_SAMPLES];

/// The loudest inaudible sample: −50 dB.
const INAUDIBLE: i16 = 104;

/// 1.4 s of words.
pub(crate) fn phrase() -> &'static [Codes] {
    let (frames, _) = RECORDED.as_chunks::<FRAME_SAMPLES>();
    frames.get(PHRASE).unwrap_or_default()
}

/// Whether a packet contains audible sound.
pub(super) fn is_audible(codes: &[u8]) -> bool {
    let audible = |code: &u8| Codec::Pcmu.decode(*code).saturating_abs() >= INAUDIBLE;
    codes.iter().any(audible)
}
