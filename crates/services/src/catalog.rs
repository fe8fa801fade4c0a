//! The model catalog: the data of `crates/services/catalog/models.toml`, with USD prices per plan.

use std::fmt;

use offhook_domain::{AgentConfig, CredentialProvider, OwnKey, Plan, Plans, Price};
use serde::Deserialize;

#[derive(Debug, Clone)]
pub struct Model {
    pub id: String,
    pub kind: ModelKind,
    /// The provider's name in an agent's configuration.
    pub provider: String,
    /// Its name at the provider.
    pub model: String,
    /// Its display name.
    pub name: String,
    /// Languages, as two-letter codes.
    pub languages: Vec<String>,
    /// The price on each plan that has the API.
    pub prices: Vec<ModelPrice>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ModelPrice {
    pub plan: Plan,
    pub credits_per_minute: Price,
    /// USD per minute; `None` where a credit has no list price.
    pub usd_per_minute: Option<f64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ModelKind {
    Llm,
    /// Speech-to-text.
    Stt,
    /// Text-to-speech.
    Tts,
}

impl ModelKind {
    pub const ALL: [Self; 3] = [Self::Llm, Self::Stt, Self::Tts];

    /// The wire form.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Llm => "llm",
            Self::Stt => "stt",
            Self::Tts => "tts",
        }
    }
}

impl ModelKind {
    /// The provider of this kind that an own key is used for.
    const fn of(self, used: OwnKey) -> Option<&'static str> {
        match self {
            Self::Llm => used.llm,
            Self::Stt => used.stt,
            Self::Tts => used.tts,
        }
    }

    /// Whether an account can have its own key for a provider of this kind.
    pub fn may_be_own(self, provider: &str) -> bool {
        CredentialProvider::own_keys().any(|(_, used)| self.of(used) == Some(provider))
    }
}

impl fmt::Display for ModelKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A shipped catalog is invalid.
#[derive(Debug, thiserror::Error)]
#[error("{file}: {fault}")]
pub struct CatalogError {
    file: &'static str,
    fault: String,
}

impl CatalogError {
    pub(crate) const fn new(file: &'static str, fault: String) -> Self {
        Self { file, fault }
    }
}

const fn wrong(fault: String) -> CatalogError {
    CatalogError::new("crates/services/catalog/models.toml", fault)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    models: Vec<Entry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    id: String,
    kind: ModelKind,
    provider: String,
    model: String,
    name: String,
    languages: Vec<String>,
    credits_per_minute: f64,
}

/// The name under which legacy agents are priced.
pub(crate) const LEGACY: &str = "legacy";

/// The model name of a provider that serves whichever model its operator runs.
pub(crate) const ANY_MODEL: &str = "*";

#[derive(Debug, Clone)]
pub struct Catalog(Vec<Model>);

/// A part of the price of a minute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PricePart {
    pub kind: ModelKind,
    /// Of the models of this kind that may be used, the most expensive one.
    pub provider: String,
    pub model: String,
    pub price: Price,
}

impl Catalog {
    /// Reads the shipped catalog; prices in `plans` override its prices. Fails if the catalog does not parse, repeats
    /// an id, or has a price with more than three decimals.
    pub fn load(plans: &Plans) -> Result<Self, CatalogError> {
        Self::parse(include_str!("../catalog/models.toml"), plans)
    }

    fn parse(text: &str, plans: &Plans) -> Result<Self, CatalogError> {
        let file: File = toml::from_str(text).map_err(|error| wrong(error.to_string()))?;
        let mut models: Vec<Model> = Vec::with_capacity(file.models.len());
        for entry in file.models {
            let price = price(entry.credits_per_minute)
                .ok_or_else(|| wrong(format!("{}: bad credits_per_minute", entry.id)))?;
            if models.iter().any(|model| model.id == entry.id) {
                return Err(wrong(format!("{}: id used twice", entry.id)));
            }
            let price = plans.prices.get(&entry.id).copied().unwrap_or(price);
            models.push(Model {
                id: entry.id,
                kind: entry.kind,
                provider: entry.provider,
                model: entry.model,
                name: entry.name,
                languages: entry.languages,
                prices: prices(price, plans),
            });
        }
        Ok(Self(models))
    }

    /// The catalog for an account with its own keys: what it uses by them costs nothing, and it may name any model.
    pub(crate) fn with_own_keys(&self, keys: &[OwnKey]) -> Self {
        let is_own = |model: &Model| {
            let mut own = keys.iter();
            own.any(|key| model.kind.of(*key) == Some(&*model.provider))
        };
        let mut models = self.0.clone();
        for model in models.iter_mut().filter(|model| is_own(model)) {
            for price in &mut model.prices {
                price.credits_per_minute = Price::default();
                price.usd_per_minute = price.usd_per_minute.map(|_| 0.0);
            }
        }
        for provider in keys.iter().filter_map(|key| key.llm) {
            let like = models.iter().find(|model| model.provider == provider);
            models.extend(like.cloned().map(|like| Model {
                model: ANY_MODEL.to_owned(),
                ..like
            }));
        }
        Self(models)
    }

    pub fn models(&self) -> &[Model] {
        &self.0
    }

    /// The model that an agent's configuration names. A provider whose model is `*` matches any model.
    pub fn find(&self, kind: ModelKind, provider: &str, model: &str) -> Option<&Model> {
        self.0.iter().find(|m| {
            m.kind == kind && m.provider == provider && (m.model == model || m.model == ANY_MODEL)
        })
    }

    /// The default model of a provider: its first. Empty for a self-hosted server or program, and for a provider
    /// without models of this kind.
    pub fn usual(&self, kind: ModelKind, provider: &str) -> &str {
        let mut models = self.0.iter();
        models
            .find(|m| m.kind == kind && m.provider == provider)
            .map(|m| m.model.as_str())
            .filter(|model| *model != ANY_MODEL)
            .unwrap_or_default()
    }

    /// The price of the most expensive language model that may answer for an agent, fallbacks included.
    pub(crate) fn dearest(&self, plan: Plan, config: &AgentConfig) -> Price {
        let part = self.dearest_part(plan, config);
        part.map_or_else(Price::default, |part| part.price)
    }

    /// That model with its price.
    pub(crate) fn dearest_part(&self, plan: Plan, config: &AgentConfig) -> Option<PricePart> {
        let llm = &config.llm;
        let first = llm.provider.as_deref().zip(llm.model.as_deref());
        let fallback = llm.fallback.iter();
        let fallback = fallback.map(|model| (&*model.provider, &*model.model));
        let names = first.into_iter().chain(fallback);
        dearest(self, plan, ModelKind::Llm, names)
    }

    pub fn has_provider(&self, kind: ModelKind, provider: &str) -> bool {
        self.0
            .iter()
            .any(|m| m.kind == kind && m.provider == provider)
    }

    /// Providers of this kind, each once, in the catalog's order.
    pub fn providers(&self, kind: ModelKind) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for model in self.0.iter().filter(|m| m.kind == kind) {
            if !names.contains(&model.provider.as_str()) {
                names.push(&model.provider);
            }
        }
        names
    }
}

impl Model {
    /// The price, which is the same on every plan.
    pub(crate) fn any_price(&self) -> Price {
        let first = self.prices.first();
        first.map_or_else(Price::default, |price| price.credits_per_minute)
    }

    pub fn price(&self, plan: Plan) -> Price {
        self.prices
            .iter()
            .find(|price| price.plan == plan)
            .or(self.prices.first())
            .map_or_else(Price::default, |price| price.credits_per_minute)
    }
}

/// The names that the operator can price: every model of the catalog, and `legacy`.
pub fn priced() -> Result<Vec<String>, CatalogError> {
    let Catalog(models) = Catalog::load(&Plans::default())?;
    let ids = models.into_iter().map(|model| model.id);
    Ok(ids.chain([LEGACY.to_owned()]).collect())
}

/// The price for this many credits per minute; `None` if it has more than three decimals, is negative or is
/// unreasonably high.
pub fn price(credits: f64) -> Option<Price> {
    let millicredits = (credits * 1_000.0).round();
    let exact = (millicredits / 1_000.0 - credits).abs() < 1e-9;
    if !exact || !(0.0..1e9).contains(&millicredits) {
        return None;
    }
    #[expect(clippy::cast_possible_truncation, reason = "a whole number below 1e9")]
    Some(Price::from_millicredits_per_minute(millicredits as i64))
}

fn prices(price: Price, plans: &Plans) -> Vec<ModelPrice> {
    Plan::ALL
        .into_iter()
        .filter(|plan| plans.terms(*plan).api)
        .map(|plan| {
            let terms = plans.terms(plan);
            let usd = terms
                .usd_per_month
                .zip(terms.credits_per_month.filter(|c| *c > 0))
                .map(|(usd, credits)| {
                    #[expect(clippy::cast_precision_loss, reason = "prices are far below 2^53")]
                    let credits_per_minute = price.millicredits_per_minute() as f64 / 1_000.0;
                    let exact = credits_per_minute * f64::from(usd) / f64::from(credits);
                    (exact * 1e6).round() / 1e6
                });
            ModelPrice {
                plan,
                credits_per_minute: price,
                usd_per_minute: usd,
            }
        })
        .collect()
}

/// The most expensive of these, the first if several are. A model missing from the catalog is the operator's own, and
/// free.
pub(crate) fn dearest<'a>(
    catalog: &Catalog,
    plan: Plan,
    kind: ModelKind,
    names: impl Iterator<Item = (&'a str, &'a str)>,
) -> Option<PricePart> {
    let parts = names.map(|(provider, model)| {
        let found = catalog.find(kind, provider, model);
        PricePart {
            kind,
            provider: provider.to_owned(),
            model: model.to_owned(),
            price: found.map_or_else(Price::default, |model| model.price(plan)),
        }
    });
    parts.reduce(|most, part| if part.price > most.price { part } else { most })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shipped_catalog_loads_and_has_the_free_scripted_model() {
        let catalog = Catalog::load(&Plans::default()).unwrap();
        let scripted = catalog
            .find(ModelKind::Llm, "scripted", "scripted")
            .unwrap();
        assert_eq!(scripted.price(Plan::Starter), Price::default());
    }

    #[test]
    fn what_the_operator_prices_costs_that() {
        let mut plans = Plans::default();
        let dear = price(1.25).unwrap();
        for id in priced().unwrap() {
            plans.prices.insert(id, dear);
        }
        let Catalog(models) = Catalog::load(&plans).unwrap();
        assert!(models.iter().all(|model| model.price(Plan::Pro) == dear));
        assert_eq!(crate::legacy::price(&plans).unwrap(), dear);
    }

    #[test]
    fn who_names_no_model_has_the_first_of_the_provider() {
        let catalog = Catalog::load(&Plans::default()).unwrap();
        for (kind, provider, model) in [
            (ModelKind::Stt, "deepgram", "nova-3"),
            (ModelKind::Tts, "provider_a", "flash"),
            (ModelKind::Stt, "provider_a", ""),
            (ModelKind::Tts, "local", ""),
        ] {
            assert_eq!(catalog.usual(kind, provider), model);
        }
    }

    #[test]
    fn recognizers_and_voices_have_the_names_that_agents_write() {
        let catalog = Catalog::load(&Plans::default()).unwrap();
        let recognizers = ["deepgram", "elevenlabs", "openai", "local", "scripted"];
        assert_eq!(catalog.providers(ModelKind::Stt), recognizers);
        let voices = [
            "provider_a",
            "provider_b",
            "provider_c",
            "local",
            "scripted",
        ];
        assert_eq!(catalog.providers(ModelKind::Tts), voices);
    }

    #[test]
    fn usd_follows_from_what_a_credit_costs_on_the_plan() {
        let catalog = Catalog::load(&Plans::default()).unwrap();
        let model = catalog.find(ModelKind::Llm, "openai", "gpt-4.1").unwrap();
        let usd = |plan| {
            model
                .prices
                .iter()
                .find(|p| p.plan == plan)
                .unwrap()
                .usd_per_minute
        };
        assert_eq!(usd(Plan::Starter), Some(0.1176));
        assert_eq!(usd(Plan::Pro), Some(0.09552));
        assert_eq!(usd(Plan::Enterprise), None);
    }

    #[test]
    fn a_catalog_with_a_repeated_id_or_an_inexact_price_is_refused() {
        let entry = |id: &str, credits: f64| {
            format!(
                "[[models]]\nid = \"{id}\"\nkind = \"llm\"\nprovider = \"p\"\nmodel = \"m\"\nname = \"n\"\n\
                 languages = []\ncredits_per_minute = {credits:?}\n"
            )
        };
        let plans = Plans::default();
        assert!(Catalog::parse(&entry("a", 0.5), &plans).is_ok());
        assert!(
            Catalog::parse(&format!("{}{}", entry("a", 0.5), entry("a", 0.5)), &plans).is_err()
        );
        assert!(Catalog::parse(&entry("a", 0.0005), &plans).is_err());
    }
}
