//! The ledger, the recipients of batches, and work left over after the faults.

use std::collections::HashMap;

use super::promise::{Promise, Verdict};
use crate::evidence::Evidence;

pub(super) fn books(evidence: &Evidence, verdict: &mut Verdict) {
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
        verdict.holds(Promise::Books, right, || {
            let (handle, credits) = (call.handle(), call.credits);
            format!("{handle} cost {credits} and was debited {taken:?}")
        });
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
        let adds_up = sum == wallet.balance && last == wallet.balance && wallet.reserved == 0;
        verdict.holds(Promise::Books, adds_up, || {
            format!("{wallet:?}: the ledger sums to {sum}, its last balance is {last}")
        });
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

pub(super) fn recipients(evidence: &Evidence, verdict: &mut Verdict) {
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
        verdict.holds(Promise::Recipients, right, || {
            format!("dialed {times} times: {one}")
        });
    }
    verdict.count(
        Promise::Recipients,
        format!("{} recipients", evidence.recipients.len()),
    );
}

pub(super) fn campaigns(evidence: &Evidence, verdict: &mut Verdict) {
    let mut dialed: HashMap<&str, i64> = HashMap::new();
    for dial in &evidence.dials {
        *dialed.entry(&dial.to).or_default() += 1;
    }
    for one in &evidence.people {
        let times = dialed.get(one.to.as_str()).copied().unwrap_or(0);
        let right = one.status == "done" && one.attempts <= 1 && times <= one.attempts;
        verdict.holds(Promise::Campaigns, right, || {
            format!("dialed {times} times: {one:?}")
        });
    }
    for one in &evidence.campaigns {
        let people = evidence.people.iter().filter(|p| p.campaign == one.id);
        let right = one.status == "completed" && one.open == 0 && one.done == one.total;
        let right = right && i64::try_from(people.count()) == Ok(one.total);
        verdict.holds(Promise::Campaigns, right, || format!("{one:?}"));
    }
    verdict.count(
        Promise::Campaigns,
        format!("{} recipients", evidence.people.len()),
    );
}

/// How long a dial may be on its way.
const ON_ITS_WAY_US: i64 = 10_000_000;

pub(super) fn opted_out(evidence: &Evidence, verdict: &mut Verdict) {
    for one in &evidence.opted_out {
        let calls = evidence.conversations.iter();
        let calls = calls.filter(|call| call.account == one.account && call.to == one.number);
        for call in calls {
            let claimed = call.times.0 - evidence.clocks_off;
            verdict.holds(Promise::OptedOut, claimed <= one.at, || {
                format!("{} was claimed at {}: {one:?}", call.handle(), call.times.0)
            });
            let handle = call.handle();
            for dial in evidence.dials.iter().filter(|dial| dial.handle == handle) {
                verdict.holds(Promise::OptedOut, dial.at <= one.at + ON_ITS_WAY_US, || {
                    format!("{one:?}: {}", dial.line)
                });
            }
        }
    }
    verdict.count(
        Promise::OptedOut,
        format!("{} suppressed", evidence.opted_out.len()),
    );
}

pub(super) fn rest(evidence: &Evidence, verdict: &mut Verdict) {
    for look in &evidence.looks {
        verdict.holds(Promise::Readable, matches!(look.status, 200 | 503), || {
            look.to_string()
        });
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
