//! The caller's account, and the public model catalog.

use offhook_services::ModelKind;

use super::*;
use crate::wire::account::{AccountBody, KeyBody};
use crate::wire::model::ModelBody;

pub(super) fn operations() -> Vec<Operation> {
    use Answer::{List, One};
    let (kind, text) = (words(&ModelKind::ALL), json!({"type": "string"}));
    operations! {
        GET "/v1/me", getMe, Access::AnyKey
            => One("Me"), "Read the key's account, scopes and limits";
        GET "/v1/models", listModels, Access::Open => List("Model"), "List the model catalog"
            .filters(vec![
                query("kind", "Only of this kind.", kind),
                query("provider", "Only of this provider.", text),
            ]);
    }
}

pub(super) fn schemas() -> Vec<(&'static str, Value)> {
    let rate_limit = [("requests_per_minute", integer()), ("remaining", integer())];
    let me = [
        ("account", AccountBody::shape()),
        ("key", KeyBody::shape()),
        ("rate_limit", object(&rate_limit)),
        ("live_calls", integer()),
    ];
    let model = with(ModelBody::shape(), &[("kind", words(&ModelKind::ALL))]);
    vec![("Me", object(&me)), ("Model", model)]
}
