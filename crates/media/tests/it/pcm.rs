//! WAV files from other programs.

use std::f64::consts::TAU;
use std::io::Cursor;
use std::time::Duration;

use hound::{SampleFormat, WavSpec, WavWriter};
use offhook_media::pcm::{PcmError, record};
use proptest::prelude::*;

const LONG: Duration = Duration::from_secs(60);

/// A second of 400 Hz in the first channel, and silence in the others.
fn file(
    channels: u16,
    sample_rate: u32,
    bits_per_sample: u16,
    sample_format: SampleFormat,
) -> Vec<u8> {
    let spec = WavSpec {
        channels,
        sample_rate,
        bits_per_sample,
        sample_format,
    };
    let mut bytes = Cursor::new(Vec::new());
    let mut writer = WavWriter::new(&mut bytes, spec).expect("a writer");
    for place in 0..sample_rate {
        let sound = (TAU * 400.0 * f64::from(place) / f64::from(sample_rate)).sin() * 0.5;
        for channel in 0..channels {
            let sample = if channel == 0 { sound } else { 0.0 };
            match sample_format {
                SampleFormat::Float => writer.write_sample(sample as f32),
                SampleFormat::Int => {
                    let full = f64::from(2_u32.pow(u32::from(bits_per_sample) - 1) - 1);
                    writer.write_sample((sample * full) as i32)
                }
            }
            .expect("a sample");
        }
    }
    writer.finalize().expect("a file");
    bytes.into_inner()
}

/// The reported milliseconds, and both channels.
fn recorded(wav: &[u8], longest: Duration) -> Result<(u64, Vec<i16>, Vec<i16>), PcmError> {
    let mut made = Cursor::new(Vec::new());
    let told = record(Cursor::new(wav.to_vec()), &mut made, longest)?;
    let mut reader = hound::WavReader::new(Cursor::new(made.into_inner())).expect("WAV");
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

fn loudest(samples: &[i16]) -> i16 {
    samples.iter().copied().max().unwrap_or_default()
}

#[test]
fn a_file_of_any_form_of_pcm_is_a_recording_of_the_same_sound() {
    for (channels, rate, bits, format) in [
        (1, 8_000, 16, SampleFormat::Int),
        (1, 16_000, 8, SampleFormat::Int),
        (1, 44_100, 24, SampleFormat::Int),
        (2, 48_000, 32, SampleFormat::Int),
        (3, 22_050, 32, SampleFormat::Float),
    ] {
        let case = format!("{channels} {rate} {bits} {format:?}");
        let (told, left, right) = recorded(&file(channels, rate, bits, format), LONG).expect(&case);
        assert!((1_000..=1_040).contains(&told), "{case}: {told}");
        assert!(
            (15_000..18_000).contains(&loudest(&left)),
            "{case}: {}",
            loudest(&left)
        );
        match channels {
            1 => assert_eq!(left, right, "{case}"),
            _ => assert_eq!(loudest(&right), 0, "{case}"),
        }
    }
}

#[test]
fn audio_beyond_the_limit_is_dropped_and_a_truncated_file_is_kept_up_to_its_end() {
    let wav = file(1, 8_000, 16, SampleFormat::Int);
    let (told, ..) = recorded(&wav, Duration::from_millis(300)).expect("a recording");
    assert!((300..1_000).contains(&told), "{told}");
    let (told, ..) = recorded(&wav[..wav.len() / 2], LONG).expect("a recording");
    assert!((480..=520).contains(&told), "{told}");
}

#[test]
fn what_a_file_says_of_its_length_counts_for_nothing() {
    for (channels, bits) in [(1, 16), (2, 16), (2, 24)] {
        let mut wav = file(channels, 8_000, bits, SampleFormat::Int);
        let data = wav
            .windows(4)
            .position(|word| word == b"data")
            .expect("data");
        for length in [0, u32::MAX, u32::MAX - 1, 1_000_000] {
            wav[data + 4..data + 8].copy_from_slice(&u32::to_le_bytes(length));
            let (told, ..) = recorded(&wav, LONG).expect("a recording");
            assert_eq!(told, 1_000, "{channels} {bits} {length}");
        }
    }
}

#[test]
fn what_holds_no_sound_is_none() {
    let empty = file(1, 8_000, 16, SampleFormat::Int);
    for wav in [b"".as_slice(), b"RIFF\0\0\0\0WAVE and words", &empty[..44]] {
        assert!(matches!(recorded(wav, LONG), Err(PcmError::NoPcm)));
    }
}

proptest! {
    #[test]
    fn whatever_a_file_holds_it_is_a_recording_or_none(
        mut wav in Just(file(2, 8_000, 16, SampleFormat::Int)[..2_000].to_vec()),
        broken in proptest::collection::vec((0_usize..60, any::<u8>()), 0..8),
    ) {
        for (at, byte) in broken {
            wav[at] = byte;
        }
        let made = recorded(&wav, Duration::from_secs(5));
        prop_assert!(matches!(made, Ok(_) | Err(PcmError::NoPcm)));
    }
}
