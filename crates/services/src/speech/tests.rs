use std::sync::Arc;

use offhook_domain::json::{Fault, Json};
use offhook_domain::{FieldError, Plans};
use offhook_engine::ports::speech::{SpeechToText, TextToSpeech};

use super::*;

/// A deployment with these providers; none of them is ever called.
struct Here(&'static [&'static str], &'static [&'static str]);

impl Speech for Here {
    fn recognizer(
        &self,
        provider: &str,
        _: &RecognizerSettings,
    ) -> Result<Arc<dyn SpeechToText>, SpeechError> {
        Err(answer(self.0, provider))
    }

    fn synthesizer(
        &self,
        provider: &str,
        _: &VoiceSettings,
    ) -> Result<Arc<dyn TextToSpeech>, SpeechError> {
        Err(answer(self.1, provider))
    }

    /// As an account's own key would set it up.
    fn is_added(&self, provider: &str) -> bool {
        provider == "elevenlabs"
    }
}

fn answer(known: &[&str], provider: &str) -> SpeechError {
    if known.contains(&provider) || provider == SCRIPTED {
        return SpeechError::Unable(FieldError::new("config", Fault::Unknown));
    }
    SpeechError::NotConfigured
}

const NOTHING: Here = Here(&[], &[]);

fn catalog() -> Catalog {
    Catalog::load(&Plans::default()).unwrap()
}

fn config(text: &str) -> AgentConfig {
    AgentConfig::from_json(&Json::parse(text.as_bytes()).unwrap(), "config", "es-MX").unwrap()
}

fn all_voices(speech: &dyn Speech, config: &AgentConfig) -> Vec<SpeechOutput> {
    let catalog = catalog();
    let voice = chosen_voice(&catalog, speech, config);
    let others = fallback_voices(&catalog, config);
    voice.into_iter().chain(others).collect()
}

fn heard(model: &str, language: &str, settings: &str) -> RecognizerSettings {
    RecognizerSettings {
        model: model.to_owned(),
        language: language.to_owned(),
        settings: settings.into(),
    }
}

fn spoken(voice_id: &str, model: &str, settings: &str) -> VoiceSettings {
    VoiceSettings {
        voice_id: voice_id.to_owned(),
        model: model.to_owned(),
        language: "es-MX".to_owned(),
        speed: 1.0,
        settings: settings.into(),
        key: None,
    }
}

#[test]
fn an_agent_listens_as_it_says() {
    let whole = config(
        r#"{"stt":{"provider":"deepgram","model":"flux-general-en","language":"en","settings":{"eot_threshold":0.8}}}"#,
    );
    let ear = heard("flux-general-en", "en", r#"{"eot_threshold":0.8}"#);
    let expected = [("deepgram".to_owned(), ear)];
    assert_eq!(recognizers(&catalog(), &NOTHING, &whole), expected);

    let short = config(r#"{"stt":{"provider":"deepgram"}}"#);
    let expected = [("deepgram".to_owned(), heard("nova-3", "es-MX", "{}"))];
    assert_eq!(recognizers(&catalog(), &NOTHING, &short), expected);
}

#[test]
fn who_names_no_recognizer_has_the_only_one() {
    let unset = config(r#"{"stt":{"settings":{"punctuate":true}}}"#);
    assert_eq!(recognizers(&catalog(), &NOTHING, &unset), []);
    let one = Here(&["openai"], &[]);
    let ear = heard("gpt-transcribe", "es-MX", r#"{"punctuate":true}"#);
    assert_eq!(
        recognizers(&catalog(), &one, &unset),
        [("openai".to_owned(), ear)]
    );
    let own = Here(&["local"], &[]);
    let ear = heard("", "es-MX", "{}");
    assert_eq!(
        recognizers(&catalog(), &own, &config("{}")),
        [("local".to_owned(), ear)]
    );
    let two = Here(&["openai", "deepgram"], &[]);
    assert_eq!(recognizers(&catalog(), &two, &unset), []);
    assert_eq!(listening(&catalog(), &two), ["deepgram", "openai"]);
}

#[test]
fn an_own_key_becomes_the_default_only_where_the_deployment_has_none() {
    for (set_up, expected) in [
        (&["openai", "elevenlabs"][..], "openai"),
        (&["elevenlabs"], "elevenlabs"),
    ] {
        let found = recognizers(&catalog(), &Here(set_up, &[]), &config("{}"));
        assert_eq!(found[0].0, expected);
    }
}

#[test]
fn an_agent_speaks_by_its_voice_and_then_by_the_others_in_the_catalogs_order() {
    let all = config(
        r#"{"voice":{"provider":"provider_b","voice_id":"v","model":"m","language":"es","settings":{"volume":1.5},
        "fallback_voices":{"scripted":"hum","provider_c":"aura-2-celeste-es","provider_a":"x"}},
        "conversation":{"audio":{"speed":1.1}}}"#,
    );
    let fast = |settings: VoiceSettings| VoiceSettings {
        language: "es".to_owned(),
        speed: 1.1,
        ..settings
    };
    let expected = [
        ("provider_b", spoken("v", "m", r#"{"volume":1.5}"#)),
        ("provider_a", spoken("x", "flash", "{}")),
        ("provider_c", spoken("aura-2-celeste-es", "aura-2", "{}")),
        ("scripted", spoken("hum", "scripted", "{}")),
    ];
    let expected = expected.map(|(provider, settings)| (provider.to_owned(), fast(settings)));
    assert_eq!(all_voices(&NOTHING, &all), expected);
}

#[test]
fn who_names_no_voice_has_the_only_one_where_there_is_no_list() {
    let unset = config("{}");
    assert_eq!(all_voices(&NOTHING, &unset), []);
    let own = Here(&[], &["local"]);
    let expected = [("local".to_owned(), spoken("", "", "{}"))];
    assert_eq!(all_voices(&own, &unset), expected);
    assert_eq!(all_voices(&Here(&[], &["provider_c"]), &unset), []);
    let two = Here(&[], &["provider_c", "local"]);
    assert_eq!(all_voices(&two, &unset), []);
    assert_eq!(speaking(&catalog(), &two), ["provider_c", "local"]);
}
