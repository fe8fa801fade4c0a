use std::time::Duration;

use offhook_media::vad::{Change, Debouncer, Likelihood, Settings, Vad};
use offhook_media::{FRAME_SAMPLES, SILENCE};
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
    assert_eq!(
        changes(&mut debouncer, "##.##.##.##.##"),
        [(13, Change::Started { frame: 28 })]
    );
    assert!(debouncer.is_speaking());
}

#[test]
fn a_tone_ends_a_start_that_was_coming_and_counts_as_silence() {
    let mut debouncer = Debouncer::new(ms(120), ms(200));
    assert_eq!(changes(&mut debouncer, "#####m#####"), []);
    assert_eq!(
        changes(&mut debouncer, "#"),
        [(0, Change::Started { frame: 6 })]
    );
    assert_eq!(
        changes(&mut debouncer, "mmmmmmmmmm"),
        [(9, Change::Stopped { frame: 12 })]
    );
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

#[test]
fn silence_starts_nothing() {
    let mut vad = Vad::new(Settings::default());
    let changes: Vec<Change> = (0..250).filter_map(|_| vad.step(&SILENCE, false)).collect();
    assert_eq!(changes, []);
    assert!(!vad.is_speaking());
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
