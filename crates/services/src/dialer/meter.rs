//! Meters a call's cost. Its model, recognizer and voice may change while it lasts; each second costs the price of
//! those in use during it.

use async_trait::async_trait;
use futures_util::StreamExt as _;
use futures_util::stream::BoxStream;
use offhook_engine::ports::speech::{
    Recognizer, RecognizerAbilities, RecognizerSettings, SpeechError, SpeechPiece, SpeechToText,
    SpokenText, Synthesizer, TextToSpeech, VoiceSettings,
};
use offhook_engine::ports::{
    Endpoint, LanguageModel, ModelDelta, ModelError, ModelRequest, Models,
};
use parking_lot::Mutex;
use tokio::time::Instant;

use crate::catalog::ModelKind;
use crate::prelude::*;

/// Changes counted to the second; a call with more continues at the last price.
const MOST_CHANGES: usize = 1_000;

/// The prices of one call. Clones share them.
#[derive(Clone)]
pub(crate) struct Meter {
    providers: Arc<Providers>,
    plan: Plan,
    parts: Arc<Mutex<[Part; 3]>>,
}

/// One of model, recognizer and voice: the price of the first choice, and the prices in use with their start.
#[derive(Debug, Default)]
struct Part {
    first: Option<Price>,
    since: Vec<(Instant, Price)>,
}

const fn place(kind: ModelKind) -> usize {
    match kind {
        ModelKind::Llm => 0,
        ModelKind::Stt => 1,
        ModelKind::Tts => 2,
    }
}

impl Meter {
    pub(crate) fn new(providers: &Arc<Providers>, plan: Plan) -> Self {
        Self {
            providers: providers.clone(),
            plan,
            parts: Arc::default(),
        }
    }

    /// The price per minute of this model. A model missing from the catalog is the operator's own, and free.
    fn price(&self, kind: ModelKind, provider: &str, model: &str) -> Price {
        let model = self.providers.catalog.find(kind, provider, model);
        model.map_or_else(Price::default, |model| model.price(self.plan))
    }

    /// The first one named is the first choice.
    fn names(&self, kind: ModelKind, provider: &str, model: &str) -> Price {
        let price = self.price(kind, provider, model);
        self.parts.lock()[place(kind)].first.get_or_insert(price);
        price
    }

    /// Records that this price applies from now on.
    fn at_work(&self, kind: ModelKind, price: Price) {
        self.parts.lock()[place(kind)].begin(price);
    }

    /// Wraps the call's models; this one is the first choice.
    pub(crate) fn models(&self, models: Arc<dyn Models>, first: (&str, &str)) -> Arc<dyn Models> {
        self.names(ModelKind::Llm, first.0, first.1);
        Arc::new(Metered {
            inner: models,
            meter: self.clone(),
            price: Price::default(),
        })
    }

    /// Wraps a recognizer of the call. Call it in the order in which they are tried.
    pub(crate) fn ear(
        &self,
        inner: Arc<dyn SpeechToText>,
        (provider, model): (&str, &str),
    ) -> Arc<dyn SpeechToText> {
        let (meter, price) = (self.clone(), self.names(ModelKind::Stt, provider, model));
        Arc::new(Metered {
            inner,
            meter,
            price,
        })
    }

    /// Wraps a voice of the call, likewise.
    pub(crate) fn voice(
        &self,
        inner: Arc<dyn TextToSpeech>,
        (provider, model): (&str, &str),
    ) -> Arc<dyn TextToSpeech> {
        let (meter, price) = (self.clone(), self.names(ModelKind::Tts, provider, model));
        Arc::new(Metered {
            inner,
            meter,
            price,
        })
    }

    /// The cost of a call that lasted this many seconds and ended at `ended`.
    pub(crate) fn credits(&self, ended: Instant, seconds: i64) -> Credits {
        let long = Duration::from_secs(u64::try_from(seconds).unwrap_or(0));
        let began = ended.checked_sub(long).unwrap_or(ended);
        let parts = self.parts.lock();
        let spent = parts.iter().map(|part| part.spent(began, seconds)).sum();
        // Rounded up once.
        Price::from_millicredits_per_minute(spent).of_seconds(1)
    }
}

impl Part {
    fn begin(&mut self, price: Price) {
        let is_other = self.since.last().is_none_or(|(_, last)| *last != price);
        if is_other && self.since.len() < MOST_CHANGES {
            self.since.push((Instant::now(), price));
        }
    }

    /// The sum of the seconds' prices, in thousandths of a credit per minute. The first one in use counts from the
    /// beginning; if none was in use, the first choice does.
    fn spent(&self, began: Instant, seconds: i64) -> i64 {
        let first = self.since.first().map(|(_, price)| *price);
        let mut price = first.or(self.first).unwrap_or_default();
        let (mut from, mut spent) = (0, 0);
        for (at, next) in self.since.iter().skip(1) {
            let after = at
                .saturating_duration_since(began)
                .as_millis()
                .div_ceil(1_000);
            let second = i64::try_from(after)
                .unwrap_or(i64::MAX)
                .clamp(from, seconds);
            spent += price.millicredits_per_minute() * (second - from);
            (from, price) = (second, *next);
        }
        spent + price.millicredits_per_minute() * (seconds - from)
    }
}

/// Forwards to `inner`, and records its price once it is in use.
struct Metered<T> {
    inner: T,
    meter: Meter,
    price: Price,
}

impl Models for Metered<Arc<dyn Models>> {
    fn find(
        &self,
        provider: &str,
        model: &str,
        endpoint: Option<&Endpoint>,
    ) -> Result<Arc<dyn LanguageModel>, ModelError> {
        Ok(Arc::new(Metered {
            inner: self.inner.find(provider, model, endpoint)?,
            meter: self.meter.clone(),
            price: self.meter.price(ModelKind::Llm, provider, model),
        }))
    }
}

impl LanguageModel for Metered<Arc<dyn LanguageModel>> {
    fn stream(&self, request: ModelRequest) -> BoxStream<'static, Result<ModelDelta, ModelError>> {
        let (meter, price) = (self.meter.clone(), self.price);
        let noted = self.inner.stream(request).inspect(move |delta| {
            if matches!(delta, Ok(ModelDelta::Text(_) | ModelDelta::Call(_))) {
                meter.at_work(ModelKind::Llm, price);
            }
        });
        noted.boxed()
    }
}

#[async_trait]
impl SpeechToText for Metered<Arc<dyn SpeechToText>> {
    async fn open(&self, settings: RecognizerSettings) -> Result<Recognizer, SpeechError> {
        let opened = self.inner.open(settings).await?;
        self.meter.at_work(ModelKind::Stt, self.price);
        Ok(opened)
    }

    fn abilities(&self) -> RecognizerAbilities {
        self.inner.abilities()
    }
}

#[async_trait]
impl TextToSpeech for Metered<Arc<dyn TextToSpeech>> {
    async fn open(&self, settings: VoiceSettings) -> Result<Box<dyn Synthesizer>, SpeechError> {
        Ok(Box::new(Metered {
            inner: self.inner.open(settings).await?,
            meter: self.meter.clone(),
            price: self.price,
        }))
    }
}

impl Synthesizer for Metered<Box<dyn Synthesizer>> {
    fn speak(&self, text: SpokenText) -> BoxStream<'static, Result<SpeechPiece, SpeechError>> {
        let (meter, price) = (self.meter.clone(), self.price);
        let noted = self.inner.speak(text).inspect(move |piece| {
            if piece.is_ok() {
                meter.at_work(ModelKind::Tts, price);
            }
        });
        noted.boxed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FREE: Price = Price::from_millicredits_per_minute(0);
    const CHEAP: Price = Price::from_millicredits_per_minute(60);
    const DEAR: Price = Price::from_millicredits_per_minute(1_200);

    /// The cost of a minute's call whose price changes at these milliseconds.
    async fn spent(changes: &[(u64, Price)]) -> i64 {
        let mut part = Part {
            first: Some(CHEAP),
            since: Vec::new(),
        };
        let began = Instant::now();
        for (at, price) in changes {
            tokio::time::sleep_until(began + Duration::from_millis(*at)).await;
            part.begin(*price);
        }
        part.spent(began, 60)
    }

    #[tokio::test(start_paused = true)]
    async fn each_second_costs_what_was_at_work_when_it_began() {
        for (changes, thousandths) in [
            // None was in use: the price of the first choice.
            (&[][..], 60 * 60),
            (&[(900, CHEAP)], 60 * 60),
            // The first one in use counts from the beginning.
            (&[(5_000, DEAR)], 60 * 1_200),
            (&[(1_000, FREE), (10_000, DEAR)], 50 * 1_200),
            (&[(1_000, FREE), (10_001, DEAR)], 49 * 1_200),
            (
                &[
                    (1_000, FREE),
                    (10_000, DEAR),
                    (20_000, CHEAP),
                    (20_500, CHEAP),
                ],
                10 * 1_200 + 40 * 60,
            ),
            // Within one second.
            (&[(1_000, CHEAP), (10_100, DEAR), (10_200, CHEAP)], 60 * 60),
            // After the end of the call.
            (&[(1_000, CHEAP), (61_000, DEAR)], 60 * 60),
        ] {
            assert_eq!(spent(changes).await, thousandths, "{changes:?}");
        }
    }
}
