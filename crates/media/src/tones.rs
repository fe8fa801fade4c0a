//! Keys as the two tones of each in the sound itself (ITU-T Q.23), for lines that carry no telephone-events.

use std::f32::consts::TAU;

use crate::telephone_event::{NoKey, Step, TONE_FRAMES, key, steps};
use crate::{FRAME_SAMPLES, Frame, SAMPLE_RATE, SILENCE};

/// The keys as they lie on a telephone: a row's tone is the lower one, a column's the higher one.
const PAD: [&str; 4] = ["123A", "456B", "789C", "*0#D"];
const ROWS: [f32; 4] = [697.0, 770.0, 852.0, 941.0];
const COLUMNS: [f32; 4] = [1_209.0, 1_336.0, 1_477.0, 1_633.0];

/// How loud the tones are, of 32,767: 9 and 7 dB below 0 dBm0. Lines weaken the higher one more.
const ROW_LEVEL: f32 = 7_900.0;
const COLUMN_LEVEL: f32 = 9_950.0;

/// Samples over which a tone begins and ends, so that it does not click: 2 ms.
const EDGE: usize = 16;

/// Samples of a tone.
const TONE: usize = TONE_FRAMES as usize * FRAME_SAMPLES;

/// The sound of keys (`0`–`9`, `*`, `#`, `A`–`D`, and `w` for half a second's pause): as long, and as far from each other,
/// as a telephone-event makes them.
///
/// # Errors
/// [`NoKey`] for any other character.
pub fn tones(keys: &str) -> Result<Vec<Frame>, NoKey> {
    let mut frames = Vec::new();
    for step in steps(keys)? {
        let begins = frames.len();
        if let Step::Key(code) = step {
            frames.extend(tone(code));
        }
        frames.resize(begins + step.frames() as usize, SILENCE);
    }
    Ok(frames)
}

fn tone(code: u8) -> Vec<Frame> {
    let (low, high) = frequencies(code);
    let sample = |at: usize| {
        let time = at as f32 / SAMPLE_RATE as f32;
        let edge = (at + 1).min(TONE - at).min(EDGE) as f32 / EDGE as f32;
        let wave = |frequency: f32| (TAU * frequency * time).sin();
        (edge * (ROW_LEVEL * wave(low) + COLUMN_LEVEL * wave(high))) as i16
    };
    let frame = |number| std::array::from_fn(|at| sample(number * FRAME_SAMPLES + at));
    (0..TONE_FRAMES as usize).map(frame).collect()
}

fn frequencies(code: u8) -> (f32, f32) {
    let key = key(code).unwrap_or('0');
    let place = |(row, keys): (usize, &&str)| Some((row, keys.find(key)?));
    let (row, column) = PAD.iter().enumerate().find_map(place).unwrap_or((3, 1));
    (ROWS[row], COLUMNS[column])
}
