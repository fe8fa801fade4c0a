//! The price of a minute of a call: the sum over the catalog models that it uses.

use crate::catalog::{Catalog, ModelKind, PricePart, dearest};
use crate::prelude::*;
use crate::speech::{SpeechInput, SpeechOutput};

impl Providers {
    /// The price of a minute of a call: the most expensive language model that may answer and, where calls are spoken,
    /// speech-to-text and the most expensive voice that may speak.
    pub(crate) fn price_of_a_minute(&self, plan: Plan, config: &AgentConfig) -> Price {
        sum(&self.parts_of_a_minute(plan, config, self.network.is_spoken()))
    }

    /// The price of a spoken minute, whichever network calls are placed on.
    pub(crate) fn price_of_a_spoken_minute(&self, plan: Plan, config: &AgentConfig) -> Price {
        sum(&self.parts_of_a_minute(plan, config, true))
    }

    /// What the price of a minute is made of.
    pub(crate) fn parts_of_a_minute(
        &self,
        plan: Plan,
        config: &AgentConfig,
        is_spoken: bool,
    ) -> Vec<PricePart> {
        let mut parts: Vec<PricePart> = self
            .catalog
            .dearest_part(plan, config)
            .into_iter()
            .collect();
        if is_spoken {
            let (recognizers, voices) = (self.recognizers(config), self.voices(config));
            parts.extend(of_speech(&self.catalog, plan, &recognizers, &voices));
        }
        parts
    }
}

/// The sum of the parts.
pub(crate) fn sum(parts: &[PricePart]) -> Price {
    let each = parts.iter().map(|part| part.price);
    each.fold(Price::default(), Price::plus)
}

/// Speech-to-text and text-to-speech.
fn of_speech(
    catalog: &Catalog,
    plan: Plan,
    recognizers: &[SpeechInput],
    voices: &[SpeechOutput],
) -> Vec<PricePart> {
    let recognizers = recognizers
        .iter()
        .map(|(provider, settings)| (&**provider, &*settings.model));
    let voices = voices
        .iter()
        .map(|(provider, settings)| (&**provider, &*settings.model));
    let recognizer = dearest(catalog, plan, ModelKind::Stt, recognizers);
    let voice = dearest(catalog, plan, ModelKind::Tts, voices);
    recognizer.into_iter().chain(voice).collect()
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
            sum(&of_speech(&catalog, Plan::Pro, recognizers, voices)).millicredits_per_minute()
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
