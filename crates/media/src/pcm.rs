//! Converts other services' PCM WAV files, with any number of channels, to this service's recording format. A file's
//! stated length is ignored.

use std::io::{self, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::time::Duration;

use hound::{SampleFormat, WavReader};

use crate::foreign::Copy;

/// Samples per channel in one step.
const CHUNK_SAMPLES: usize = 4_096;

/// Chunks of a file that are searched for its audio at most.
const MOST_CHUNKS: usize = 64;

/// Why there is no recording.
#[derive(Debug, thiserror::Error)]
pub enum PcmError {
    /// The file is no WAV file, has no audio, or has audio in another format than PCM.
    #[error("it is no WAV file with PCM in it")]
    NoPcm,
    /// The file cannot be read or corrected, or the recording cannot be written.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Writes the audio of a WAV file as a recording; mono goes to both sides. Returns the duration in milliseconds. Audio
/// after `longest` is dropped. If the input's header states a wrong length, for example because the file was written
/// into a pipe or cut off, it is corrected in place. This function blocks. After a [`PcmError`] the output is no valid
/// recording.
pub fn record(
    mut wav: impl Read + Write + Seek,
    to: impl Write + Seek,
    longest: Duration,
) -> Result<u64, PcmError> {
    correct_length(&mut wav)?;
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

/// Corrects the length in the header; leaves a file alone that is no WAV file.
fn correct_length(wav: &mut (impl Read + Write + Seek)) -> io::Result<()> {
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

/// Copies interleaved samples.
fn copy_all<W: Write + Seek>(
    copy: &mut Copy<W>,
    mut samples: impl Iterator<Item = i16>,
    channels: usize,
    rate: u32,
) -> Result<(), PcmError> {
    let kept = channels.min(2);
    let mut planes = vec![Vec::with_capacity(CHUNK_SAMPLES); kept];
    let mut is_over = channels == 0;
    while !is_over && !copy.is_full() {
        planes.iter_mut().for_each(Vec::clear);
        for at in 0..CHUNK_SAMPLES * channels {
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

/// Converts a sample of `width` bits to 16.
fn narrowed(sample: i32, width: u32) -> i16 {
    let sample = match width {
        0..=16 => sample << (16 - width),
        _ => sample >> (width.min(32) - 16),
    };
    i16::try_from(sample).unwrap_or(if sample < 0 { i16::MIN } else { i16::MAX })
}

/// Converts a sample from -1 to 1 to 16 bits; NaN becomes silence.
#[expect(
    clippy::cast_possible_truncation,
    reason = "it is within the bounds of 16 bits"
)]
fn scaled(sample: f32) -> i16 {
    (sample.clamp(-1.0, 1.0) * f32::from(i16::MAX)) as i16
}
