//! Forged evidence: the clean run must pass, and the ledger must detect each forgery.

use crate::evidence::{
    Asked, Campaign, Conversation, Death, Delivery, Dial, Entry, Event, Evidence, Look, Meant,
    OptedOut, Person, Receipt, Recipient, StoredKey, Wallet, Words,
};
use crate::ledger::{Promise, judge};

/// The time of everything.
const AT: i64 = 1_777_573_940_000_000;

fn id(kind: u64, number: u64) -> String {
    format!("{kind:016x}{number:016x}")
}

fn call(number: u64, state: &str, failure: &str, key: &str) -> Conversation {
    Conversation {
        id: id(1, number),
        account: id(9, 0),
        state: state.to_owned(),
        to: format!("+5215500000{number:03}"),
        failure: failure.to_owned(),
        termination: String::new(),
        credits: if state == "completed" { 3 } else { 0 },
        times: (AT, AT + 5_000_000),
        key: key.to_owned(),
    }
}

fn asked(key: &str, meant: Meant, status: Option<u16>, body: &str) -> Asked {
    Asked {
        account: id(9, 0),
        key: key.to_owned(),
        meant,
        node: "node 1".to_owned(),
        at: std::time::Duration::ZERO,
        status,
        code: String::new(),
        body: body.to_owned(),
        replayed: meant == Meant::Again,
    }
}

fn dial(call: &Conversation) -> Dial {
    Dial {
        handle: call.handle(),
        to: call.to.clone(),
        node: "node 1".to_owned(),
        at: AT + 1_000,
        line: format!("{{\"handle\":\"{}\"}}", call.handle()),
    }
}

fn words(call: &Conversation, role: &str, text: &str) -> Words {
    Words {
        handle: call.handle(),
        role: role.to_owned(),
        text: text.to_owned(),
    }
}

/// A completed call, a busy one, one that died with its node, a refused one, and one of a batch.
fn clean() -> Evidence {
    let calls = [
        call(1, "completed", "", "key 1"),
        call(2, "failed", "busy", "key 2"),
        call(3, "failed", "interrupted", "key 3"),
        call(4, "completed", "", ""),
    ];
    let mut evidence = Evidence {
        dials: vec![dial(&calls[0]), dial(&calls[1]), dial(&calls[3])],
        heard: vec![
            words(&calls[0], "agent", "Hello."),
            words(&calls[0], "agent", "Who is it?"),
            words(&calls[0], "user", "Ann."),
            words(&calls[2], "user", "Hello?"),
            words(&calls[2], "user", "Anybody?"),
        ],
        transcripts: vec![
            words(&calls[0], "agent", "Hello. Who is it?"),
            words(&calls[0], "user", "Ann."),
            words(&calls[2], "user", "Hello?"),
        ],
        endpoints: vec![(id(8, 0), id(9, 0)), (id(8, 1), id(9, 0))],
        disturbances: 1,
        in_flight: 1,
        deaths: vec![Death {
            node: "node 1".to_owned(),
            at: AT + 1_000_000,
        }],
        ..Evidence::default()
    };
    let (mut balance, mut seq) = (100, 1);
    let mut enter = |kind: &str, amount: i64, conversation: &str| {
        balance += if seq == 1 { 0 } else { amount };
        seq += 1;
        Entry {
            account: id(9, 0),
            seq,
            kind: kind.to_owned(),
            amount,
            balance,
            conversation: conversation.to_owned(),
        }
    };
    evidence.entries.push(enter("manual_credit", 100, ""));
    for (number, call) in calls.iter().enumerate() {
        let kinds = match (call.key.is_empty(), call.state.as_str()) {
            (true, _) => vec!["call.completed"],
            (false, "completed") => vec!["call.initiated", "call.completed"],
            (false, _) => vec!["call.initiated", "call.failed"],
        };
        for (nth, kind) in kinds.into_iter().enumerate() {
            let event = Event {
                id: id(2, (number * 10 + nth) as u64),
                account: call.account.clone(),
                conversation: call.id.clone(),
                kind: kind.to_owned(),
                body: hex::encode(format!(
                    "{{\"type\":\"{kind}\",\"created_at\":\"2026-04-30T18:32:{:02}.000Z\"}}",
                    20 + nth
                )),
            };
            for (endpoint, _) in &evidence.endpoints {
                evidence.deliveries.push(Delivery {
                    id: format!("{} {endpoint}", event.id),
                    event: event.id.clone(),
                    endpoint: endpoint.clone(),
                    state: "delivered".to_owned(),
                });
                evidence.receipts.push(Receipt {
                    endpoint: endpoint.clone(),
                    event: event.id.clone(),
                    attempt: format!("{} {endpoint}", event.id),
                    body: event.body.clone(),
                    is_signed: true,
                    answered: 200,
                });
            }
            evidence.events.push(event);
        }
        evidence.endings.push((call.id.clone(), 1));
        if call.credits != 0 {
            let entry = enter("debit", -call.credits, &call.id);
            evidence.entries.push(entry);
        }
        if !call.key.is_empty() {
            let body = format!("{{\"id\":\"{}\"}}", call.handle());
            evidence.keys.push(StoredKey {
                account: call.account.clone(),
                key: call.key.clone(),
                body: hex::encode(&body),
            });
            evidence
                .asked
                .push(asked(&call.key, Meant::Place, None, ""));
            for meant in [Meant::Place, Meant::Again] {
                evidence
                    .asked
                    .push(asked(&call.key, meant, Some(201), &body));
            }
            evidence.looks.push(Look {
                handle: call.handle(),
                node: "node 2".to_owned(),
                status: 200,
            });
        }
    }
    let mut other = asked("key 1", Meant::Other, Some(409), "");
    other.code = "idempotency_conflict".to_owned();
    evidence.asked.push(other);
    evidence
        .asked
        .push(asked("key 9", Meant::Refusal, Some(403), ""));
    evidence.recipients.push(Recipient {
        id: id(7, 0),
        to: calls[3].to.clone(),
        status: "completed".to_owned(),
        calls: 1,
    });
    evidence.campaigns.push(Campaign {
        id: id(6, 0),
        status: "completed".to_owned(),
        total: 1,
        open: 0,
        done: 1,
    });
    evidence.people.push(Person {
        campaign: id(6, 0),
        to: "+5215700000001".to_owned(),
        status: "done".to_owned(),
        attempts: 1,
    });
    evidence.opted_out.push(OptedOut {
        account: id(9, 0),
        number: calls[1].to.clone(),
        at: AT + 500,
    });
    evidence.wallets.push(Wallet {
        account: id(9, 0),
        balance: 94,
        reserved: 0,
    });
    evidence.conversations = calls.into();
    evidence
}

type Forgery = (&'static str, Promise, fn(&mut Evidence));

/// Each forgery, the broken promise that must be named, and how to forge it.
const FORGERIES: &[Forgery] = &[
    ("a second dial of one handle", Promise::DialedOnce, |e| {
        let again = e.dials[1].clone();
        e.dials.push(again);
    }),
    (
        "a dial of a call that nobody has",
        Promise::DialedOnce,
        |e| {
            e.dials.push(dial(&call(77, "completed", "", "")));
        },
    ),
    ("a dial of another number", Promise::Number, |e| {
        e.dials[0].to = e.dials[1].to.clone();
    }),
    ("an accepted call that is gone", Promise::Ends, |e| {
        e.conversations.remove(2);
    }),
    ("a completed call without a dial", Promise::Ends, |e| {
        e.dials.remove(0);
    }),
    ("a failure without a reason", Promise::Ends, |e| {
        e.conversations[2].failure.clear();
    }),
    ("an expired call that was dialed", Promise::Ends, |e| {
        e.conversations[1].failure = "expired".to_owned();
    }),
    (
        "an interruption that nobody's end explains",
        Promise::Interrupted,
        |e| {
            e.deaths[0].at += 60_000_000;
        },
    ),
    (
        "an interruption of a process that lives",
        Promise::Interrupted,
        |e| {
            let mut dialed = e.dials[0].clone();
            dialed.handle = e.conversations[2].handle();
            dialed.to = e.conversations[2].to.clone();
            dialed.node = "node 2".to_owned();
            e.dials.push(dialed);
        },
    ),
    (
        "an end that came to be before its beginning",
        Promise::InOrder,
        |e| {
            let early = e.events[1]
                .body
                .replace(&hex::encode(":21."), &hex::encode(":19."));
            for receipt in &mut e.receipts {
                if receipt.body == e.events[1].body {
                    receipt.body.clone_from(&early);
                }
            }
            e.events[1].body = early;
        },
    ),
    ("a turn that nobody said", Promise::Transcript, |e| {
        let again = e.transcripts[1].clone();
        e.transcripts.push(again);
    }),
    ("a turn that is missing", Promise::Transcript, |e| {
        e.transcripts.remove(1);
    }),
    ("turns in another order", Promise::Transcript, |e| {
        e.transcripts[0].text = "Who is it? Hello.".to_owned();
    }),
    (
        "a turn that nobody said in a call that was interrupted",
        Promise::Transcript,
        |e| {
            e.transcripts[2].text = "Goodbye?".to_owned();
        },
    ),
    ("a call that goes on", Promise::OneEnding, |e| {
        e.conversations[2].state = "live".to_owned();
    }),
    ("a call that ended twice", Promise::OneEnding, |e| {
        e.endings[0].1 = 2;
    }),
    ("a second terminal event", Promise::OneEvent, |e| {
        let mut second = e.events[1].clone();
        second.id = id(2, 99);
        e.events.push(second);
    }),
    ("a missing event", Promise::OneEvent, |e| {
        e.events.remove(3);
    }),
    (
        "an event that never came to an endpoint",
        Promise::Delivered,
        |e| {
            let event = e.events[3].id.clone();
            e.receipts
                .retain(|r| r.event != event || r.endpoint != id(8, 1));
        },
    ),
    ("an event that no receiver took", Promise::Delivered, |e| {
        e.receipts[0].answered = 500;
    }),
    ("an event without a delivery", Promise::Delivered, |e| {
        e.deliveries.remove(0);
    }),
    ("a delivery that was given up", Promise::Delivered, |e| {
        e.deliveries[0].state = "exhausted".to_owned();
    }),
    ("another body of one event", Promise::Frozen, |e| {
        e.receipts[0].body = hex::encode("another");
    }),
    ("a bad signature", Promise::Frozen, |e| {
        e.receipts[0].is_signed = false;
    }),
    ("one attempt sent twice", Promise::Frozen, |e| {
        e.receipts[1].attempt = e.receipts[0].attempt.clone();
    }),
    (
        "more duplicates than kills explain",
        Promise::FewDuplicates,
        |e| {
            for number in 0..2 {
                let mut again = e.receipts[number].clone();
                again.attempt = format!("again {number}");
                e.receipts.push(again);
            }
        },
    ),
    ("a debit that is missing", Promise::Books, |e| {
        e.entries.pop();
    }),
    ("two debits of one call", Promise::Books, |e| {
        let again = e.entries[1].clone();
        e.entries.push(again);
    }),
    ("a balance that is not the ledger's", Promise::Books, |e| {
        e.wallets[0].balance += 1;
    }),
    ("a reservation that stays", Promise::Books, |e| {
        e.wallets[0].reserved = 5;
    }),
    (
        "a reservation of a call that is over",
        Promise::Books,
        |e| {
            e.reservations.push(id(1, 1));
        },
    ),
    ("a complaint of the doctor", Promise::Books, |e| {
        e.doctor.push("the books of an account".to_owned());
    }),
    ("two bodies of one key", Promise::OneAnswer, |e| {
        let other = format!("{{\"id\":\"{}\"}}", e.conversations[1].handle());
        e.asked
            .push(asked("key 1", Meant::Place, Some(201), &other));
    }),
    ("a repetition that was no replay", Promise::OneAnswer, |e| {
        e.asked[2].replayed = false;
    }),
    ("two calls of one key", Promise::OneAnswer, |e| {
        e.conversations[1].key = "key 1".to_owned();
    }),
    ("a stored answer that is another", Promise::OneAnswer, |e| {
        e.keys[0].body = hex::encode("{}");
    }),
    ("another body that was taken", Promise::OtherBody, |e| {
        e.asked.push(asked("key 2", Meant::Other, Some(201), "{}"));
    }),
    ("a refused call that exists", Promise::Refused, |e| {
        e.conversations[2].key = "key 9".to_owned();
    }),
    ("a refusal that was accepted", Promise::Refused, |e| {
        e.asked
            .push(asked("key 9", Meant::Refusal, Some(201), "{}"));
    }),
    ("a refusal that keeps its key", Promise::Refused, |e| {
        e.keys[2].key = "key 9".to_owned();
    }),
    (
        "an accepted call that is not found",
        Promise::Readable,
        |e| {
            e.looks[0].status = 404;
        },
    ),
    (
        "a recipient who was called twice",
        Promise::Recipients,
        |e| {
            let again = e.dials[2].clone();
            e.dials.push(again);
        },
    ),
    ("a recipient who was forgotten", Promise::Recipients, |e| {
        e.recipients[0].status = "pending".to_owned();
    }),
    ("a person who was called twice", Promise::Campaigns, |e| {
        let mut again = e.dials[0].clone();
        again.to.clone_from(&e.people[0].to);
        e.dials.extend([again.clone(), again]);
    }),
    ("a person who was forgotten", Promise::Campaigns, |e| {
        e.people[0].status = "pending".to_owned();
    }),
    ("a campaign whose sums are wrong", Promise::Campaigns, |e| {
        e.campaigns[0].done = 2;
    }),
    ("a person who is nobody's", Promise::Campaigns, |e| {
        e.people.pop();
    }),
    ("a claim after an opt-out", Promise::OptedOut, |e| {
        e.opted_out[0].at = AT - 1;
    }),
    ("a dial long after an opt-out", Promise::OptedOut, |e| {
        let to = e.opted_out[0].number.clone();
        for dial in e.dials.iter_mut().filter(|dial| dial.to == to) {
            dial.at += 20_000_000;
        }
    }),
    ("a client that was never told", Promise::Answered, |e| {
        e.untold.push("key 4".to_owned());
    }),
    ("work that was left", Promise::Answered, |e| {
        e.left.push("1 delivery".to_owned());
    }),
    ("a call that goes on at the carrier", Promise::Hangs, |e| {
        let handle = e.conversations[2].handle();
        e.live.push(handle);
    }),
    ("a node that ended by itself", Promise::Sound, |e| {
        e.oddities.push("node 1 ended".to_owned());
    }),
    ("an internal error", Promise::Sound, |e| {
        e.asked.push(asked("key 2", Meant::Place, Some(500), "{}"));
    }),
];

/// Judges the clean run and every forgery; returns what went undetected.
pub(crate) fn faults() -> Vec<String> {
    let mut faults: Vec<String> = judge(&clean())
        .violations
        .into_iter()
        .map(|one| format!("a clean run: {}: {}", one.promise.words(), one.shown_by))
        .collect();
    for (what, promise, forge) in FORGERIES {
        let mut evidence = clean();
        forge(&mut evidence);
        let violations = judge(&evidence).violations;
        if !violations.iter().any(|one| one.promise == *promise) {
            faults.push(format!("{what} breaks `{}`: not found", promise.words()));
        }
    }
    for promise in Promise::ALL {
        if !FORGERIES.iter().any(|(_, forged, _)| *forged == promise) {
            faults.push(format!("nothing forged breaks `{}`", promise.words()));
        }
    }
    faults
}

pub(crate) const fn count() -> usize {
    FORGERIES.len()
}
