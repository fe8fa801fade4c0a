//! How a voice sounds: a sentence that it speaks.

use actix_web::HttpResponse;
use actix_web::http::header::{CACHE_CONTROL, X_CONTENT_TYPE_OPTIONS};
use offhook_domain::config::{Voice, is_bcp47_shape};

use super::document::language;
use crate::prelude::*;

/// The path, after `/portal`.
pub(super) const PATH: &str = "/voices/preview";

/// The field of the voice, as `provider|voice_id`; empty: the voice that the editor's fields name.
pub(super) const VOICE: &str = "preview";

/// `POST /portal/voices/preview`: a WAV file.
pub(super) async fn speak(post: Post<Developer>) -> Answer {
    let fields = &post.fields;
    let named = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    let (provider, voice_id, model) = match fields.text(VOICE).split_once('|') {
        Some((provider, id)) => (provider, id, ""),
        None => (
            fields.text("voice.provider"),
            fields.text("voice.voice_id"),
            fields.text("voice.model"),
        ),
    };
    let tag = |path| Some(language(fields, path)).filter(|tag| is_bcp47_shape(tag));
    let voice = Voice {
        provider: named(provider),
        voice_id: named(voice_id),
        model: named(model),
        language: tag("voice.language").map(str::to_owned),
        ..Voice::default()
    };
    let language = tag("language").unwrap_or("en");
    let agents = post.services().agents();
    let sound = agents
        .preview_voice(post.account(), voice, language)
        .await?;
    Ok(HttpResponse::Ok()
        .content_type("audio/wav")
        .insert_header((CACHE_CONTROL, "no-store"))
        .insert_header((X_CONTENT_TYPE_OPTIONS, "nosniff"))
        .body(sound))
}
