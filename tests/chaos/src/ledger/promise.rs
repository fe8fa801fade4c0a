//! The promises, and their violations.

use std::collections::BTreeMap;

/// A promise of docs/RELIABILITY.md.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Promise {
    DialedOnce,
    Number,
    Ends,
    Interrupted,
    Transcript,
    OneEnding,
    OneEvent,
    InOrder,
    Delivered,
    Frozen,
    FewDuplicates,
    Books,
    OneAnswer,
    OtherBody,
    Refused,
    Readable,
    Recipients,
    Campaigns,
    OptedOut,
    Answered,
    Hangs,
    Sound,
}

impl Promise {
    /// Every promise, in the order of the table.
    pub(crate) const ALL: [Self; 22] = [
        Self::DialedOnce,
        Self::Number,
        Self::Ends,
        Self::Interrupted,
        Self::Transcript,
        Self::OneEnding,
        Self::OneEvent,
        Self::InOrder,
        Self::Delivered,
        Self::Frozen,
        Self::FewDuplicates,
        Self::Books,
        Self::OneAnswer,
        Self::OtherBody,
        Self::Refused,
        Self::Readable,
        Self::Recipients,
        Self::Campaigns,
        Self::OptedOut,
        Self::Answered,
        Self::Hangs,
        Self::Sound,
    ];

    /// The promise in the table's words.
    pub(crate) const fn words(self) -> &'static str {
        match self {
            Self::DialedOnce => "a call is dialed at most once",
            Self::Number => "the number that is dialed is the one that was accepted",
            Self::Ends => "an accepted call ends: dialed once, or not at all for a stated reason",
            Self::Interrupted => "a call is interrupted only where the process that had it ended",
            Self::Transcript => {
                "a transcript has what each side was heard to say, in order, and each of it once"
            }
            Self::OneEnding => "a call ends once",
            Self::OneEvent => "a call has one event of its end, and one of its beginning",
            Self::InOrder => "a call's events tell their order: created_at and id",
            Self::Delivered => "every event reaches every endpoint",
            Self::Frozen => "an event's id and body never change and are signed",
            Self::FewDuplicates => "duplicates <= what was under way at a disturbance",
            Self::Books => "balance = ledger, nothing reserved, one debit a call, `offhook doctor`",
            Self::OneAnswer => "a key answers one body and stands for one call",
            Self::OtherBody => "a key with another body is refused (409)",
            Self::Refused => "what was refused is not dialed and leaves nothing",
            Self::Readable => "an accepted call can be read from then on, on every node",
            Self::Recipients => "a batch calls each recipient at most once",
            Self::Campaigns => {
                "a campaign calls each recipient at most as often as it may, and its sums are its recipients"
            }
            Self::OptedOut => {
                "no call is claimed after its number was suppressed, and none dialed 10 s later"
            }
            Self::Answered => "whoever asks long enough is answered",
            Self::Hangs => "no call goes on at the carrier when all have ended",
            Self::Sound => "no node ends by itself or panics; nothing answers 500",
        }
    }

    /// The part of the run that attacks it.
    pub(crate) const fn attacked_by(self) -> &'static str {
        match self {
            Self::DialedOnce => "kills between claim, dial and record; stopped nodes; cuts",
            Self::Number => "kills between claim and dial; claims whose answer is lost",
            Self::Ends => "kills, lapsed leases, lost commits",
            Self::Interrupted => "databases and connections that break beside the kills",
            Self::Transcript => "kills and lost commits around every turn",
            Self::OneEnding => "kills around the closing; nodes that come back",
            Self::OneEvent => "kills around every commit; repeated requests",
            Self::InOrder => "calls that other nodes end",
            Self::Delivered => "kills between claim, send and record; failing receivers",
            Self::Frozen => "repeated deliveries from several nodes",
            Self::FewDuplicates => "kills between send and record; lost commits",
            Self::Books => "kills around reservation and settlement",
            Self::OneAnswer => "impatient clients, lost answers, retries on other nodes",
            Self::OtherBody => "the same keys with another number",
            Self::Refused => "unknown agents, bad numbers",
            Self::Readable => "reads on other nodes right after the answer",
            Self::Recipients => "kills around each look at a batch",
            Self::Campaigns => "kills around each round; nodes that race for one campaign",
            Self::OptedOut => "suppressions of numbers that wait, ring and talk",
            Self::Answered => "everything at once",
            Self::Hangs => "kills of nodes with live calls",
            Self::Sound => "everything at once",
        }
    }
}

/// A broken promise, with its evidence.
#[derive(Debug, Clone)]
pub(crate) struct Violation {
    pub(crate) promise: Promise,
    pub(crate) shown_by: String,
}

/// What was checked, and the violations.
#[derive(Debug, Default)]
pub(crate) struct Verdict {
    pub(crate) counts: BTreeMap<Promise, String>,
    pub(crate) violations: Vec<Violation>,
}

impl Verdict {
    /// Records whether a promise was kept; `shown_by` describes the violation.
    pub(super) fn holds(
        &mut self,
        promise: Promise,
        is_kept: bool,
        shown_by: impl FnOnce() -> String,
    ) {
        if !is_kept {
            self.broken(promise, shown_by());
        }
    }

    pub(super) fn broken(&mut self, promise: Promise, shown_by: String) {
        self.violations.push(Violation { promise, shown_by });
    }

    pub(super) fn count(&mut self, promise: Promise, words: String) {
        self.counts.insert(promise, words);
    }
}
