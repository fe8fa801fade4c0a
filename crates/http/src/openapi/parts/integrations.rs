//! Integrations.

use super::*;
use crate::wire::integration::IntegrationBody;

pub(super) fn operations() -> Vec<Operation> {
    operations! {
        GET "/v1/integrations", listIntegrations, Access::Scope(Scope::IntegrationsRead)
            => Answer::List("Integration"), "List the whole catalog with the account's connections, by toolkit";
    }
}

pub(super) fn schemas() -> Vec<(&'static str, Value)> {
    vec![("Integration", IntegrationBody::shape())]
}
