//! Items of GET /v1/models.

use offhook_services::{Model, ModelPrice};

use super::shown;

shown! {
    ModelBody(model: Model) {
        id,
        kind = model.kind.as_str(),
        provider,
        model,
        name,
        languages,
        prices = model.prices.iter().map(PriceBody).collect::<Vec<_>>(),
    }
}

shown! {
    PriceBody(price: ModelPrice) {
        plan,
        credits_per_minute,
        usd_per_minute,
    }
}
