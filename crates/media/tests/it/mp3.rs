//! MP3 files, made by LAME 3.100 from sine tones. `mono.mp3` (16 kHz, 24 kbit/s, after an ID3v2 tag) is 1 s of 400 Hz
//! and 0.5 s of 800 Hz. `stereo.mp3` (44.1 kHz, variable) is 0.6 s of 400 Hz on the left and 1,000 Hz on the right.

use std::f64::consts::TAU;
use std::io::Cursor;
use std::time::Duration;

use offhook_media::mp3::{Mp3Error, record};
use proptest::prelude::*;

const MONO: &[u8] = include_bytes!("mono.mp3");
const STEREO: &[u8] = include_bytes!("stereo.mp3");

const LONG: Duration = Duration::from_secs(60);

/// Where the audio of `MONO` begins.
const TAG: usize = 10 + 0x5d;

/// The reported milliseconds, and both channels.
fn recorded(mp3: &[u8], longest: Duration) -> Result<(u64, Vec<i16>, Vec<i16>), Mp3Error> {
    let mut wav = Cursor::new(Vec::new());
    let told = record(Cursor::new(mp3), &mut wav, longest)?;
    let mut reader = hound::WavReader::new(Cursor::new(wav.into_inner())).expect("WAV");
    let spec = reader.spec();
    assert_eq!(spec.channels, 2);
    assert_eq!(spec.sample_rate, 8_000);
    assert_eq!(spec.bits_per_sample, 16);
    let samples: Vec<i16> = reader.samples().collect::<Result<_, _>>().expect("samples");
    assert_eq!(
        samples.len() as u64,
        told * 16,
        "the header tells what is there"
    );
    let side = |side| samples.iter().skip(side).step_by(2).copied().collect();
    Ok((told, side(0), side(1)))
}

/// The level of a tone between two times (Goertzel), relative to its amplitude of 12,000.
fn level(samples: &[i16], (from_ms, to_ms): (usize, usize), hertz: f64) -> f64 {
    let samples = &samples[from_ms * 8..to_ms * 8];
    let (mut sine, mut cosine) = (0.0, 0.0);
    for (place, &sample) in samples.iter().enumerate() {
        let phase = TAU * hertz * place as f64 / 8_000.0;
        sine += f64::from(sample) * phase.sin();
        cosine += f64::from(sample) * phase.cos();
    }
    2.0 * f64::hypot(sine, cosine) / samples.len() as f64 / 12_000.0
}

#[test]
fn one_channel_is_on_both_sides_at_its_time() {
    let (told, left, right) = recorded(MONO, LONG).expect("a recording");
    // The encoder adds about 0.1 s at both ends.
    assert!((1_500..1_700).contains(&told), "{told}");
    assert_eq!(left, right);
    for (times, loud, silent) in [((150, 950), 400.0, 800.0), ((1_200, 1_450), 800.0, 400.0)] {
        assert!(level(&left, times, loud) > 0.9, "{loud}");
        assert!(level(&left, times, silent) < 0.05, "{silent}");
    }
}

#[test]
fn two_channels_are_the_two_sides() {
    let (told, left, right) = recorded(STEREO, LONG).expect("a recording");
    assert!((600..740).contains(&told), "{told}");
    for (side, loud, silent) in [(&left, 400.0, 1_000.0), (&right, 1_000.0, 400.0)] {
        assert!(level(side, (100, 550), loud) > 0.9, "{loud}");
        assert!(level(side, (100, 550), silent) < 0.05, "{silent}");
    }
}

#[test]
fn what_is_too_long_ends_when_it_may_last_no_longer() {
    // 200 files in one, of which the first claims to be the whole.
    let long = STEREO.repeat(200);
    let (whole, ..) = recorded(&long, LONG).expect("a recording");
    assert!((59_900..60_100).contains(&whole), "{whole}");
    let (short, left, _) = recorded(&long, Duration::from_millis(300)).expect("a recording");
    assert!((300..420).contains(&short), "{short}");
    assert!(level(&left, (100, 290), 400.0) > 0.9);
}

#[test]
fn what_is_no_mp3_file_is_no_recording() {
    let lying = [b"ID3\x04\0\0\x7f\x7f\x7f\x7f".as_slice(), &MONO[TAG..]].concat();
    let endless = b"ID3\x04\0\0\0\0\0\0".repeat(1_000);
    let files: [&[u8]; 9] = [
        b"",
        b"ID3",
        b"<!doctype html><title>Not found</title>",
        br#"{"detail": {"status": "not_found"}}"#,
        b"RIFF\x24\0\0\0WAVEfmt \x10\0\0\0",
        &lying,
        &endless,
        &[0xff; 65_536],
        &[0; 65_536],
    ];
    for file in files {
        let begins = &file[..file.len().min(16)];
        let told = recorded(file, LONG);
        assert!(matches!(told, Err(Mp3Error::NoMp3)), "{begins:?}: {told:?}");
    }
}

#[test]
fn a_file_that_is_cut_off_anywhere_is_recorded_up_to_there_or_not_at_all() {
    let (whole, ..) = recorded(MONO, LONG).expect("a recording");
    let mut last = 0;
    for length in (0..MONO.len()).step_by(7) {
        match recorded(&MONO[..length], LONG) {
            Ok((told, ..)) => {
                assert!((last..=whole).contains(&told), "{length}: {told}");
                last = told;
            }
            Err(error) => {
                assert!(matches!(error, Mp3Error::NoMp3), "{length}: {error}");
                assert_eq!(last, 0, "{length}");
            }
        }
    }
    assert!(last + 100 > whole, "{last}");
}

proptest! {
    #[test]
    fn a_damaged_file_is_recorded_or_refused_and_is_never_longer_than_it_may_be(
        stereo: bool,
        damages in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..60),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut file = if stereo { STEREO } else { MONO }.to_vec();
        for (place, byte) in damages {
            let place = place.index(file.len());
            file[place] = byte;
        }
        // A part is missing in the middle.
        let from = cut.index(file.len() - 100);
        file.drain(from..from + 97);
        match recorded(&file, Duration::from_secs(1)) {
            Ok((told, ..)) => prop_assert!(told <= 1_200, "{told}"),
            Err(error) => prop_assert!(matches!(error, Mp3Error::NoMp3), "{error}"),
        }
    }
}
