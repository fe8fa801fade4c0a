//! Converts audio between the ports' format (8 kHz, 16 bit, mono) and those of services.

use offhook_engine::ports::audio::SAMPLE_RATE;
use offhook_engine::ports::speech::SpeechError;
use offhook_media::codec::Codec;
use offhook_media::resample::{Resampler, UnknownRate};

use super::Result;

/// The longest audio of one text, in samples: ten minutes. More than that is a service's fault.
pub(crate) const MAX_SAMPLES: usize = 10 * 60 * SAMPLE_RATE as usize;

/// Encodes G.711 µ-law; lossless for samples that were decoded from µ-law.
pub(crate) fn to_ulaw(samples: &[i16]) -> Vec<u8> {
    let mut codes = Vec::with_capacity(samples.len());
    Codec::Pcmu.encode_into(samples, &mut codes);
    codes
}

fn from_ulaw(bytes: &[u8]) -> Vec<i16> {
    let mut samples = Vec::with_capacity(bytes.len());
    Codec::Pcmu.decode_into(bytes, &mut samples);
    samples
}

/// The audio after a round trip through µ-law.
#[cfg(test)]
pub(crate) fn telephone(samples: &[i16]) -> Vec<i16> {
    from_ulaw(&to_ulaw(samples))
}

/// The audio format of a service; always mono.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Coding {
    /// µ-law at 8 kHz.
    Ulaw,
    /// 16 bit, little-endian, at this rate in Hz.
    Pcm(u32),
}

/// Decodes a service's audio, piece by piece.
pub(crate) struct SoundReader {
    coding: Coding,
    /// The first byte of an incomplete sample.
    half: Option<u8>,
    resampler: Option<Resampler>,
    read: usize,
}

impl SoundReader {
    /// A reader for one stream. Returns [`SpeechError::Protocol`] for an unsupported rate.
    pub(crate) fn new(coding: Coding) -> Result<Self> {
        let resampler = match coding {
            Coding::Ulaw | Coding::Pcm(SAMPLE_RATE) => None,
            Coding::Pcm(rate) => Some(Resampler::new(rate, SAMPLE_RATE).map_err(unknown)?),
        };
        Ok(Self {
            coding,
            half: None,
            resampler,
            read: 0,
        })
    }

    /// The samples of the next bytes. Returns [`SpeechError::Protocol`] beyond the longest audio.
    pub(crate) fn read(&mut self, bytes: &[u8]) -> Result<Vec<i16>> {
        let samples = match self.coding {
            Coding::Ulaw => from_ulaw(bytes),
            Coding::Pcm(_) => self.linear(bytes),
        };
        let samples = match &mut self.resampler {
            Some(resampler) => {
                let mut resampled = Vec::with_capacity(samples.len());
                resampler.push(&samples, &mut resampled);
                resampled
            }
            None => samples,
        };
        self.read += samples.len();
        if self.read > MAX_SAMPLES {
            return Err(SpeechError::Protocol("its sound does not end"));
        }
        Ok(samples)
    }

    /// The last samples, a few milliseconds at most, after all bytes.
    pub(crate) fn finish(&mut self) -> Vec<i16> {
        let mut rest = Vec::new();
        if let Some(resampler) = &mut self.resampler {
            resampler.finish(&mut rest);
        }
        rest
    }

    fn linear(&mut self, bytes: &[u8]) -> Vec<i16> {
        let mut samples = Vec::with_capacity(bytes.len() / 2 + 1);
        let mut rest = bytes;
        if let (Some(low), Some((high, after))) = (self.half, rest.split_first()) {
            samples.push(i16::from_le_bytes([low, *high]));
            self.half = None;
            rest = after;
        }
        let (pairs, odd) = rest.as_chunks::<2>();
        samples.extend(pairs.iter().map(|pair| i16::from_le_bytes(*pair)));
        if let Some(low) = odd.first() {
            self.half = Some(*low);
        }
        samples
    }
}

/// Resamples a whole sound. Returns [`SpeechError::Protocol`] for an unsupported rate.
pub(crate) fn resample(samples: &[i16], from: u32, to: u32) -> Result<Vec<i16>> {
    let mut resampler = Resampler::new(from, to).map_err(unknown)?;
    let mut resampled = Vec::new();
    resampler.push(samples, &mut resampled);
    resampler.finish(&mut resampled);
    Ok(resampled)
}

fn unknown(_: UnknownRate) -> SpeechError {
    SpeechError::Protocol("its sound has an unknown rate")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_ulaw_value_comes_back_as_itself() {
        // 0x7f is the negative zero, which linear PCM does not have.
        let all: Vec<u8> = (0..=255).filter(|byte| *byte != 0x7f).collect();
        assert_eq!(to_ulaw(&from_ulaw(&all)), all);
    }

    #[test]
    fn samples_may_be_cut_anywhere() {
        let samples: Vec<i16> = (0..100).map(|n| n * 321 - 16_000).collect();
        let bytes: Vec<u8> = samples.iter().flat_map(|s| s.to_le_bytes()).collect();
        for size in 1..8 {
            let mut reader = SoundReader::new(Coding::Pcm(8_000)).unwrap();
            let mut read = Vec::new();
            for piece in bytes.chunks(size) {
                read.extend(reader.read(piece).unwrap());
            }
            assert_eq!(read, samples, "in pieces of {size}");
        }
    }

    #[test]
    fn a_tone_of_24_khz_keeps_its_length_and_its_pitch() {
        let tone: Vec<u8> = (0..24_000)
            .map(|n| (f64::from(n) * 400.0 * std::f64::consts::TAU / 24_000.0).sin())
            .flat_map(|s| ((s * 10_000.0) as i16).to_le_bytes())
            .collect();
        let mut reader = SoundReader::new(Coding::Pcm(24_000)).unwrap();
        let mut read = Vec::new();
        for piece in tone.chunks(4_001) {
            read.extend(reader.read(piece).unwrap());
        }
        read.extend(reader.finish());
        assert_eq!(read.len(), 8_000);
        let crossings = read.windows(2).filter(|w| w[0] < 0 && w[1] >= 0).count();
        assert!((398..=402).contains(&crossings), "{crossings} periods");
        let loudest = read.iter().map(|s| s.unsigned_abs()).max();
        assert!(
            loudest.is_some_and(|loud| (9_500..10_800).contains(&loud)),
            "{loudest:?}"
        );
    }

    #[test]
    fn sound_without_end_is_refused() {
        let mut reader = SoundReader::new(Coding::Ulaw).unwrap();
        assert!(reader.read(&vec![0xff; MAX_SAMPLES]).is_ok());
        assert_eq!(
            reader.read(&[0xff]),
            Err(SpeechError::Protocol("its sound does not end"))
        );
    }
}
