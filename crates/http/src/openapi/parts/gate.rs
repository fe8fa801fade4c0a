//! Whom an account calls: suppressions, dialing rules and dial checks.

use super::*;
use crate::wire::gate::{DialCheckBody, SuppressionBody};

pub(super) fn operations() -> Vec<Operation> {
    use Answer::{List, One};
    let read = Access::Scope(Scope::SuppressionsRead);
    let write = Access::Scope(Scope::SuppressionsWrite);
    let (all, one, rules) = (
        "/v1/suppressions",
        "/v1/suppressions/{id}",
        "/v1/dialing-rules",
    );
    operations! {
        GET all, listSuppressions, read => List("Suppression"), "List the numbers that are not called"
            .filters(vec![
                query("number", "Only this number.", e164()),
                query("source", "Only from this source.", words(SuppressionSource::ALL)),
            ]);
        POST all, createSuppression, write
            => One("Suppressed"), "Suppress a number; or many, by a form with a CSV `file` of at most 20 MiB (columns `number`, `reason`, `until`), which is answered with their count"
            .body("CreateSuppression").form("ImportSuppressions").status(201);
        GET "/v1/suppressions/export", exportSuppressions, read => Answer::Csv, "The whole list as CSV";
        GET one, getSuppression, read => One("Suppression"), "Read a suppressed number";
        DELETE one, deleteSuppression, write => One("Deleted"), "Take a number off the list";
        GET rules, getDialingRules, read => One("DialingRules"), "Read the account's dialing rules";
        PUT rules, setDialingRules, write => One("DialingRules"), "Replace the account's dialing rules"
            .body("SetDialingRules");
        POST "/v1/dial-checks", checkDials, Access::Scope(Scope::CallsRead)
            => One("DialChecks"), "Who would be called, when else, and why not; calls nobody"
            .body("CheckDials").errors_too(&[Code::AgentNotFound]);
    }
}

/// What a customer agreed to.
pub(super) fn consent() -> Value {
    json!({"type": "object", "properties": body::properties(members::<Consent>(), &own)})
}

fn members<B: offhook_domain::body::Body>() -> Vec<offhook_domain::body::Member> {
    B::members()
}

/// The members that have readers of their own.
fn own(name: &str) -> Value {
    match name {
        "days" => array(integer()),
        "start" | "end" => string(),
        _ => array(string()),
    }
}

pub(super) fn schemas() -> Vec<(&'static str, Value)> {
    let to = json!({"anyOf": [e164(), array(e164())]});
    let mut rules =
        json!({"type": "object", "properties": body::properties(members::<DialingRules>(), &own)});
    rules["properties"]["window"] = nullable(json!({
        "type": "object", "properties": body::properties(members::<DialWindow>(), &own)
    }));
    let file = json!({"type": "string", "format": "binary"});
    schemas! {
        Suppression => SuppressionBody::shape();
        Suppressed => json!({"anyOf": [reference("Suppression"), object(&[("suppressed", integer())])]});
        CreateSuppression => body::request::<bodies::SuppressionRequest>();
        ImportSuppressions => request(&["file"], &[("file", file)]);
        DialingRules => rules;
        SetDialingRules => body::request_with::<DialingRules>(&own);
        CheckDials => body::request_with::<bodies::DialCheckRequest>(&move |_| to.clone());
        DialChecks => object(&[("data", array(DialCheckBody::shape()))]);
    }
}
