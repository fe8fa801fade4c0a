//! Integrations.

use offhook_domain::Scope;
use serde_json::Value;

use super::super::operations::{Access, Answer, Operation, operations};
use crate::openapi::shape::Shape;
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
