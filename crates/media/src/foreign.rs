//! Converts other services' audio files to this service's recording format.

use std::io::{self, Seek, Write};
use std::time::Duration;

use crate::resample::Resampler;
use crate::wav::Recording;
use crate::{FRAME_SAMPLES, Frame, SAMPLE_RATE, SILENCE};

/// A recording of a file's audio. A mono file is written to both sides; of more than two channels the first two are
/// used.
pub(crate) struct Copy<W: Write + Seek> {
    recording: Recording<W>,
    sides: Vec<Side>,
    longest: Duration,
}

/// One channel with its conversion to 8 kHz.
struct Side {
    resampler: Resampler,
    sound: Vec<i16>,
}

impl<W: Write + Seek> Copy<W> {
    /// Starts a recording. Audio after `longest` is dropped.
    pub(crate) fn new(to: W, longest: Duration) -> io::Result<Self> {
        Ok(Self {
            recording: Recording::new(to)?,
            sides: Vec::new(),
            longest,
        })
    }

    /// Whether the recording has reached its longest duration.
    pub(crate) fn is_full(&self) -> bool {
        u128::from(self.recording.duration_ms()) >= self.longest.as_millis()
    }

    /// Adds audio, one plane per channel; `false` if its rate is not supported. The first piece determines the number
    /// of channels and the rate; decoders skip later audio in another format.
    pub(crate) fn add(&mut self, rate: u32, planes: &[Vec<i16>]) -> io::Result<bool> {
        if self.sides.is_empty() {
            for _ in planes.iter().take(2) {
                let Ok(resampler) = Resampler::new(rate, SAMPLE_RATE) else {
                    return Ok(false);
                };
                let sound = Vec::new();
                self.sides.push(Side { resampler, sound });
            }
        }
        for (side, plane) in self.sides.iter_mut().zip(planes) {
            side.resampler.push(plane, &mut side.sound);
        }
        self.write()?;
        Ok(true)
    }

    /// Writes the rest. Returns the duration in milliseconds, or `None` without any audio.
    pub(crate) fn finish(mut self) -> io::Result<Option<u64>> {
        for side in &mut self.sides {
            side.resampler.finish(&mut side.sound);
            let length = side.sound.len().next_multiple_of(FRAME_SAMPLES);
            side.sound.resize(length, 0);
        }
        if !self.is_full() {
            self.write()?;
        }
        if self.recording.frames() == 0 {
            return Ok(None);
        }
        let length = self.recording.duration_ms();
        self.recording.finish()?.flush()?;
        Ok(Some(length))
    }

    /// Writes all complete frames.
    fn write(&mut self) -> io::Result<()> {
        let [left, others @ ..] = &*self.sides else {
            return Ok(());
        };
        let right = others.first().unwrap_or(left);
        for (at, frame) in left.frames().iter().enumerate() {
            let other = right.frames().get(at).unwrap_or(&SILENCE);
            self.recording.add(frame, other)?;
        }
        for side in &mut self.sides {
            let written = side.frames().len() * FRAME_SAMPLES;
            side.sound.drain(..written);
        }
        Ok(())
    }
}

impl Side {
    fn frames(&self) -> &[Frame] {
        self.sound.as_chunks().0
    }
}
