//! Deepgram's streaming speech-to-text and compatible services: `v1/listen` for models such as `nova-3`, and
//! `v2/listen` for `flux` models, which detect the end of a turn themselves. Audio is sent as µ-law.

mod flux;
mod nova;

use std::sync::Arc;

use async_trait::async_trait;
use offhook_domain::json::{Fault, Json};
use offhook_engine::ports::speech::{
    Recognizer, RecognizerAbilities, RecognizerSettings, SpeechToText,
};
use reqwest::Url;

use crate::speech::endpoint::Endpoint;
use crate::speech::listen::listen;
use crate::speech::settings::{self, STT};
use crate::speech::{Result, SpeechInput};

/// The prefix of models that detect turns.
const FLUX: &str = "flux";

/// The service's default pause before it finalizes words, in milliseconds.
const ENDPOINTING_MS: i64 = 300;

#[derive(Clone)]
pub(crate) struct Deepgram {
    pub(crate) endpoint: Endpoint,
    /// Uses `v2/listen`, which needs another recognizer.
    finds_turns: bool,
}

/// The settings as the query of the connection's URL.
type Query = Vec<(&'static str, String)>;

impl Deepgram {
    pub(crate) const fn new(endpoint: Endpoint) -> Self {
        Self {
            endpoint,
            finds_turns: false,
        }
    }

    fn url(&self, settings: &RecognizerSettings) -> Result<Url> {
        let (path, query) = if is_flux(settings) {
            ("v2/listen", turning(settings)?)
        } else {
            ("v1/listen", streaming(settings)?)
        };
        self.endpoint.socket_url(path, &query)
    }
}

impl SpeechInput for Deepgram {
    fn check(&self, settings: &RecognizerSettings) -> Result<()> {
        self.url(settings).map(|_| ())
    }

    fn of_model(&self, model: &str) -> Option<Arc<dyn SpeechToText>> {
        let ear = Self {
            finds_turns: true,
            ..self.clone()
        };
        model
            .starts_with(FLUX)
            .then(|| Arc::new(ear) as Arc<dyn SpeechToText>)
    }
}

#[async_trait]
impl SpeechToText for Deepgram {
    async fn open(&self, settings: RecognizerSettings) -> Result<Recognizer> {
        let (url, headers) = (self.url(&settings)?, self.endpoint.credential());
        let socket = self.endpoint.upgrade(url, headers).open().await?;
        Ok(if is_flux(&settings) {
            listen(socket, flux::Flux::default())
        } else {
            listen(socket, nova::Nova::default())
        })
    }

    fn abilities(&self) -> RecognizerAbilities {
        RecognizerAbilities {
            partials: true,
            turns: self.finds_turns,
        }
    }
}

fn is_flux(settings: &RecognizerSettings) -> bool {
    settings.model.starts_with(FLUX)
}

fn sound() -> [(&'static str, String); 2] {
    [
        ("encoding", "mulaw".to_owned()),
        ("sample_rate", "8000".to_owned()),
    ]
}

/// The query of `v1/listen`.
fn streaming(settings: &RecognizerSettings) -> Result<Query> {
    let model = settings::recognizer_model(settings)?;
    settings::read(&settings.settings, STT, |fields| {
        let mut query = vec![("model", model), ("language", settings.language.clone())];
        query.extend(sound());
        query.push(("channels", "1".to_owned()));
        query.push(("interim_results", "true".to_owned()));
        let endpointing = match fields.take("endpointing_ms") {
            None | Some(Json::Null) => ENDPOINTING_MS.to_string(),
            Some(Json::Bool(false)) => "false".to_owned(),
            Some(value) => match value.as_i64() {
                Some(ms) if (10..=5_000).contains(&ms) => ms.to_string(),
                _ => return Err(fields.fault("endpointing_ms", Fault::Endpointing)),
            },
        };
        query.push(("endpointing", endpointing));
        for (name, default) in [
            ("punctuate", Some(true)),
            ("smart_format", None),
            ("numerals", None),
            ("profanity_filter", None),
        ] {
            if let Some(on) = fields.optional_bool(name)?.or(default) {
                query.push((name, on.to_string()));
            }
        }
        let terms = settings::terms(fields, "keyterms")?;
        query.extend(terms.into_iter().map(|term| ("keyterm", term)));
        Ok(query)
    })
}

/// The query of `v2/listen`.
fn turning(settings: &RecognizerSettings) -> Result<Query> {
    settings::read(&settings.settings, STT, |fields| {
        let mut query = vec![("model", settings.model.clone())];
        query.extend(sound());
        if settings.model.ends_with("-multi") {
            query.push(("language_hint", settings::primary(&settings.language)));
        }
        for (name, low, high) in [
            ("eot_threshold", 0.5, 1.0),
            ("eager_eot_threshold", 0.3, 0.9),
        ] {
            if let Some(threshold) = fields.optional_number(name, low..=high)? {
                query.push((name, threshold.to_string()));
            }
        }
        if let Some(ms) = fields.optional_integer("eot_timeout_ms", 500..=60_000)? {
            query.push(("eot_timeout_ms", ms.to_string()));
        }
        let terms = settings::terms(fields, "keyterms")?;
        query.extend(terms.into_iter().map(|term| ("keyterm", term)));
        Ok(query)
    })
}
