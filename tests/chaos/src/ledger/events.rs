//! The events that receivers got.

use std::collections::{HashMap, HashSet};

use super::promise::{Promise, Verdict};
use crate::evidence::Evidence;

pub(super) fn deliveries(evidence: &Evidence, verdict: &mut Verdict) {
    let mut endpoints: HashMap<&str, Vec<&str>> = HashMap::new();
    for (endpoint, account) in &evidence.endpoints {
        endpoints.entry(account).or_default().push(endpoint);
    }
    let mut rows: HashMap<(&str, &str), Vec<(&str, &str)>> = HashMap::new();
    for one in &evidence.deliveries {
        let of_event = rows.entry((&one.event, &one.endpoint)).or_default();
        of_event.push((&one.id, &one.state));
    }
    let taken: HashSet<(&str, &str)> = evidence
        .receipts
        .iter()
        .filter(|receipt| receipt.answered == 200)
        .map(|receipt| (receipt.event.as_str(), receipt.endpoint.as_str()))
        .collect();
    let mut due = 0;
    for event in &evidence.events {
        for endpoint in endpoints.get(event.account.as_str()).into_iter().flatten() {
            due += 1;
            let key = (event.id.as_str(), *endpoint);
            let rows = rows.get(&key).cloned().unwrap_or_default();
            let delivered = matches!(rows.as_slice(), [(_, "delivered")]);
            verdict.holds(Promise::Delivered, delivered && taken.contains(&key), || format!(
                        "event {} ({} of {}) at endpoint {endpoint}: taken by the receiver: {}; deliveries: {rows:?}",
                        event.id,
                        event.kind,
                        event.conversation,
                        taken.contains(&key),
                    ));
        }
    }
    verdict.count(
        Promise::Delivered,
        format!("{} events, {due} deliveries", evidence.events.len()),
    );
    let known: HashMap<&str, &str> = evidence
        .events
        .iter()
        .map(|event| (event.id.as_str(), event.body.as_str()))
        .collect();
    let mut attempts: HashMap<&str, &str> = HashMap::new();
    for receipt in &evidence.receipts {
        let body = known.get(receipt.event.as_str()).copied();
        verdict.holds(Promise::Frozen, body == Some(&receipt.body), || {
            format!(
                "event {}: committed {body:?}, came {receipt:?}",
                receipt.event
            )
        });
        verdict.holds(Promise::Frozen, receipt.is_signed, || {
            format!("badly signed: {receipt:?}")
        });
        if let Some(event) = attempts.insert(&receipt.attempt, &receipt.event) {
            let (attempt, other) = (&receipt.attempt, &receipt.event);
            let fault = format!("attempt {attempt} came twice, of {event} and {other}");
            verdict.broken(Promise::Frozen, fault);
        }
    }
    let count = format!("{} receipts", evidence.receipts.len());
    verdict.count(Promise::Frozen, count);
}

/// When an event was created, by its body.
fn created(body: &str) -> Option<String> {
    let body = hex::decode(body).ok()?;
    let body: serde_json::Value = serde_json::from_slice(&body).ok()?;
    body["created_at"].as_str().map(str::to_owned)
}

pub(super) fn order(evidence: &Evidence, verdict: &mut Verdict) {
    let mut begun: HashMap<&str, (Option<String>, &str)> = HashMap::new();
    for event in evidence
        .events
        .iter()
        .filter(|e| e.kind == "call.initiated")
    {
        begun.insert(&event.conversation, (created(&event.body), &event.id));
    }
    let mut pairs = 0;
    for event in evidence
        .events
        .iter()
        .filter(|e| e.kind != "call.initiated")
    {
        let Some(first) = begun.get(event.conversation.as_str()) else {
            continue;
        };
        pairs += 1;
        let (at, id) = (created(&event.body), event.id.as_str());
        verdict.holds(
            Promise::InOrder,
            at.is_some() && *first <= (at.clone(), id),
            || {
                format!(
                    "{} of {} at {at:?} is {id}, behind {first:?}",
                    event.kind, event.conversation
                )
            },
        );
    }
    verdict.count(Promise::InOrder, format!("{pairs} ends"));
}

pub(super) fn duplicates(evidence: &Evidence, verdict: &mut Verdict) {
    let mut taken: HashMap<(&str, &str), u64> = HashMap::new();
    for receipt in evidence.receipts.iter().filter(|r| r.answered == 200) {
        *taken
            .entry((&receipt.event, &receipt.endpoint))
            .or_default() += 1;
    }
    let duplicates: u64 = taken.values().map(|times| times - 1).sum();
    let bound = evidence.in_flight;
    let count = format!("{duplicates} <= {bound}");
    verdict.holds(Promise::FewDuplicates, duplicates <= bound, || {
        format!("{duplicates} deliveries came again after they were taken; {bound} may")
    });
    verdict.count(Promise::FewDuplicates, count);
}
