//! Parses an agent's speech settings (`settings`), which each adapter validates itself.

use offhook_domain::json::{Fault, FieldError, Fields, Json};
use offhook_engine::ports::speech::{RecognizerSettings, SpeechError, VoiceSettings};

use super::Result;

/// The path of a recognizer's settings in an agent's configuration.
pub(crate) const STT: &str = "config.stt.settings";

/// The path of a voice's settings.
pub(crate) const VOICE: &str = "config.voice.settings";

/// The most terms for a recognizer, and characters of a term.
const TERMS: usize = 100;
const TERM_CHARS: usize = 100;

/// Parses a settings object. A member that `read` does not use is an error. Returns [`SpeechError::Unable`] with the
/// field and its fault.
pub(crate) fn read<T>(
    text: &str,
    path: &str,
    read: impl FnOnce(&mut Fields<'_>) -> Result<T, FieldError>,
) -> Result<T> {
    let text = if text.trim().is_empty() { "{}" } else { text };
    let json = Json::parse(text.as_bytes())
        .map_err(|_| unable(FieldError::new(path, Fault::NotJsonObject)))?;
    let mut fields = Fields::of(&json, path).map_err(unable)?;
    let value = read(&mut fields).map_err(unable)?;
    fields.finish().map_err(unable)?;
    Ok(value)
}

/// Checks that there are no settings, for adapters without any.
pub(crate) fn none(text: &str, path: &str) -> Result<()> {
    read(text, path, |_| Ok(()))
}

/// Parses the terms that the recognizer should expect. Fails if the value is no list, is too long, or has an invalid
/// term.
pub(crate) fn terms(fields: &mut Fields<'_>, name: &str) -> Result<Vec<String>, FieldError> {
    let Some(items) = fields.optional_array(name, 1..=TERMS)? else {
        return Ok(Vec::new());
    };
    let term = |item: &Json| {
        item.as_str()
            .map(str::trim)
            .filter(|term| !term.is_empty() && term.chars().count() <= TERM_CHARS)
            .map(str::to_owned)
    };
    let terms: Option<Vec<String>> = items.iter().map(term).collect();
    terms.ok_or_else(|| fields.fault(name, Fault::Terms(TERM_CHARS)))
}

/// Validates the voice's id against a form that fits all providers, because it becomes part of a path or a command.
/// Returns [`SpeechError::Unable`] for anything else.
pub(crate) fn voice_id(settings: &VoiceSettings) -> Result<&str> {
    let id = settings.voice_id.as_str();
    let is_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '+');
    let begins = id.starts_with(|c: char| c.is_ascii_alphanumeric());
    if begins && id.len() <= 128 && id.chars().all(is_word) {
        return Ok(id);
    }
    Err(unable(FieldError::new(
        "config.voice.voice_id",
        Fault::VoiceId,
    )))
}

/// Validates the speed. Returns [`SpeechError::Unable`] outside `low` to `high`.
pub(crate) fn speed(settings: &VoiceSettings, low: f64, high: f64) -> Result<f64> {
    if (low..=high).contains(&settings.speed) {
        return Ok(settings.speed);
    }
    Err(unable(FieldError::new(
        "config.conversation.audio.speed",
        Fault::Speed {
            low: low.to_string(),
            high: high.to_string(),
        },
    )))
}

/// The recognizer's model. Self-hosted services have no default, so it returns [`SpeechError::Unable`] if the model is
/// missing.
pub(crate) fn recognizer_model(settings: &RecognizerSettings) -> Result<String> {
    named(&settings.model, "config.stt.model")
}

/// The voice's model.
pub(crate) fn voice_model(settings: &VoiceSettings) -> Result<String> {
    named(&settings.model, "config.voice.model")
}

fn named(model: &str, field: &str) -> Result<String> {
    if model.is_empty() {
        return Err(unable(FieldError::new(field, Fault::NameModel)));
    }
    Ok(model.to_owned())
}

/// The primary language of `es`, `es-MX` or `es_MX`.
pub(crate) fn primary(language: &str) -> String {
    let first = language.split(['-', '_']).next().unwrap_or(language);
    first.to_ascii_lowercase()
}

pub(crate) fn unable(fault: FieldError) -> SpeechError {
    SpeechError::Unable(fault)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn voice(voice_id: &str, speed: f64) -> VoiceSettings {
        VoiceSettings {
            voice_id: voice_id.to_owned(),
            model: "m".to_owned(),
            language: "es-MX".to_owned(),
            speed,
            settings: "{}".into(),
            key: None,
        }
    }

    fn unable_of<T>(result: Result<T>) -> String {
        match result {
            Err(SpeechError::Unable(fault)) => fault.to_string(),
            _ => panic!("it is refused"),
        }
    }

    #[test]
    fn an_unknown_setting_is_named() {
        assert_eq!(none("", STT), Ok(()));
        assert_eq!(none(" {} ", STT), Ok(()));
        assert_eq!(
            unable_of(none("{\"tempo\":1}", STT)),
            "`config.stt.settings.tempo`: unknown field"
        );
        for text in ["[]", "{", "null"] {
            assert!(unable_of(none(text, STT)).starts_with("`config.stt.settings`: "));
        }
    }

    #[test]
    fn a_voice_id_is_a_word() {
        for id in [
            "21m00Tcm4TlvDq8ikWAM",
            "aura-2-thalia-en",
            "es-mx+f2",
            "kal16",
        ] {
            assert_eq!(voice_id(&voice(id, 1.0)), Ok(id));
        }
        for id in ["", "-x", "..", "a/b", "a b", "a?b", "é", &"a".repeat(129)] {
            assert!(unable_of(voice_id(&voice(id, 1.0))).starts_with("`config.voice.voice_id`: "));
        }
    }

    #[test]
    fn a_missing_model_is_reported() {
        let nameless = VoiceSettings {
            model: String::new(),
            ..voice("v", 1.0)
        };
        assert_eq!(voice_model(&voice("v", 1.0)), Ok("m".to_owned()));
        assert_eq!(
            unable_of(voice_model(&nameless)),
            "`config.voice.model`: is required with this provider: name the model that it is to use"
        );
    }

    #[test]
    fn a_speed_beyond_the_provider_is_refused() {
        assert_eq!(speed(&voice("v", 0.7), 0.7, 1.2), Ok(0.7));
        assert_eq!(
            unable_of(speed(&voice("v", 1.5), 0.7, 1.2)),
            "`config.conversation.audio.speed`: this voice's provider speaks at 0.7 to 1.2 times its own speed: choose one of these"
        );
    }
}
