//! WAV with 16 bits. Recordings have 8 kHz, the caller on the left and the agent on the right.
//!
//! The header contains the length, which is wrong after a crash during a recording; [`repair`] corrects it from the
//! file's length.

use std::io::{self, Read, Seek, SeekFrom, Write};

use crate::{FRAME_SAMPLES, Frame, SAMPLE_RATE};

/// The offset of the first sample in bytes.
pub const HEADER_LEN: u64 = 44;

/// The size of a sample of both sides, in bytes.
pub const PAIR_LEN: u64 = 4;

/// The longest audio that the header's 32 bits allow: 37 hours.
const MOST_DATA: u64 = (u32::MAX as u64 - HEADER_LEN) / PAIR_LEN * PAIR_LEN;

/// A recording in progress. Its output should be buffered.
#[derive(Debug)]
pub struct Recording<W: Write + Seek> {
    to: W,
    data: u64,
}

impl<W: Write + Seek> Recording<W> {
    /// Starts a recording at the beginning of `to`. Returns errors of `to`.
    pub fn new(mut to: W) -> io::Result<Self> {
        to.seek(SeekFrom::Start(0))?;
        to.write_all(&header(2, SAMPLE_RATE, 0))?;
        Ok(Self { to, data: 0 })
    }

    /// Adds 20 ms of both sides. Audio beyond 37 hours is dropped. Returns errors of `to`.
    pub fn add(&mut self, caller: &Frame, agent: &Frame) -> io::Result<()> {
        let mut bytes = [0; FRAME_SAMPLES * PAIR_LEN as usize];
        if self.data + bytes.len() as u64 > MOST_DATA {
            return Ok(());
        }
        for (pair, (left, right)) in bytes.chunks_exact_mut(4).zip(caller.iter().zip(agent)) {
            pair[..2].copy_from_slice(&left.to_le_bytes());
            pair[2..].copy_from_slice(&right.to_le_bytes());
        }
        self.to.write_all(&bytes)?;
        self.data += bytes.len() as u64;
        Ok(())
    }

    /// Updates the header and flushes the output, so that a later crash loses nothing written so far. Returns errors of
    /// `to`.
    pub fn save(&mut self) -> io::Result<()> {
        self.write_header()?;
        self.to.flush()
    }

    /// Returns the number of frames so far.
    #[must_use]
    pub const fn frames(&self) -> u64 {
        self.data / PAIR_LEN / FRAME_SAMPLES as u64
    }

    /// Returns the duration so far in milliseconds.
    #[must_use]
    pub const fn duration_ms(&self) -> u64 {
        self.data / PAIR_LEN * 1_000 / SAMPLE_RATE as u64
    }

    /// Ends the recording and returns its output. Returns errors of `to`.
    pub fn finish(mut self) -> io::Result<W> {
        self.save()?;
        Ok(self.to)
    }

    fn write_header(&mut self) -> io::Result<()> {
        self.to.seek(SeekFrom::Start(0))?;
        self.to.write_all(&header(2, SAMPLE_RATE, self.data))?;
        self.to.seek(SeekFrom::Start(HEADER_LEN + self.data))?;
        Ok(())
    }
}

/// Why a file was not repaired.
#[derive(Debug, thiserror::Error)]
pub enum RepairError {
    /// The file does not begin like a recording of this service.
    #[error("the file is no recording: it does not begin with the header of one")]
    NoRecording,
    /// The file cannot be read or written.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Corrects the header of an incomplete recording, and returns its duration in milliseconds. An incomplete sample at
/// the end stays; readers skip it. After [`RepairError::NoRecording`] the file is unchanged.
pub fn repair(file: &mut (impl Read + Write + Seek)) -> Result<u64, RepairError> {
    let length = file.seek(SeekFrom::End(0))?;
    file.seek(SeekFrom::Start(0))?;
    let mut found = [0; HEADER_LEN as usize];
    if length < HEADER_LEN {
        return Err(RepairError::NoRecording);
    }
    file.read_exact(&mut found)?;
    let data = ((length - HEADER_LEN) / PAIR_LEN * PAIR_LEN).min(MOST_DATA);
    let right = header(2, SAMPLE_RATE, data);
    // Compare everything but the two lengths.
    let same = |range: std::ops::Range<usize>| found[range.clone()] == right[range];
    if !(same(0..4) && same(8..40)) {
        return Err(RepairError::NoRecording);
    }
    file.seek(SeekFrom::Start(0))?;
    file.write_all(&right)?;
    file.flush()?;
    Ok(data / PAIR_LEN * 1_000 / u64::from(SAMPLE_RATE))
}

/// Returns a complete mono file.
#[must_use]
pub fn mono(samples: &[i16], rate: u32) -> Vec<u8> {
    let mut file = header(1, rate, samples.len() as u64 * 2).to_vec();
    file.extend(samples.iter().flat_map(|sample| sample.to_le_bytes()));
    file
}

fn header(channels: u16, rate: u32, data: u64) -> [u8; HEADER_LEN as usize] {
    let data = data.min(MOST_DATA) as u32;
    let frame = channels * 2;
    let mut header = [0; HEADER_LEN as usize];
    let fields: [&[u8]; 13] = [
        b"RIFF",
        &(data + HEADER_LEN as u32 - 8).to_le_bytes(),
        b"WAVE",
        b"fmt ",
        &16u32.to_le_bytes(),
        // PCM.
        &1u16.to_le_bytes(),
        &channels.to_le_bytes(),
        &rate.to_le_bytes(),
        &(rate * u32::from(frame)).to_le_bytes(),
        &frame.to_le_bytes(),
        &16u16.to_le_bytes(),
        b"data",
        &data.to_le_bytes(),
    ];
    let mut at = 0;
    for field in fields {
        header[at..at + field.len()].copy_from_slice(field);
        at += field.len();
    }
    header
}
