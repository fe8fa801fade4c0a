//! `GET /v1/models`: public, so only the address has a rate limit.

use offhook_services::ModelKind;

use crate::prelude::*;
use crate::request::ask::Open;
use crate::wire::model::ModelBody;

pub(crate) fn routes() -> Vec<Endpoint> {
    let at = Endpoint::at;
    vec![at("/v1/models").get(list)]
}

pub(crate) struct Filters {
    kind: Option<ModelKind>,
    provider: Option<String>,
}

impl FromQuery for Filters {
    fn read(query: &mut QueryReader) -> Result<Self, FieldError> {
        Ok(Self {
            kind: query.one_of("kind", &ModelKind::ALL)?,
            provider: query.text("provider", 100)?,
        })
    }
}

/// The model catalog with prices.
async fn list(open: Open<Listing<Filters>>) -> Reply {
    let Filters { kind, provider } = &open.query.filters;
    let models: Vec<ModelBody<'_>> = open
        .state
        .services
        .catalog()
        .models()
        .iter()
        .filter(|model| kind.is_none_or(|kind| model.kind == kind))
        .filter(|model| provider.as_ref().is_none_or(|name| model.provider == *name))
        .map(ModelBody)
        .collect();
    open.query.answer_from(&models)
}
