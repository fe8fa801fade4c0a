//! The price of a minute of a call: the sum over the catalog models that it uses.

use offhook_domain::{AgentConfig, Plan, Price};

use crate::Providers;
use crate::catalog::{Catalog, ModelKind};
use crate::speech::{SpeechInput, SpeechOutput};

impl Providers {
    /// The price of a minute of a call: the most expensive language model that may answer and, where calls are spoken,
    /// speech-to-text and the most expensive voice that may speak.
    pub(crate) fn price_of_a_minute(&self, plan: Plan, config: &AgentConfig) -> Price {
        if self.network.is_spoken() {
            return self.price_of_a_spoken_minute(plan, config);
        }
        self.catalog.dearest(plan, config)
    }

    /// The price of a spoken minute, whichever network calls are placed on.
    pub(crate) fn price_of_a_spoken_minute(&self, plan: Plan, config: &AgentConfig) -> Price {
        let answers = self.catalog.dearest(plan, config);
        let (recognizers, voices) = (self.recognizers(config), self.voices(config));
        answers.plus(of_speech(&self.catalog, plan, &recognizers, &voices))
    }
}

/// The price of speech-to-text and text-to-speech. A model missing from the catalog is the operator's own, and free.
fn of_speech(
    catalog: &Catalog,
    plan: Plan,
    recognizers: &[SpeechInput],
    voices: &[SpeechOutput],
) -> Price {
    let of = |kind, provider: &str, model: &str| {
        let model = catalog.find(kind, provider, model);
        model.map_or_else(Price::default, |model| model.price(plan))
    };
    let recognizers = recognizers
        .iter()
        .map(|(provider, settings)| of(ModelKind::Stt, provider, &settings.model));
    let voices = voices
        .iter()
        .map(|(provider, settings)| of(ModelKind::Tts, provider, &settings.model));
    dearest(recognizers).plus(dearest(voices))
}

fn dearest(prices: impl Iterator<Item = Price>) -> Price {
    prices.max().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use offhook_domain::Plans;
    use offhook_engine::ports::speech::{RecognizerSettings, VoiceSettings};

    use super::*;

    fn ear(provider: &str, model: &str) -> SpeechInput {
        let settings = RecognizerSettings {
            model: model.to_owned(),
            language: "en".to_owned(),
            settings: "{}".into(),
        };
        (provider.to_owned(), settings)
    }

    fn mouth(provider: &str, model: &str) -> SpeechOutput {
        let settings = VoiceSettings {
            voice_id: "v".to_owned(),
            model: model.to_owned(),
            language: "en".to_owned(),
            speed: 1.0,
            settings: "{}".into(),
            key: None,
        };
        (provider.to_owned(), settings)
    }

    #[test]
    fn listening_and_speaking_cost_what_the_dearest_costs_that_may_do_it() {
        let catalog = Catalog::load(&Plans::default()).unwrap();
        let price = |recognizers: &[SpeechInput], voices: &[SpeechOutput]| {
            of_speech(&catalog, Plan::Pro, recognizers, voices).millicredits_per_minute()
        };
        let nova = [ear("deepgram", "nova-3")];
        let voices = [
            mouth("provider_b", "standard"),
            mouth("provider_a", "flash"),
            mouth("local", "any"),
        ];
        assert_eq!(price(&nova, &voices), 100 + 500);
        assert_eq!(price(&nova, &voices[..1]), 100 + 300);
        assert_eq!(
            price(&[ear("local", "")], &[mouth("scripted", "scripted")]),
            0
        );
        assert_eq!(price(&[], &[]), 0);
    }
}
