//! The recording of a call. It downloads the provider's MP3 or WAV file and converts it to this service's format.
//! Neither file is ever in memory as a whole.

use std::fs::File;
use std::io::{self, Read as _, Seek as _};
use std::time::Duration;

use offhook_engine::legacy::{LegacyError, LegacyReference, RecordingError};
use offhook_media::mp3::{self, Mp3Error};
use offhook_media::pcm::{self, PcmError};
use reqwest::Response;
use tokio::io::AsyncWriteExt as _;
use tokio::task::spawn_blocking;

use super::client::{Client, Failed};
use super::conversations;

/// The largest download, in bytes: over an hour at the usual bit rates of calls.
const MOST_BYTES: u64 = 64 * 1024 * 1024;

/// The longest recording; calls are followed for less. At 32,000 bytes a second it has 346 MB.
const LONGEST: Duration = Duration::from_secs(3 * 3_600);

/// Writes the recording to `to`; `false` if there is none, or none yet.
pub(super) async fn fetch(
    client: &Client,
    key: &str,
    reference: &LegacyReference,
    to: File,
) -> Result<bool, RecordingError> {
    let Some(id) = conversations::id(client, key, reference).await? else {
        return Ok(false);
    };
    let path = ["v1", "convai", "conversations", &id, "audio"];
    let answer = match client.file(key, &path).await {
        Ok(answer) => answer,
        Err(Failed::NotFound) => return Ok(false),
        Err(failed) => return Err(failed.of_reading().into()),
    };
    let fetched = save(answer).await?;
    // A file that makes the decoder panic is rejected for good.
    let written = spawn_blocking(move || write(fetched, to)).await;
    written.unwrap_or(Err(RecordingError::Unusable("cannot be decoded")))?;
    Ok(true)
}

/// Saves an answer in an unnamed temporary file, which vanishes with this process at the latest.
async fn save(mut answer: Response) -> Result<File, RecordingError> {
    let file = spawn_blocking(tempfile::tempfile).await;
    let mut file = tokio::fs::File::from_std(file.map_err(io::Error::other)??);
    let mut length = 0;
    while let Some(chunk) = answer.chunk().await.map_err(|_| LegacyError::Unknown)? {
        length += chunk.len() as u64;
        if length > MOST_BYTES {
            return Err(RecordingError::Unusable("is larger than 64 MiB"));
        }
        file.write_all(&chunk).await?;
    }
    file.flush().await?;
    Ok(file.into_std().await)
}

/// The format is detected from the content; the answer's media type is ignored.
fn write(mut fetched: File, to: File) -> Result<(), RecordingError> {
    let mut begins = Vec::new();
    fetched.rewind()?;
    fetched.by_ref().take(12).read_to_end(&mut begins)?;
    fetched.rewind()?;
    if begins.starts_with(b"RIFF") && begins.ends_with(b"WAVE") {
        return match pcm::record(fetched, to, LONGEST) {
            Ok(_) => Ok(()),
            Err(PcmError::NoPcm) => Err(RecordingError::Unusable(
                "is a WAV file without sound that can be decoded",
            )),
            Err(PcmError::Io(error)) => Err(error.into()),
        };
    }
    match mp3::record(fetched, to, LONGEST) {
        Ok(_) => Ok(()),
        Err(Mp3Error::NoMp3) => Err(RecordingError::Unusable("is neither an MP3 nor a WAV file")),
        Err(Mp3Error::Io(error)) => Err(error.into()),
    }
}
