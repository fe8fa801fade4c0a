//! `provider_a`: adds a voice of its shared library to the workspace, at `v1/voices/add/{owner}/{voice}`.

use offhook_domain::json::read_foreign;
use offhook_domain::ports::{SharedVoice, VoiceAnswerFault, VoiceLibraryError};
use reqwest::{StatusCode, Url};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::json;

use crate::voices::{Source, whole};

const MAX_ANSWER_BYTES: usize = 64 * 1024;

#[derive(Deserialize)]
struct Named {
    voice_id: String,
}

#[derive(Deserialize)]
struct Refusal {
    detail: Detail,
}

#[derive(Deserialize)]
struct Detail {
    status: String,
}

/// Adds a voice. The workspace must then have it under the library's own id, which is the id that agents use.
pub(crate) async fn add(source: &Source, voice: &SharedVoice) -> Result<(), VoiceLibraryError> {
    let url = below(
        source,
        &["v1", "voices", "add", &voice.owner_id, &voice.voice_id],
    )?;
    let request = source
        .client
        .post(url)
        .json(&json!({"new_name": voice.name}));
    let answer = source.send(request).await?;
    let status = answer.status();
    let body = whole(answer, MAX_ANSWER_BYTES).await?;
    if status.is_success() {
        return named(&body, voice);
    }
    let said = read::<Refusal>(&body).map(|refusal| refusal.detail.status);
    match said.as_deref() {
        Ok("voice_already_cloned" | "voice_already_exists") => check_exists(source, voice).await,
        Ok("voice_limit_reached") => Err(VoiceLibraryError::Full),
        Ok("voice_not_found") => Err(VoiceLibraryError::NotShared),
        _ => Err(VoiceLibraryError::Refused(status.as_u16())),
    }
}

/// Checks that the workspace has a voice under this id; it may have the same voice under another one.
async fn check_exists(source: &Source, voice: &SharedVoice) -> Result<(), VoiceLibraryError> {
    let url = below(source, &["v1", "voices", &voice.voice_id])?;
    let answer = source.send(source.client.get(url)).await?;
    let status = answer.status();
    let body = whole(answer, MAX_ANSWER_BYTES).await?;
    match status {
        StatusCode::OK => named(&body, voice),
        other => Err(VoiceLibraryError::Refused(other.as_u16())),
    }
}

/// Checks that an answer is about the requested voice.
fn named(body: &[u8], voice: &SharedVoice) -> Result<(), VoiceLibraryError> {
    let named: Named = read(body)?;
    match named.voice_id == voice.voice_id {
        true => Ok(()),
        false => Err(VoiceLibraryError::Malformed(VoiceAnswerFault::OtherVoice)),
    }
}

fn below(source: &Source, path: &[&str]) -> Result<Url, VoiceLibraryError> {
    let mut url = source.base.clone();
    match url.path_segments_mut() {
        Ok(mut segments) => segments.pop_if_empty().extend(path),
        Err(()) => return Err(VoiceLibraryError::Malformed(VoiceAnswerFault::NoPath)),
    };
    Ok(url)
}

fn read<T: DeserializeOwned>(body: &[u8]) -> Result<T, VoiceLibraryError> {
    read_foreign(body).map_err(|_| VoiceLibraryError::Malformed(VoiceAnswerFault::NotJson))
}
