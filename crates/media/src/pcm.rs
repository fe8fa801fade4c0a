//! WAV files of others that hold PCM, made recordings of this service's own form, whatever number of channels they have.
//! What a file says of its length counts for nothing.

use std::io::{self, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::time::Duration;

use hound::{SampleFormat, WavReader};

use crate::foreign::Copy;

/// Samples of a channel that are taken at once.
const TAKEN: usize = 4_096;

/// Pieces of a file that are looked through for its sound.
const MOST_CHUNKS: usize = 64;

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
/// `longest` is left out. The file's own header is mended where it tells another length than there is, as of one that was
/// written into a pipe or cut short. It blocks for as long as it takes.
///
/// # Errors
/// [`PcmError`]; what was written is no recording then.
pub fn record(
    mut wav: impl Read + Write + Seek,
    to: impl Write + Seek,
    longest: Duration,
) -> Result<u64, PcmError> {
    tell_length(&mut wav)?;
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

/// Has the header tell how much sound there is; of what is no WAV file nothing is changed.
fn tell_length(wav: &mut (impl Read + Write + Seek)) -> io::Result<()> {
    let end = wav.seek(SeekFrom::End(0))?;
    let (mut at, mut block) = (12, None);
    for _ in 0..MOST_CHUNKS {
        if at + 8 > end {
            break;
        }
        wav.seek(SeekFrom::Start(at))?;
        let mut head = [0; 8];
        wav.read_exact(&mut head)?;
        let [a, b, c, d, length @ ..] = head;
        let (length, there) = (u64::from(u32::from_le_bytes(length)), end - at - 8);
        match &[a, b, c, d] {
            b"fmt " if there >= 14 => {
                let mut form = [0; 14];
                wav.read_exact(&mut form)?;
                block = Some(u64::from(u16::from_le_bytes([form[12], form[13]]).max(1)));
            }
            b"data" => {
                let Some(block) = block.filter(|_| length == 0 || length > there) else {
                    break;
                };
                let told = u32::try_from(there - there % block).unwrap_or(u32::MAX);
                wav.seek(SeekFrom::Start(at + 4))?;
                wav.write_all(&told.to_le_bytes())?;
                break;
            }
            _ => {}
        }
        at += 8 + length + length % 2;
    }
    wav.rewind()
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
