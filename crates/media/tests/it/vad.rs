use std::time::Duration;

use offhook_media::codec::Codec;
use offhook_media::vad::{Change, Debouncer, Likelihood, Settings, Vad};
use offhook_media::{FRAME_SAMPLES, Frame, SILENCE};
use proptest::prelude::*;

const fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

fn changes(debouncer: &mut Debouncer, pattern: &str) -> Vec<(usize, Change)> {
    pattern
        .chars()
        .enumerate()
        .filter_map(|(at, c)| {
            let change = match c {
                'm' => debouncer.mask(),
                c => debouncer.step(c == '#'),
            };
            Some((at, change?))
        })
        .collect()
}

#[test]
fn speech_of_120_ms_is_a_start_and_silence_of_200_ms_a_stop() {
    let mut debouncer = Debouncer::new(ms(120), ms(200));
    let found = changes(&mut debouncer, "..######....##..............");
    let expected = [
        (7, Change::Started { frame: 2 }),
        (23, Change::Stopped { frame: 14 }),
    ];
    assert_eq!(found, expected);
}

#[test]
fn a_click_is_no_start_and_flicker_is_one() {
    let mut debouncer = Debouncer::new(ms(120), ms(200));
    assert_eq!(changes(&mut debouncer, "#####.....##...#.#.#.#.#.#.."), []);
    let expected = [(13, Change::Started { frame: 28 })];
    assert_eq!(changes(&mut debouncer, "##.##.##.##.##"), expected);
    assert!(debouncer.is_speaking());
}

#[test]
fn a_tone_ends_a_start_that_was_coming_and_counts_as_silence() {
    let mut debouncer = Debouncer::new(ms(120), ms(200));
    assert_eq!(changes(&mut debouncer, "#####m#####"), []);
    let expected = [(0, Change::Started { frame: 6 })];
    assert_eq!(changes(&mut debouncer, "#"), expected);
    let expected = [(9, Change::Stopped { frame: 12 })];
    assert_eq!(changes(&mut debouncer, "mmmmmmmmmm"), expected);
}

proptest! {
    #[test]
    fn starts_and_stops_take_turns_and_have_their_lengths(
        frames in prop::collection::vec(prop::bool::weighted(0.6), 0..600), start in 1u64..300, stop in 1u64..600,
    ) {
        let mut debouncer = Debouncer::new(ms(start), ms(stop));
        let (least_speech, silence) = (start.div_ceil(20) as usize, stop.div_ceil(20) as usize);
        let mut speaking = false;
        for at in 0..frames.len() {
            match debouncer.step(frames[at]) {
                Some(Change::Started { frame }) => {
                    prop_assert!(!speaking && frames[at]);
                    let since = &frames[frame as usize..=at];
                    prop_assert!(since[0] && since.iter().filter(|&&speech| speech).count() >= least_speech);
                    speaking = true;
                }
                Some(Change::Stopped { frame }) => {
                    prop_assert!(speaking && frame as usize + silence == at + 1);
                    prop_assert!(frames[frame as usize..=at].iter().all(|&speech| !speech));
                    speaking = false;
                }
                None => {}
            }
            prop_assert_eq!(debouncer.is_speaking(), speaking);
        }
    }
}

/// "Hello, do you have a table for two?", spoken by flite's slt and sent as µ-law, from the sample 1,529 to 18,686.
fn speech() -> Vec<i16> {
    let mut samples = Vec::new();
    Codec::Pcmu.decode_into(include_bytes!("speech.ulaw"), &mut samples);
    samples
}

fn noise(seconds: usize, louder_by: i16) -> Vec<i16> {
    let mut seed = 1u32;
    (0..seconds * 8_000)
        .map(|_| {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (seed >> 16) as i16 / 1_024 * louder_by
        })
        .collect()
}

fn tone(hertz: f64, seconds: usize) -> Vec<i16> {
    let step = std::f64::consts::TAU * hertz / 8_000.0;
    (0..seconds * 8_000)
        .map(|place| (6_000.0 * (step * place as f64).sin()) as i16)
        .collect()
}

fn found(samples: &[i16], masked: bool) -> Vec<Change> {
    let mut vad = Vad::new(Settings::default());
    samples
        .chunks_exact(FRAME_SAMPLES)
        .map(|chunk| Frame::try_from(chunk).expect("a frame"))
        .filter_map(|frame| vad.step(&frame, masked))
        .collect()
}

#[test]
fn speech_is_found_where_it_is_loud_and_where_it_is_quiet() {
    for parts in [1, 4, 12] {
        let quiet = speech().into_iter().map(|sample| sample / parts);
        let sound: Vec<i16> = [vec![0; 8_000], quiet.collect(), vec![0; 8_000]].concat();
        let changes = found(&sound, false);
        let (Some(Change::Started { frame: first }), Some(Change::Stopped { frame: last })) =
            (changes.first(), changes.last())
        else {
            panic!("{changes:?}");
        };
        assert!((58..72).contains(first), "{changes:?}");
        assert!((160..178).contains(last), "{changes:?}");
        assert!(changes.len() <= 4, "{changes:?}");
        assert_eq!(found(&sound, true), [], "masked");
    }
}

#[test]
fn silence_noise_and_high_tones_start_nothing() {
    for sound in [
        vec![0; 40_000],
        noise(5, 1),
        noise(5, 8),
        noise(5, 64),
        tone(1_000.0, 5),
        tone(2_100.0, 5),
    ] {
        assert_eq!(found(&sound, false), []);
    }
}

#[test]
fn a_likelihood_is_from_0_to_1_for_any_sound() {
    let mut likelihood = Likelihood::default();
    for level in [0, 1, -1, i16::MAX, i16::MIN] {
        for _ in 0..20 {
            let of = likelihood.of(&[level; FRAME_SAMPLES]);
            assert!((0.0..=1.0).contains(&of), "{of}");
        }
    }
    assert!(likelihood.of(&SILENCE) <= 1.0);
}
