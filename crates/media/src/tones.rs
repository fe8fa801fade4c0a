//! Keys as in-band DTMF tones (ITU-T Q.23), for lines without telephone-events.

use std::f32::consts::TAU;

use crate::telephone_event::{NoKey, Step, TONE_FRAMES, key, steps};
use crate::{FRAME_SAMPLES, Frame, SAMPLE_RATE, SILENCE};

/// The keypad: the lower tone depends on the row, the higher one on the column.
const PAD: [&str; 4] = ["123A", "456B", "789C", "*0#D"];
const ROWS: [f32; 4] = [697.0, 770.0, 852.0, 941.0];
const COLUMNS: [f32; 4] = [1_209.0, 1_336.0, 1_477.0, 1_633.0];

/// The amplitudes of the tones, of 32,767: 9 and 7 dB below 0 dBm0. Lines attenuate the higher tone more.
const ROW_LEVEL: f32 = 7_900.0;
const COLUMN_LEVEL: f32 = 9_950.0;

/// Samples of a tone's fade-in and fade-out, so that it does not click: 2 ms.
const EDGE: usize = 16;

/// Samples of a tone.
const TONE: usize = TONE_FRAMES as usize * FRAME_SAMPLES;

/// Returns the sound of keys (`0`–`9`, `*`, `#`, `A`–`D`, and `w` for a pause of half a second), with the durations and
/// gaps of telephone-events. Returns [`NoKey`] for any other character.
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
