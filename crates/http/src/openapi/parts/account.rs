//! Who asks, and the public model catalog.

use offhook_domain::{Plan, Scope};
use offhook_services::ModelKind;
use serde_json::{Value, json};

use super::super::operations::{Access, Answer, Operation, operations, query};
use super::super::schemas::{
    array, boolean, instant, integer, nullable, number, object, string, uuid, words,
};

pub(super) fn operations() -> Vec<Operation> {
    use Answer::{List, One};
    let (kind, text) = (words(&ModelKind::ALL), json!({"type": "string"}));
    operations! {
        GET "/v1/me", getMe, Access::AnyKey
            => One("Me"), "Read who asks: the account, the key and its scopes, and the limits";
        GET "/v1/models", listModels, Access::Open => List("Model"), "The model catalog"
            .filters(vec![
                query("kind", "Only of this kind.", kind),
                query("provider", "Only of this provider.", text),
            ]);
    }
}

pub(super) fn schemas() -> Vec<(&'static str, Value)> {
    let key = object(&[
        ("id", uuid()),
        ("name", string()),
        ("prefix", string()),
        ("scopes", array(words(Scope::ALL))),
        ("read_only", boolean()),
        ("created_at", instant()),
        ("expires_at", nullable(instant())),
        ("last_used_at", nullable(instant())),
    ]);
    let account = [
        ("id", uuid()),
        ("name", string()),
        ("plan", words(&Plan::ALL)),
    ];
    let rate_limit = [("requests_per_minute", integer()), ("remaining", integer())];
    let price = [
        ("plan", words(&Plan::ALL)),
        ("credits_per_minute", number()),
        ("usd_per_minute", nullable(number())),
    ];
    let me = [
        ("account", object(&account)),
        ("key", key),
        ("rate_limit", object(&rate_limit)),
        ("live_calls", integer()),
    ];
    let model = [
        ("id", string()),
        ("kind", words(&ModelKind::ALL)),
        ("provider", string()),
        ("model", string()),
        ("name", string()),
        ("languages", array(string())),
        ("prices", array(object(&price))),
    ];
    vec![("Me", object(&me)), ("Model", object(&model))]
}
