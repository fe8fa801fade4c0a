//! Items of GET /v1/models.

use offhook_domain::{Plan, Price};
use offhook_services::Model;
use serde::Serialize;

/// A model of the catalog.
#[derive(Serialize)]
pub(crate) struct ModelBody<'a> {
    id: &'a str,
    kind: &'static str,
    provider: &'a str,
    model: &'a str,
    name: &'a str,
    languages: &'a [String],
    prices: Vec<PriceBody>,
}

#[derive(Serialize)]
struct PriceBody {
    plan: Plan,
    credits_per_minute: Price,
    usd_per_minute: Option<f64>,
}

impl<'a> From<&'a Model> for ModelBody<'a> {
    fn from(model: &'a Model) -> Self {
        let prices = model.prices.iter().map(|price| PriceBody {
            plan: price.plan,
            credits_per_minute: price.credits_per_minute,
            usd_per_minute: price.usd_per_minute,
        });
        Self {
            id: &model.id,
            kind: model.kind.as_str(),
            provider: &model.provider,
            model: &model.model,
            name: &model.name,
            languages: &model.languages,
            prices: prices.collect(),
        }
    }
}
