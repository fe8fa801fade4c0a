//! `/v1/integrations`.

use crate::prelude::*;
use crate::request::ask::IntegrationsRead;
use crate::request::cursor::{key_text, text_key};
use crate::wire::integration::IntegrationBody;

pub(crate) fn routes() -> Vec<Endpoint> {
    let at = Endpoint::at;
    vec![at("/v1/integrations").get(list)]
}

/// `GET /v1/integrations`
async fn list(ask: Ask<IntegrationsRead, (), Listing<()>>) -> Reply {
    let after = ask.query.after.map(key_text);
    let integrations = ask.services().integrations();
    let page = integrations
        .list(ask.account(), after.as_deref(), ask.query.limit)
        .await?;
    ask.query.answer(
        &page,
        |integration| text_key(integration.toolkit.toolkit),
        IntegrationBody,
    )
}
