//! The promises, each held against the evidence.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use crate::evidence::{Asked, Conversation, Evidence, Meant};

/// A promise of docs/RELIABILITY.md.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Promise {
    DialedOnce,
    Ends,
    OneEnding,
    OneEvent,
    Delivered,
    Frozen,
    FewDuplicates,
    Books,
    OneAnswer,
    OtherBody,
    Refused,
    Readable,
    Recipients,
    Answered,
    Hangs,
    Sound,
}

impl Promise {
    /// Every promise, in the order of the table.
    pub(crate) const ALL: [Self; 16] = [
        Self::DialedOnce,
        Self::Ends,
        Self::OneEnding,
        Self::OneEvent,
        Self::Delivered,
        Self::Frozen,
        Self::FewDuplicates,
        Self::Books,
        Self::OneAnswer,
        Self::OtherBody,
        Self::Refused,
        Self::Readable,
        Self::Recipients,
        Self::Answered,
        Self::Hangs,
        Self::Sound,
    ];

    /// As the table has it.
    pub(crate) const fn words(self) -> &'static str {
        match self {
            Self::DialedOnce => "a call is dialed at most once",
            Self::Ends => "an accepted call ends: dialed once, or not at all for a stated reason",
            Self::OneEnding => "a call ends once",
            Self::OneEvent => "a call has one event of its end, and one of its beginning",
            Self::Delivered => "every event reaches every endpoint",
            Self::Frozen => "an event's id and body never change and are signed",
            Self::FewDuplicates => "duplicates <= disturbances x in flight",
            Self::Books => "balance = ledger, nothing reserved, one debit a call, `offhook doctor`",
            Self::OneAnswer => "a key answers one body and stands for one call",
            Self::OtherBody => "a key with another body is refused (409)",
            Self::Refused => "what was refused is not dialed and leaves nothing",
            Self::Readable => "an accepted call can be read from then on, on every node",
            Self::Recipients => "a batch calls each recipient at most once",
            Self::Answered => "whoever asks long enough is answered",
            Self::Hangs => "no call goes on at the carrier when all have ended",
            Self::Sound => "no node ends by itself or panics; nothing answers 500",
        }
    }

    /// What of the run attacks it.
    pub(crate) const fn attacked_by(self) -> &'static str {
        match self {
            Self::DialedOnce => "kills between claim, dial and record; stopped nodes; cuts",
            Self::Ends => "kills, lapsed leases, lost commits",
            Self::OneEnding => "kills around the closing; nodes that come back",
            Self::OneEvent => "kills around every commit; repeated requests",
            Self::Delivered => "kills between claim, send and record; failing receivers",
            Self::Frozen => "repeated deliveries from several nodes",
            Self::FewDuplicates => "kills between send and record; lost commits",
            Self::Books => "kills around reservation and settlement",
            Self::OneAnswer => "impatient clients, lost answers, retries on other nodes",
            Self::OtherBody => "the same keys with another number",
            Self::Refused => "unknown agents, bad numbers",
            Self::Readable => "reads on other nodes right after the answer",
            Self::Recipients => "kills around each look at a batch",
            Self::Answered => "everything at once",
            Self::Hangs => "kills of nodes with live calls",
            Self::Sound => "everything at once",
        }
    }
}

/// A promise that was not kept, with what shows it.
#[derive(Debug, Clone)]
pub(crate) struct Violation {
    pub(crate) promise: Promise,
    pub(crate) shown_by: String,
}

/// What was looked at, and what was found.
#[derive(Debug, Default)]
pub(crate) struct Verdict {
    pub(crate) counts: BTreeMap<Promise, String>,
    pub(crate) violations: Vec<Violation>,
}

impl Verdict {
    fn broken(&mut self, promise: Promise, shown_by: String) {
        self.violations.push(Violation { promise, shown_by });
    }

    fn count(&mut self, promise: Promise, words: String) {
        self.counts.insert(promise, words);
    }
}

/// Holds every promise against the evidence.
pub(crate) fn judge(evidence: &Evidence) -> Verdict {
    let mut verdict = Verdict::default();
    dials(evidence, &mut verdict);
    endings(evidence, &mut verdict);
    keys(evidence, &mut verdict);
    refusals(evidence, &mut verdict);
    deliveries(evidence, &mut verdict);
    duplicates(evidence, &mut verdict);
    books(evidence, &mut verdict);
    recipients(evidence, &mut verdict);
    rest(evidence, &mut verdict);
    verdict
}

/// The handle that an answer of POST /v1/calls tells.
fn told(asked: &Asked) -> Option<String> {
    let body: serde_json::Value = serde_json::from_str(&asked.body).ok()?;
    body["id"].as_str().map(str::to_owned)
}

fn accepted(evidence: &Evidence) -> impl Iterator<Item = &Asked> {
    evidence.asked.iter().filter(|asked| {
        matches!(asked.meant, Meant::Place | Meant::Again) && asked.status == Some(201)
    })
}

fn lines_of<'a>(evidence: &'a Evidence, handle: &str) -> Vec<&'a str> {
    let dials = evidence.dials.iter();
    dials
        .filter(|dial| dial.handle == handle)
        .map(|dial| dial.line.as_str())
        .collect()
}

fn dials(evidence: &Evidence, verdict: &mut Verdict) {
    let known: HashMap<String, &Conversation> = evidence
        .conversations
        .iter()
        .map(|one| (one.handle(), one))
        .collect();
    let mut times: BTreeMap<&str, usize> = BTreeMap::new();
    for dial in &evidence.dials {
        *times.entry(&dial.handle).or_default() += 1;
        if !known.contains_key(&dial.handle) {
            let line = &dial.line;
            verdict.broken(
                Promise::DialedOnce,
                format!("a call that no database knows was dialed: {line}"),
            );
        }
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
        if !may_be {
            verdict.broken(
                Promise::Ends,
                format!("{handle} is `{state}` (`{failure}`) after {dialed} dials"),
            );
        }
    }
    let count = format!("{} accepted, {undialed} not dialed", handles.len());
    verdict.count(Promise::Ends, count);
}

fn endings(evidence: &Evidence, verdict: &mut Verdict) {
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
        if !call.is_over() || ended != 1 {
            verdict.broken(
                Promise::OneEnding,
                format!("{handle} is `{}` and ended {ended} times", call.state),
            );
        }
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
        if (begun, completed, failed) != right {
            verdict.broken(
                Promise::OneEvent,
                format!("{handle} is `{}` and has the events {kinds:?}", call.state),
            );
        }
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

fn keys(evidence: &Evidence, verdict: &mut Verdict) {
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
        if asked.meant == Meant::Again && !asked.replayed {
            verdict.broken(
                Promise::OneAnswer,
                format!("`{}` was repeated and not replayed: {asked}", asked.key),
            );
        }
    }
    for (key, bodies) in &bodies {
        if bodies.len() > 1 {
            verdict.broken(
                Promise::OneAnswer,
                format!("`{}` answered {bodies:?}", key.1),
            );
        }
        let hex = bodies.first().map(|body| hex::encode(body.as_bytes()));
        if stored.get(key).copied() != hex.as_deref() {
            verdict.broken(
                Promise::OneAnswer,
                format!(
                    "the database keeps another answer to `{}`: {bodies:?}",
                    key.1
                ),
            );
        }
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

fn refusals(evidence: &Evidence, verdict: &mut Verdict) {
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
        if refused.contains(key.key.as_str()) && !placed.contains(key.key.as_str()) {
            verdict.broken(
                Promise::Refused,
                format!("`{}` was refused and its key is taken", key.key),
            );
        }
    }
    verdict.count(Promise::Refused, format!("{} refused", refused.len()));
}

fn deliveries(evidence: &Evidence, verdict: &mut Verdict) {
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
            if !delivered || !taken.contains(&key) {
                verdict.broken(
                    Promise::Delivered,
                    format!(
                        "event {} ({} of {}) at endpoint {endpoint}: taken by the receiver: {}; deliveries: {rows:?}",
                        event.id,
                        event.kind,
                        event.conversation,
                        taken.contains(&key),
                    ),
                );
            }
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
        if body != Some(&receipt.body) {
            verdict.broken(
                Promise::Frozen,
                format!(
                    "event {}: committed {body:?}, came {receipt:?}",
                    receipt.event
                ),
            );
        }
        if !receipt.is_signed {
            verdict.broken(Promise::Frozen, format!("badly signed: {receipt:?}"));
        }
        if let Some(event) = attempts.insert(&receipt.attempt, &receipt.event) {
            verdict.broken(
                Promise::Frozen,
                format!(
                    "attempt {} came twice, of {event} and {}",
                    receipt.attempt, receipt.event
                ),
            );
        }
    }
    let count = format!("{} receipts", evidence.receipts.len());
    verdict.count(Promise::Frozen, count);
}

fn duplicates(evidence: &Evidence, verdict: &mut Verdict) {
    let mut taken: HashMap<(&str, &str), u64> = HashMap::new();
    for receipt in evidence.receipts.iter().filter(|r| r.answered == 200) {
        *taken
            .entry((&receipt.event, &receipt.endpoint))
            .or_default() += 1;
    }
    let duplicates: u64 = taken.values().map(|times| times - 1).sum();
    let bound = evidence.disturbances * evidence.in_flight.max(1);
    let count = format!(
        "{duplicates} <= {} x {}",
        evidence.disturbances,
        evidence.in_flight.max(1)
    );
    if duplicates > bound {
        verdict.broken(
            Promise::FewDuplicates,
            format!("{duplicates} deliveries came again after they were taken; {bound} may"),
        );
    }
    verdict.count(Promise::FewDuplicates, count);
}

fn books(evidence: &Evidence, verdict: &mut Verdict) {
    let mut debits: HashMap<&str, Vec<i64>> = HashMap::new();
    for entry in evidence.entries.iter().filter(|e| e.kind == "debit") {
        let of_call = debits.entry(&entry.conversation).or_default();
        of_call.push(entry.amount);
    }
    for call in &evidence.conversations {
        let taken = debits.get(call.id.as_str()).cloned().unwrap_or_default();
        let right = match call.credits {
            0 => taken.iter().all(|amount| *amount == 0) && taken.len() <= 1,
            credits => taken == [-credits],
        };
        if !right {
            verdict.broken(
                Promise::Books,
                format!(
                    "{} cost {} and was debited {taken:?}",
                    call.handle(),
                    call.credits
                ),
            );
        }
    }
    for wallet in &evidence.wallets {
        let mut entries: Vec<_> = evidence
            .entries
            .iter()
            .filter(|entry| entry.account == wallet.account)
            .collect();
        entries.sort_by_key(|entry| entry.seq);
        let sum: i64 = entries.iter().map(|entry| entry.amount).sum();
        let last = entries.last().map_or(0, |entry| entry.balance);
        if sum != wallet.balance || last != wallet.balance || wallet.reserved != 0 {
            verdict.broken(
                Promise::Books,
                format!("{wallet:?}: the ledger sums to {sum}, its last balance is {last}"),
            );
        }
    }
    for call in &evidence.reservations {
        verdict.broken(Promise::Books, format!("{call} still holds a reservation"));
    }
    for fault in &evidence.doctor {
        verdict.broken(Promise::Books, format!("doctor: {fault}"));
    }
    verdict.count(
        Promise::Books,
        format!(
            "{} wallets, {} entries",
            evidence.wallets.len(),
            evidence.entries.len()
        ),
    );
}

fn recipients(evidence: &Evidence, verdict: &mut Verdict) {
    let mut dialed: HashMap<&str, usize> = HashMap::new();
    for dial in &evidence.dials {
        *dialed.entry(&dial.to).or_default() += 1;
    }
    for one in &evidence.recipients {
        let times = dialed.get(one.to.as_str()).copied().unwrap_or(0);
        let right = match one.status.as_str() {
            "completed" => times == 1 && one.calls == 1,
            "failed" => times <= 1 && one.calls <= 1,
            _ => false,
        };
        if !right {
            verdict.broken(Promise::Recipients, format!("dialed {times} times: {one}"));
        }
    }
    verdict.count(
        Promise::Recipients,
        format!("{} recipients", evidence.recipients.len()),
    );
}

fn rest(evidence: &Evidence, verdict: &mut Verdict) {
    for look in &evidence.looks {
        if !matches!(look.status, 200 | 503) {
            verdict.broken(Promise::Readable, look.to_string());
        }
    }
    verdict.count(Promise::Readable, format!("{} reads", evidence.looks.len()));
    for one in evidence.untold.iter().chain(&evidence.left) {
        verdict.broken(Promise::Answered, one.clone());
    }
    verdict.count(
        Promise::Answered,
        format!("{} requests", evidence.asked.len()),
    );
    for handle in &evidence.live {
        let known = evidence
            .conversations
            .iter()
            .find(|c| c.handle() == *handle);
        verdict.broken(
            Promise::Hangs,
            format!("{handle} goes on at the carrier; here it is {known:?}"),
        );
    }
    verdict.count(Promise::Hangs, format!("{} live", evidence.live.len()));
    for one in &evidence.oddities {
        verdict.broken(Promise::Sound, one.clone());
    }
    let odd = evidence
        .asked
        .iter()
        .filter(|asked| matches!(asked.status, Some(500 | 504..)));
    for asked in odd {
        verdict.broken(Promise::Sound, asked.to_string());
    }
    verdict.count(
        Promise::Sound,
        format!("{} disturbances", evidence.disturbances),
    );
}
