use std::f64::consts::TAU;

use offhook_media::resample::{RATES, Resampler, UnknownRate};
use proptest::prelude::*;

const AMPLITUDE: f64 = 10_000.0;

fn tone(rate: u32, hertz: f64, samples: usize) -> Vec<i16> {
    (0..samples)
        .map(|place| {
            (AMPLITUDE * (TAU * hertz * place as f64 / f64::from(rate)).sin()).round() as i16
        })
        .collect()
}

fn resampled(from: u32, to: u32, samples: &[i16], chunk: usize) -> Vec<i16> {
    let mut resampler = Resampler::new(from, to).expect("known rates");
    let mut out = Vec::new();
    for chunk in samples.chunks(chunk) {
        resampler.push(chunk, &mut out);
    }
    resampler.finish(&mut out);
    out
}

/// The level of a tone in this audio (Goertzel), as a share of [`AMPLITUDE`].
fn level(samples: &[i16], rate: u32, hertz: f64) -> f64 {
    let (mut sine, mut cosine) = (0.0, 0.0);
    for (place, &sample) in samples.iter().enumerate() {
        let phase = TAU * hertz * place as f64 / f64::from(rate);
        sine += f64::from(sample) * phase.sin();
        cosine += f64::from(sample) * phase.cos();
    }
    2.0 * f64::hypot(sine, cosine) / samples.len() as f64 / AMPLITUDE
}

fn power(samples: &[i16]) -> f64 {
    let sum: f64 = samples
        .iter()
        .map(|&sample| f64::from(sample).powi(2))
        .sum();
    (2.0 * sum / samples.len() as f64).sqrt() / AMPLITUDE
}

#[test]
fn a_tone_of_speech_stays_the_same_tone() {
    for (from, to) in [
        (24_000, 8_000),
        (22_050, 8_000),
        (16_000, 8_000),
        (44_100, 8_000),
        (48_000, 8_000),
        (8_000, 16_000),
    ] {
        for hertz in [300.0, 1_000.0, 2_500.0, 3_300.0] {
            let out = resampled(from, to, &tone(from, hertz, from as usize), 480);
            assert_eq!(out.len(), to as usize, "{from} to {to}");
            let inner = &out[400..to as usize - 400];
            let share = level(inner, to, hertz);
            assert!(
                (0.97..1.03).contains(&share),
                "{from} to {to}: {hertz} Hz has {share}"
            );
            let rest = (power(inner).powi(2) - share.powi(2)).max(0.0).sqrt();
            assert!(
                rest < 0.03,
                "{from} to {to}: beside {hertz} Hz there is {rest}"
            );
        }
    }
}

#[test]
fn what_is_above_the_telephones_band_does_not_fold_into_it() {
    for from in [16_000, 22_050, 24_000, 44_100, 48_000] {
        for hertz in [4_150.0, 5_000.0, 6_700.0, 7_700.0] {
            let out = resampled(from, 8_000, &tone(from, hertz, from as usize), 777);
            let left = power(&out[400..7_600]);
            assert!(left < 0.003, "{from}: of {hertz} Hz {left} is left");
        }
    }
}

#[test]
fn upsampling_mirrors_nothing_above_the_band() {
    let out = resampled(8_000, 16_000, &tone(8_000, 3_000.0, 8_000), 160);
    let inner = &out[400..15_600];
    assert!(level(inner, 16_000, 5_000.0) < 0.003);
}

#[test]
fn a_step_comes_out_at_its_instant() {
    let step: Vec<i16> = [vec![0; 2_400], vec![8_000; 2_400]].concat();
    let out = resampled(24_000, 8_000, &step, 100);
    let rise = out
        .iter()
        .position(|&sample| sample >= 4_000)
        .expect("a rise");
    assert!((799..=801).contains(&rise), "{rise}");
}

#[test]
fn the_same_rate_changes_nothing_and_unknown_ones_are_refused() {
    let samples = tone(8_000, 700.0, 500);
    assert_eq!(resampled(8_000, 8_000, &samples, 33), samples);
    for rate in [0, 8_001, 96_000] {
        let expected = Err(UnknownRate(rate));
        assert_eq!(Resampler::new(rate, 8_000).map(|_| ()), expected);
        let expected = Err(UnknownRate(rate));
        assert_eq!(Resampler::new(8_000, rate).map(|_| ()), expected);
    }
}

#[test]
fn a_finished_stream_begins_anew() {
    let samples = tone(24_000, 900.0, 3_000);
    let mut resampler = Resampler::new(24_000, 8_000).expect("known rates");
    let (mut first, mut second) = (Vec::new(), Vec::new());
    resampler.push(&samples, &mut first);
    resampler.finish(&mut first);
    resampler.push(&samples, &mut second);
    resampler.finish(&mut second);
    assert_eq!(first, second);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn pieces_make_the_same_as_the_whole(
        from in prop::sample::select(RATES.to_vec()), to in prop::sample::select(RATES.to_vec()),
        samples in prop::collection::vec(any::<i16>(), 0..2_000), chunk in 1usize..700,
    ) {
        let whole = resampled(from, to, &samples, 5_000);
        prop_assert_eq!(whole.len() as u64, (samples.len() as u64 * u64::from(to)).div_ceil(u64::from(from)));
        prop_assert_eq!(resampled(from, to, &samples, chunk), whole);
    }
}
