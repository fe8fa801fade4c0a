//! WAV as programs write it into a pipe: the header comes first, perhaps without the final length.

use offhook_engine::ports::speech::SpeechError;

use super::Result;
use super::sound::{Coding, SoundReader};

const MAX_HEADER_BYTES: usize = 64 * 1024;

/// Lengths from here on mean "unknown".
const UNKNOWN: u32 = 0x7fff_0000;

/// The format codes of linear PCM: `PCM` and `EXTENSIBLE`.
const LINEAR: [u16; 2] = [1, 0xfffe];

/// Decodes a WAV file piece by piece into the ports' format.
#[derive(Default)]
pub(crate) struct WavReader {
    header: Vec<u8>,
    sound: Option<Sound>,
}

struct Sound {
    reader: SoundReader,
    /// The remaining bytes of audio, if known.
    left: Option<usize>,
}

impl WavReader {
    /// The samples of the next bytes. Returns [`SpeechError::Protocol`] unless it is a WAV file with one channel and 16
    /// bits.
    pub(crate) fn read(&mut self, bytes: &[u8]) -> Result<Vec<i16>> {
        if let Some(sound) = &mut self.sound {
            return sound.read(bytes);
        }
        self.header.extend_from_slice(bytes);
        let Some((rate, length, begin)) = header(&self.header)? else {
            if self.header.len() > MAX_HEADER_BYTES {
                return Err(SpeechError::Protocol("its sound is no WAV file"));
            }
            return Ok(Vec::new());
        };
        let left = (length > 0 && length < UNKNOWN).then_some(length);
        let sound = self.sound.insert(Sound {
            reader: SoundReader::new(Coding::Pcm(rate))?,
            left: left.and_then(|left| usize::try_from(left).ok()),
        });
        let samples = sound.read(self.header.get(begin..).unwrap_or_default());
        self.header = Vec::new();
        samples
    }

    /// The last samples, after all bytes.
    pub(crate) fn finish(&mut self) -> Vec<i16> {
        let sound = self.sound.as_mut();
        sound.map_or_else(Vec::new, |sound| sound.reader.finish())
    }

    /// Whether a header came; without one there was no audio.
    pub(crate) const fn has_begun(&self) -> bool {
        self.sound.is_some()
    }
}

impl Sound {
    fn read(&mut self, bytes: &[u8]) -> Result<Vec<i16>> {
        let Some(left) = &mut self.left else {
            return self.reader.read(bytes);
        };
        let (bytes, _) = bytes.split_at(bytes.len().min(*left));
        *left -= bytes.len();
        self.reader.read(bytes)
    }
}

/// The sample rate, the length in bytes, and the offset of the audio; `None` if more bytes are needed.
fn header(bytes: &[u8]) -> Result<Option<(u32, u32, usize)>> {
    let wrong = |what| Err(SpeechError::Protocol(what));
    let prefix = bytes.get(..12);
    if !b"RIFF".starts_with(bytes.get(..4).unwrap_or(bytes))
        || prefix.is_some_and(|prefix| &prefix[8..] != b"WAVE")
    {
        return wrong("its sound is no WAV file");
    }
    let (mut at, mut rate) = (12, None);
    loop {
        let Some(chunk) = bytes.get(at..at + 8) else {
            return Ok(None);
        };
        let length = u32::from_le_bytes([chunk[4], chunk[5], chunk[6], chunk[7]]);
        let begin = at + 8;
        if &chunk[..4] == b"data" {
            return match rate {
                Some(rate) => Ok(Some((rate, length, begin))),
                None => wrong("its sound is no WAV file"),
            };
        }
        let size = usize::try_from(length).unwrap_or(usize::MAX);
        if size > MAX_HEADER_BYTES {
            return wrong("its sound is no WAV file");
        }
        if &chunk[..4] == b"fmt " {
            let Some(format) = bytes.get(begin..begin + 16) else {
                return Ok(None);
            };
            let short = |at: usize| u16::from_le_bytes([format[at], format[at + 1]]);
            if !LINEAR.contains(&short(0)) || short(2) != 1 || short(14) != 16 {
                return wrong("its sound is not of one channel and 16 bits");
            }
            rate = Some(u32::from_le_bytes([
                format[4], format[5], format[6], format[7],
            ]));
        }
        // Chunks are padded to even lengths.
        at = begin + size + size % 2;
    }
}

#[cfg(test)]
mod tests {
    use offhook_media::wav::mono as wav;
    use proptest::prelude::*;

    use super::*;

    fn whole(file: &[u8], size: usize) -> Result<Vec<i16>> {
        let mut reader = WavReader::default();
        let mut samples = Vec::new();
        for piece in file.chunks(size) {
            samples.extend(reader.read(piece)?);
        }
        samples.extend(reader.finish());
        assert_eq!(reader.has_begun(), !samples.is_empty());
        Ok(samples)
    }

    #[test]
    fn a_file_may_be_cut_anywhere_and_have_more_than_its_sound() {
        let samples: Vec<i16> = (0..500).collect();
        let mut file = wav(&samples, 8_000);
        file.splice(36..36, *b"LIST\x03\0\0\0abc\0");
        file.extend(b"id3 \x02\0\0\0xx");
        for size in [1, 7, 44, 10_000] {
            assert_eq!(
                whole(&file, size),
                Ok(samples.clone()),
                "in pieces of {size}"
            );
        }
    }

    #[test]
    fn an_unknown_length_extends_to_the_end_of_the_file() {
        for unknown in [0_u32, 0x7fff_f000, u32::MAX] {
            let mut file = wav(&[7; 100], 8_000);
            file[40..44].copy_from_slice(&unknown.to_le_bytes());
            assert_eq!(whole(&file, 50).map(|samples| samples.len()), Ok(100));
        }
    }

    #[test]
    fn another_rate_becomes_the_ports() {
        let file = wav(&vec![0; 22_050], 22_050);
        assert_eq!(whole(&file, 4_096).map(|samples| samples.len()), Ok(8_000));
    }

    #[test]
    fn what_is_no_sound_of_this_kind_is_refused() {
        let none = Err(SpeechError::Protocol("its sound is no WAV file"));
        assert_eq!(whole(b"Usage: speak [options]", 4), none);
        assert_eq!(whole(b"RIFF\0\0\0\0AVI LIST", 100), none);
        let mut stereo = wav(&[1, 2], 8_000);
        stereo[22] = 2;
        let kind = SpeechError::Protocol("its sound is not of one channel and 16 bits");
        assert_eq!(whole(&stereo, 100), Err(kind));
    }

    proptest! {
        #[test]
        fn nothing_makes_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), at in 0usize..60) {
            let mut file = wav(&[1, 2, 3], 8_000);
            file.splice(at.min(50)..at.min(50), bytes);
            let mut reader = WavReader::default();
            for piece in file.chunks(13) {
                if reader.read(piece).is_err() {
                    break;
                }
            }
        }
    }
}
