//! Converts MP3 files to this service's recording format. The file is not trusted: its stated length is ignored, and
//! frames that cannot be decoded are skipped.

use std::io::{self, BufWriter, ErrorKind, Read, Seek, SeekFrom, Write};
use std::time::Duration;

use symphonia_bundle_mp3::{MpaDecoder, MpaReader};
use symphonia_core::codecs::audio::{AudioDecoder as _, AudioDecoderOptions};
use symphonia_core::errors::Error;
use symphonia_core::formats::{FormatOptions, FormatReader as _};
use symphonia_core::io::{MediaSourceStream, MediaSourceStreamOptions, ReadOnlySource};

use crate::foreign::Copy;

/// Tags before the audio that are skipped at most.
const MOST_TAGS: usize = 8;

/// Why there is no recording.
#[derive(Debug, thiserror::Error)]
pub enum Mp3Error {
    /// The file has no audio that can be decoded.
    #[error("it is no MP3 file")]
    NoMp3,
    /// The file cannot be read, or the recording cannot be written.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Writes the audio of an MP3 file as a recording; mono goes to both sides. Returns the duration in milliseconds. Audio
/// after `longest` is dropped. This function blocks. After an [`Mp3Error`] the output is no valid recording.
pub fn record(
    mut mp3: impl Read + Seek + Send + Sync,
    wav: impl Write + Seek,
    longest: Duration,
) -> Result<u64, Mp3Error> {
    find_sound(&mut mp3)?;
    let options = MediaSourceStreamOptions::default();
    let source = MediaSourceStream::new(Box::new(ReadOnlySource::new(mp3)), options);
    let mut reader = MpaReader::try_new(source, FormatOptions::default()).map_err(fault)?;
    let track = reader.tracks().first();
    let form = track.and_then(|track| track.codec_params.as_ref()?.audio().cloned());
    let form = form.ok_or(Mp3Error::NoMp3)?;
    // Keep the encoder's leading silence: its stated length is not trusted.
    let options = AudioDecoderOptions::default().gapless(false);
    let mut decoder = MpaDecoder::try_new(&form, &options).map_err(fault)?;
    let mut planes: Vec<Vec<i16>> = Vec::new();
    let mut copy = Copy::new(BufWriter::new(wav), longest)?;
    while !copy.is_full() {
        let packet = match reader.next_packet() {
            Ok(Some(packet)) => packet,
            Ok(None) => break,
            Err(error) => match fault(error) {
                Mp3Error::NoMp3 => break,
                error @ Mp3Error::Io(_) => return Err(error),
            },
        };
        let Ok(sound) = decoder.decode(&packet) else {
            continue;
        };
        sound.copy_to_vecs_planar(&mut planes);
        // The leading tag may state another format than the audio has.
        let rate = decoder.last_decoded().spec().rate();
        if !copy.add(rate, &planes)? {
            return Err(Mp3Error::NoMp3);
        }
    }
    copy.finish()?.ok_or(Mp3Error::NoMp3)
}

/// Seeks to the first audio frame, after any leading tags (ID3v2). A file with another beginning is rejected without a
/// search.
fn find_sound(mp3: &mut (impl Read + Seek)) -> Result<(), Mp3Error> {
    let mut at = 0;
    for _ in 0..=MOST_TAGS {
        mp3.seek(SeekFrom::Start(at))?;
        let mut head = [0; 10];
        mp3.read_exact(&mut head)
            .map_err(|error| match error.kind() {
                ErrorKind::UnexpectedEof => Mp3Error::NoMp3,
                _ => Mp3Error::Io(error),
            })?;
        match head {
            [0xff, second, ..] if second & 0xe0 == 0xe0 => {
                mp3.seek(SeekFrom::Start(at))?;
                return Ok(());
            }
            [b'I', b'D', b'3', _, _, flags, size @ ..] if size.iter().all(|byte| *byte < 0x80) => {
                let size = size
                    .iter()
                    .fold(0, |size, byte| (size << 7) | u64::from(*byte));
                let footer = if flags & 0x10 == 0 { 0 } else { 10 };
                at += 10 + size + footer;
            }
            _ => return Err(Mp3Error::NoMp3),
        }
    }
    Err(Mp3Error::NoMp3)
}

/// Converts a decoder error. An unexpected end of the file counts as invalid content; only other I/O errors are read
/// errors.
fn fault(error: Error) -> Mp3Error {
    match error {
        Error::IoError(error) if error.kind() != ErrorKind::UnexpectedEof => Mp3Error::Io(error),
        _ => Mp3Error::NoMp3,
    }
}
