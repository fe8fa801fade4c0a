//! Sound between the form that the ports have (8 kHz, 16 bit, mono) and those of services.

use audio_codec::pcmu::{PcmuDecoder, PcmuEncoder};
use audio_codec::{BoxedResampler, Decoder as _, Encoder as _};
use offhook_engine::ports::audio::SAMPLE_RATE;
use offhook_engine::ports::speech::SpeechError;

/// The longest sound of one text, in samples: ten minutes. A service that sends more has lost its way.
pub(super) const MAX_SAMPLES: usize = 10 * 60 * SAMPLE_RATE as usize;

/// G.711 µ-law, which loses nothing of what came as µ-law.
pub(super) fn to_ulaw(samples: &[i16]) -> Vec<u8> {
    PcmuEncoder::new().encode(samples)
}

fn from_ulaw(bytes: &[u8]) -> Vec<i16> {
    PcmuDecoder::new().decode(bytes)
}

/// What a telephone makes of a sound.
#[cfg(test)]
pub(super) fn telephone(samples: &[i16]) -> Vec<i16> {
    from_ulaw(&to_ulaw(samples))
}

/// How a service's sound comes. All of it is mono.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Coding {
    /// µ-law at 8 kHz.
    Ulaw,
    /// 16 bit, little-endian, at this rate.
    Pcm(u32),
}

/// Reads a service's sound, piece by piece.
pub(super) struct SoundReader {
    coding: Coding,
    /// The first half of a sample whose second half has not come.
    half: Option<u8>,
    resampler: Option<BoxedResampler>,
    read: usize,
}

impl SoundReader {
    /// A reader for one stream.
    ///
    /// # Errors
    /// [`SpeechError::Protocol`] for a rate that no sound has.
    pub(super) fn new(coding: Coding) -> Result<Self, SpeechError> {
        let resampler = match coding {
            Coding::Ulaw | Coding::Pcm(SAMPLE_RATE) => None,
            Coding::Pcm(rate) => Some(resampler(rate, SAMPLE_RATE)?),
        };
        Ok(Self {
            coding,
            half: None,
            resampler,
            read: 0,
        })
    }

    /// The samples of the next bytes.
    ///
    /// # Errors
    /// [`SpeechError::Protocol`] for sound without end.
    pub(super) fn read(&mut self, bytes: &[u8]) -> Result<Vec<i16>, SpeechError> {
        let samples = match self.coding {
            Coding::Ulaw => from_ulaw(bytes),
            Coding::Pcm(_) => self.linear(bytes),
        };
        let samples = match &mut self.resampler {
            Some(resampler) => resampler.resample(&samples),
            None => samples,
        };
        self.read += samples.len();
        if self.read > MAX_SAMPLES {
            return Err(SpeechError::Protocol("its sound does not end"));
        }
        Ok(samples)
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

/// Changes the rate of a whole sound.
///
/// # Errors
/// [`SpeechError::Protocol`] for a rate that no sound has.
pub(super) fn resample(samples: &[i16], from: u32, to: u32) -> Result<Vec<i16>, SpeechError> {
    if from == to {
        return Ok(samples.to_vec());
    }
    Ok(resampler(from, to)?.resample(samples))
}

fn resampler(from: u32, to: u32) -> Result<BoxedResampler, SpeechError> {
    let rate = |rate: u32| {
        usize::try_from(rate)
            .ok()
            .filter(|rate| (4_000..=192_000).contains(rate))
            .ok_or(SpeechError::Protocol("its sound has an unknown rate"))
    };
    BoxedResampler::new(rate(from)?, rate(to)?)
        .map_err(|_| SpeechError::Protocol("its sound has an unknown rate"))
}

/// A WAV file of these samples.
pub(super) fn wav(samples: &[i16], rate: u32) -> Vec<u8> {
    let bytes = samples.len() * 2;
    let data = u32::try_from(bytes).unwrap_or(u32::MAX);
    let mut file = Vec::with_capacity(44 + bytes);
    file.extend(b"RIFF");
    file.extend(data.saturating_add(36).to_le_bytes());
    file.extend(b"WAVEfmt ");
    file.extend(16_u32.to_le_bytes());
    // Linear, one channel.
    file.extend(1_u16.to_le_bytes());
    file.extend(1_u16.to_le_bytes());
    file.extend(rate.to_le_bytes());
    file.extend((rate * 2).to_le_bytes());
    file.extend(2_u16.to_le_bytes());
    file.extend(16_u16.to_le_bytes());
    file.extend(b"data");
    file.extend(data.to_le_bytes());
    for sample in samples {
        file.extend(sample.to_le_bytes());
    }
    file
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_ulaw_value_comes_back_as_itself() {
        // 0x7f is the negative zero, which linear sound does not have.
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

    #[test]
    fn a_wav_file_says_what_it_holds() {
        let file = wav(&[1, -2], 16_000);
        assert_eq!(file.len(), 48);
        assert_eq!(file[4..8], 40_u32.to_le_bytes());
        assert_eq!(file[24..28], 16_000_u32.to_le_bytes());
        assert_eq!(file[40..], [4, 0, 0, 0, 1, 0, 254, 255]);
    }
}
