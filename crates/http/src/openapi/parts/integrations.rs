//! Integrations.

use offhook_domain::{IntegrationCategory, IntegrationStatus, Scope};
use serde_json::Value;

use super::super::operations::{Access, Answer, Operation, operations};
use super::super::schemas::{boolean, instant, nullable, object, string, words};

pub(super) fn operations() -> Vec<Operation> {
    operations! {
        GET "/v1/integrations", listIntegrations, Access::Scope(Scope::IntegrationsRead)
            => Answer::List("Integration"), "List the whole catalog with the account's connections, by toolkit";
    }
}

pub(super) fn schemas() -> Vec<(&'static str, Value)> {
    let integration = [
        ("toolkit", string()),
        ("name", string()),
        ("category", words(IntegrationCategory::ALL)),
        ("native", boolean()),
        ("status", words(IntegrationStatus::ALL)),
        ("connected_at", nullable(instant())),
        ("last_error", nullable(string())),
    ];
    vec![("Integration", object(&integration))]
}
