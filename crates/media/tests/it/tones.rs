//! In-band key tones, as a tone receiver detects them.

use offhook_media::codec::Codec;
use offhook_media::telephone_event::NoKey;
use offhook_media::tones::tones;
use offhook_media::{FRAME_SAMPLES, Frame, SAMPLE_RATE, SILENCE};

const ROWS: [f32; 4] = [697.0, 770.0, 852.0, 941.0];
const COLUMNS: [f32; 4] = [1_209.0, 1_336.0, 1_477.0, 1_633.0];
const PAD: [&str; 4] = ["123A", "456B", "789C", "*0#D"];

/// The power of a frequency in a frame (Goertzel).
fn power(frame: &Frame, frequency: f32) -> f32 {
    let step = std::f32::consts::TAU * frequency / SAMPLE_RATE as f32;
    let (mut last, mut before) = (0.0, 0.0);
    for sample in frame {
        let now = f32::from(*sample) / 32_768.0 + 2.0 * step.cos() * last - before;
        (before, last) = (last, now);
    }
    (last * last + before * before - 2.0 * step.cos() * last * before) / FRAME_SAMPLES as f32
}

/// The loudest of these frequencies, if it clearly dominates.
fn clear(frame: &Frame, frequencies: [f32; 4]) -> Option<usize> {
    let mut powers: Vec<(usize, f32)> = frequencies
        .iter()
        .map(|frequency| power(frame, *frequency))
        .enumerate()
        .collect();
    powers.sort_by(|a, b| b.1.total_cmp(&a.1));
    (powers[0].1 > 0.1 && powers[0].1 > 4.0 * powers[1].1).then_some(powers[0].0)
}

fn heard(frame: &Frame) -> Option<char> {
    let (row, column) = (clear(frame, ROWS)?, clear(frame, COLUMNS)?);
    PAD[row].chars().nth(column)
}

/// Through a line's codec, and back.
fn over_the_line(frame: &Frame) -> Frame {
    frame.map(|sample| Codec::Pcmu.decode(Codec::Pcmu.encode(sample)))
}

#[test]
fn every_key_is_heard_as_itself_for_100_ms_and_followed_by_as_much_silence() {
    for key in "1234567890*#ABCD".chars() {
        let frames = tones(&key.to_string()).unwrap();
        assert_eq!(frames.len(), 10, "{key}");
        for frame in &frames[..5] {
            assert_eq!(heard(&over_the_line(frame)), Some(key));
            assert!(
                frame.iter().all(|sample| sample.unsigned_abs() < 20_000),
                "{key}"
            );
        }
        assert!(frames[5..].iter().all(|frame| *frame == SILENCE), "{key}");
    }
}

#[test]
fn a_tone_neither_begins_nor_ends_with_a_click() {
    let frames = tones("5").unwrap();
    assert!(frames[0][0].unsigned_abs() < 500);
    assert!(frames[4][FRAME_SAMPLES - 1].unsigned_abs() < 2_000);
}

#[test]
fn a_pause_is_half_a_second_and_what_is_no_key_makes_no_sound() {
    let frames = tones("1w#").unwrap();
    assert_eq!(frames.len(), 10 + 25 + 10);
    assert!(frames[10..35].iter().all(|frame| *frame == SILENCE));
    assert_eq!(heard(&frames[36]), Some('#'));
    let expected = Err(NoKey { at: 2 });
    assert_eq!(tones("12x").map(|frames| frames.len()), expected);
    assert_eq!(tones("").map(|frames| frames.len()), Ok(0));
}
