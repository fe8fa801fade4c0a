//! WAV files of others, made recordings of this service's own form: whatever rate, width and number of channels they have.
//! What a file says of its length counts for nothing.

use std::io::{self, BufReader, BufWriter, Read, Seek, Write};
use std::time::Duration;

use hound::{SampleFormat, WavReader};

use crate::foreign::Copy;

/// Samples of a channel that are taken at once.
const TAKEN: usize = 4_096;

/// Why there is no recording.
#[derive(Debug, thiserror::Error)]
pub enum PcmError {
    /// It is no WAV file, has no sound, or sound in a form that is not PCM.
    #[error("it is no WAV file with PCM in it")]
    NoPcm,
    /// The recording cannot be written.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Writes the sound of a WAV file as a recording, of one channel on both sides; returns its milliseconds. What is behind
/// `longest` is left out, and so is what a file that was cut short says that it has. It blocks for as long as it takes.
///
/// # Errors
/// [`PcmError`]; what was written is no recording then.
pub fn record(wav: impl Read, to: impl Write + Seek, longest: Duration) -> Result<u64, PcmError> {
    let mut reader = WavReader::new(BufReader::new(wav)).map_err(|_| PcmError::NoPcm)?;
    let spec = reader.spec();
    let (channels, rate) = (usize::from(spec.channels), spec.sample_rate);
    let mut copy = Copy::new(BufWriter::new(to), longest)?;
    match spec.sample_format {
        SampleFormat::Int => {
            let width = u32::from(spec.bits_per_sample);
            let samples = reader.samples::<i32>().map_while(Result::ok);
            copy_all(
                &mut copy,
                samples.map(|sample| narrowed(sample, width)),
                channels,
                rate,
            )?;
        }
        SampleFormat::Float => {
            let samples = reader.samples::<f32>().map_while(Result::ok);
            copy_all(&mut copy, samples.map(scaled), channels, rate)?;
        }
    }
    copy.finish()?.ok_or(PcmError::NoPcm)
}

/// Copies samples of which each channel has one in turn.
fn copy_all<W: Write + Seek>(
    copy: &mut Copy<W>,
    mut samples: impl Iterator<Item = i16>,
    channels: usize,
    rate: u32,
) -> Result<(), PcmError> {
    let kept = channels.min(2);
    let mut planes = vec![Vec::with_capacity(TAKEN); kept];
    let mut is_over = channels == 0;
    while !is_over && !copy.is_full() {
        planes.iter_mut().for_each(Vec::clear);
        for at in 0..TAKEN * channels {
            let Some(sample) = samples.next() else {
                is_over = true;
                break;
            };
            if let Some(plane) = planes.get_mut(at % channels) {
                plane.push(sample);
            }
        }
        if !copy.add(rate, &planes)? {
            return Err(PcmError::NoPcm);
        }
    }
    Ok(())
}

/// A sample of so many bits in 16.
fn narrowed(sample: i32, width: u32) -> i16 {
    let sample = match width {
        0..=16 => sample << (16 - width),
        _ => sample >> (width.min(32) - 16),
    };
    i16::try_from(sample).unwrap_or(if sample < 0 { i16::MIN } else { i16::MAX })
}

/// A sample from -1 to 1 in 16 bits; what is no number is silence.
#[expect(
    clippy::cast_possible_truncation,
    reason = "it is within the bounds of 16 bits"
)]
fn scaled(sample: f32) -> i16 {
    (sample.clamp(-1.0, 1.0) * f32::from(i16::MAX)) as i16
}
