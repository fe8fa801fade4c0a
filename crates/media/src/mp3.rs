//! MP3 files, made recordings of this service's own form. Whoever made the file is not believed: what it says of its
//! length counts for nothing, and a frame that cannot be decoded is passed over.

use std::io::{self, BufWriter, ErrorKind, Read, Seek, SeekFrom, Write};
use std::time::Duration;

use symphonia_bundle_mp3::{MpaDecoder, MpaReader};
use symphonia_core::codecs::audio::{AudioDecoder as _, AudioDecoderOptions};
use symphonia_core::errors::Error;
use symphonia_core::formats::{FormatOptions, FormatReader as _};
use symphonia_core::io::{MediaSourceStream, MediaSourceStreamOptions, ReadOnlySource};

use crate::foreign::Copy;

/// Tags in front of the sound that are passed over.
const MOST_TAGS: usize = 8;

/// Why there is no recording.
#[derive(Debug, thiserror::Error)]
pub enum Mp3Error {
    /// There is no sound in it that can be decoded.
    #[error("it is no MP3 file")]
    NoMp3,
    /// It cannot be read, or the recording cannot be written.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Writes the sound of an MP3 file as a recording, of one channel on both sides; returns its milliseconds. What is
/// behind `longest` is left out. It blocks for as long as it takes.
///
/// # Errors
/// [`Mp3Error`]; what was written is no recording then.
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
    // The silence that encoders put in front stays: how long it is the file says.
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
        // The tag in front may speak of another form than the sound has.
        let rate = decoder.last_decoded().spec().rate();
        if !copy.add(rate, &planes)? {
            return Err(Mp3Error::NoMp3);
        }
    }
    copy.finish()?.ok_or(Mp3Error::NoMp3)
}

/// Goes to the first frame of sound, behind the tags (ID3v2) in front of it. A file that begins otherwise is not
/// searched for one.
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

/// The end of a file is told as a fault where more was expected; only what the file itself fails with is one of
/// reading.
fn fault(error: Error) -> Mp3Error {
    match error {
        Error::IoError(error) if error.kind() != ErrorKind::UnexpectedEof => Mp3Error::Io(error),
        _ => Mp3Error::NoMp3,
    }
}
