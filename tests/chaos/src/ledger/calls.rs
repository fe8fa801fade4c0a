//! The results of calls: dialed at most once, ended once, one response for each key.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::promise::{Promise, Verdict};
use crate::evidence::{Asked, Conversation, Evidence, Meant, Words};

/// The handle in a response of POST /v1/calls.
pub(super) fn told(asked: &Asked) -> Option<String> {
    let body: serde_json::Value = serde_json::from_str(&asked.body).ok()?;
    body["id"].as_str().map(str::to_owned)
}

pub(super) fn accepted(evidence: &Evidence) -> impl Iterator<Item = &Asked> {
    evidence.asked.iter().filter(|asked| {
        matches!(asked.meant, Meant::Place | Meant::Again) && asked.status == Some(201)
    })
}

pub(super) fn lines_of<'a>(evidence: &'a Evidence, handle: &str) -> Vec<&'a str> {
    let dials = evidence.dials.iter();
    dials
        .filter(|dial| dial.handle == handle)
        .map(|dial| dial.line.as_str())
        .collect()
}

pub(super) fn dials(evidence: &Evidence, verdict: &mut Verdict) {
    let known: HashMap<String, &Conversation> = evidence
        .conversations
        .iter()
        .map(|one| (one.handle(), one))
        .collect();
    let mut times: BTreeMap<&str, usize> = BTreeMap::new();
    for dial in &evidence.dials {
        *times.entry(&dial.handle).or_default() += 1;
        verdict.holds(
            Promise::DialedOnce,
            known.contains_key(&dial.handle),
            || format!("a call that no database knows was dialed: {}", dial.line),
        );
        let accepted = known.get(&dial.handle).map_or(&dial.to, |call| &call.to);
        verdict.holds(Promise::Number, dial.to == *accepted, || {
            format!("{accepted} was accepted: {}", dial.line)
        });
    }
    for (handle, _) in times.iter().filter(|(_, times)| **times > 1) {
        let lines = lines_of(evidence, handle).join("\n    ");
        verdict.broken(
            Promise::DialedOnce,
            format!("{handle} was dialed again:\n    {lines}"),
        );
    }
    let count = format!("{} dials of {} calls", evidence.dials.len(), times.len());
    verdict.count(Promise::DialedOnce, count);
    let count = format!("{} dials", evidence.dials.len());
    verdict.count(Promise::Number, count);
    let handles: BTreeSet<String> = accepted(evidence).filter_map(told).collect();
    let mut undialed = 0;
    for handle in &handles {
        let Some(call) = known.get(handle) else {
            verdict.broken(
                Promise::Ends,
                format!("{handle} was accepted, and the database does not have it"),
            );
            continue;
        };
        let dialed = times.get(handle.as_str()).copied().unwrap_or(0);
        undialed += usize::from(dialed == 0);
        let (state, failure) = (call.state.as_str(), call.failure.as_str());
        let may_be = match (state, failure) {
            ("completed", "") | ("failed", "busy" | "no_answer" | "rejected") => dialed == 1,
            ("failed", "expired") => dialed == 0,
            ("failed", reason) => !reason.is_empty(),
            _ => false,
        };
        verdict.holds(Promise::Ends, may_be, || {
            format!("{handle} is `{state}` (`{failure}`) after {dialed} dials")
        });
    }
    let count = format!("{} accepted, {undialed} not dialed", handles.len());
    verdict.count(Promise::Ends, count);
}

/// How far the clocks of the evidence may differ, and how late an end is noticed.
const SLACK_US: i64 = 2_000_000;

pub(super) fn interruptions(evidence: &Evidence, verdict: &mut Verdict) {
    let nodes: HashMap<&str, &str> = evidence
        .dials
        .iter()
        .map(|dial| (dial.handle.as_str(), dial.node.as_str()))
        .collect();
    let interrupted = evidence.conversations.iter();
    let interrupted = interrupted.filter(|call| call.failure == "interrupted");
    let mut count = 0;
    for call in interrupted {
        count += 1;
        let (handle, (claimed, ended)) = (call.handle(), call.times);
        // The node of an undialed call is unknown.
        let node = nodes.get(handle.as_str());
        let mut deaths = evidence.deaths.iter();
        let died = deaths.any(|death| {
            let slack = SLACK_US + evidence.clocks_off;
            let within = (claimed - slack..=ended + slack).contains(&death.at);
            within && node.is_none_or(|node| death.node == *node)
        });
        verdict.holds(Promise::Interrupted, died, || {
            format!("{handle} was claimed at {claimed} by {node:?}, interrupted at {ended}")
        });
    }
    let deaths = evidence.deaths.len();
    verdict.count(
        Promise::Interrupted,
        format!("{count} interrupted, {deaths} ends"),
    );
}

/// All words of one side of each call, by handle and role. A turn may have been heard in several pieces.
fn words_of(all: &[Words]) -> HashMap<(&str, &str), Vec<&str>> {
    let mut words: HashMap<(&str, &str), Vec<&str>> = HashMap::new();
    for one in all {
        let side = words.entry((&one.handle, &one.role)).or_default();
        side.extend(one.text.split_whitespace());
    }
    words
}

pub(super) fn transcripts(evidence: &Evidence, verdict: &mut Verdict) {
    let heard = words_of(&evidence.heard);
    let written = words_of(&evidence.transcripts);
    let mut turns = 0;
    for call in &evidence.conversations {
        let handle = call.handle();
        for role in ["user", "agent"] {
            let side = (handle.as_str(), role);
            let heard = heard.get(&side).map_or(&[][..], Vec::as_slice);
            let written = written.get(&side).map_or(&[][..], Vec::as_slice);
            turns += usize::from(!written.is_empty());
            // The last words may be lost with the process or the line that carried them, or cross what hangs up here.
            let hangs_up = [
                "api_hangup",
                "agent_hangup",
                "silence_timeout",
                "max_duration",
            ];
            let is_cut = call.state != "completed" || hangs_up.contains(&call.termination.as_str());
            let is_kept = if is_cut {
                heard.starts_with(written)
            } else {
                heard == written
            };
            verdict.holds(Promise::Transcript, is_kept, || {
                format!("the {role} of {handle}: heard {heard:?}, written {written:?}")
            });
        }
    }
    verdict.count(Promise::Transcript, format!("{turns} sides of calls"));
}

pub(super) fn endings(evidence: &Evidence, verdict: &mut Verdict) {
    let endings: HashMap<&str, i64> = evidence
        .endings
        .iter()
        .map(|(id, count)| (id.as_str(), *count))
        .collect();
    let mut events: HashMap<&str, Vec<&str>> = HashMap::new();
    for event in &evidence.events {
        let of_call = events.entry(&event.conversation).or_default();
        of_call.push(&event.kind);
    }
    for call in &evidence.conversations {
        let handle = call.handle();
        let ended = endings.get(call.id.as_str()).copied().unwrap_or(0);
        verdict.holds(Promise::OneEnding, call.is_over() && ended == 1, || {
            format!("{handle} is `{}` and ended {ended} times", call.state)
        });
        let kinds = events.get(call.id.as_str()).cloned().unwrap_or_default();
        let count = |kind: &str| kinds.iter().filter(|one| **one == kind).count();
        let (begun, completed, failed) = (
            count("call.initiated"),
            count("call.completed"),
            count("call.failed"),
        );
        // A batch's calls are not placed by POST /v1/calls, and have no key.
        let begins = usize::from(!call.key.is_empty());
        let right = match call.state.as_str() {
            "completed" => (begins, 1, 0),
            _ => (begins, 0, 1),
        };
        verdict.holds(
            Promise::OneEvent,
            (begun, completed, failed) == right,
            || format!("{handle} is `{}` and has the events {kinds:?}", call.state),
        );
    }
    verdict.count(
        Promise::OneEnding,
        format!("{} calls", evidence.conversations.len()),
    );
    verdict.count(
        Promise::OneEvent,
        format!("{} events", evidence.events.len()),
    );
}

pub(super) fn keys(evidence: &Evidence, verdict: &mut Verdict) {
    let stored: HashMap<(&str, &str), &str> = evidence
        .keys
        .iter()
        .map(|key| ((key.account.as_str(), key.key.as_str()), key.body.as_str()))
        .collect();
    let mut bodies: BTreeMap<(&str, &str), BTreeSet<&str>> = BTreeMap::new();
    let mut answers = 0;
    let told = evidence.asked.iter().filter(|asked| {
        let ok = matches!(asked.status, Some(201 | 202));
        ok && !matches!(asked.meant, Meant::Other | Meant::Refusal)
    });
    for asked in told {
        answers += 1;
        let key = (asked.account.as_str(), asked.key.as_str());
        bodies.entry(key).or_default().insert(&asked.body);
        verdict.holds(
            Promise::OneAnswer,
            asked.meant != Meant::Again || asked.replayed,
            || format!("`{}` was repeated and not replayed: {asked}", asked.key),
        );
    }
    for (key, bodies) in &bodies {
        verdict.holds(Promise::OneAnswer, bodies.len() <= 1, || {
            format!("`{}` answered {bodies:?}", key.1)
        });
        let hex = bodies.first().map(|body| hex::encode(body.as_bytes()));
        let is_kept = stored.get(key).copied() == hex.as_deref();
        verdict.holds(Promise::OneAnswer, is_kept, || {
            format!(
                "the database keeps another answer to `{}`: {bodies:?}",
                key.1
            )
        });
    }
    let mut calls: BTreeMap<(&str, &str), Vec<String>> = BTreeMap::new();
    for call in evidence.conversations.iter().filter(|c| !c.key.is_empty()) {
        let key = (call.account.as_str(), call.key.as_str());
        calls.entry(key).or_default().push(call.handle());
    }
    for ((_, key), calls) in calls.iter().filter(|(_, calls)| calls.len() > 1) {
        verdict.broken(Promise::OneAnswer, format!("`{key}` placed {calls:?}"));
    }
    let count = format!("{answers} answers to {} keys", bodies.len());
    verdict.count(Promise::OneAnswer, count);
    let mut others = 0;
    for asked in evidence.asked.iter().filter(|a| a.meant == Meant::Other) {
        match asked.status {
            None | Some(503) => {}
            Some(409) if asked.code == "idempotency_conflict" => others += 1,
            _ => verdict.broken(Promise::OtherBody, asked.to_string()),
        }
    }
    verdict.count(Promise::OtherBody, format!("{others} refused"));
}

pub(super) fn refusals(evidence: &Evidence, verdict: &mut Verdict) {
    let mut refused = HashSet::new();
    let mut placed = HashSet::new();
    for asked in &evidence.asked {
        match (asked.meant, asked.status) {
            (Meant::Refusal, Some(400..=499)) => {
                refused.insert(asked.key.as_str());
            }
            (Meant::Refusal, None | Some(503)) => {}
            (Meant::Refusal, _) => verdict.broken(Promise::Refused, asked.to_string()),
            (Meant::Place, Some(201)) => {
                placed.insert(asked.key.as_str());
            }
            _ => {}
        }
    }
    let left: Vec<_> = evidence
        .conversations
        .iter()
        .filter(|call| refused.contains(call.key.as_str()))
        .collect();
    for call in left {
        let handle = call.handle();
        let dials = lines_of(evidence, &handle);
        verdict.broken(
            Promise::Refused,
            format!(
                "`{}` was refused and is {handle}, dialed: {dials:?}",
                call.key
            ),
        );
    }
    for key in &evidence.keys {
        let key = key.key.as_str();
        let is_free = !refused.contains(key) || placed.contains(key);
        verdict.holds(Promise::Refused, is_free, || {
            format!("`{key}` was refused and its key is taken")
        });
    }
    verdict.count(Promise::Refused, format!("{} refused", refused.len()));
}
