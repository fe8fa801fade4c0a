//! The promises, and their violations.

use std::collections::BTreeMap;

/// The promises of docs/RELIABILITY.md, in the order of its table: the table's words, and the part of the run that attacks
/// each.
macro_rules! promises {
    ($($name:ident => $words:literal, $attacked_by:literal;)+) => {
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub(crate) enum Promise {
            $($name,)+
        }

        impl Promise {
            pub(crate) const ALL: [Self; [$(stringify!($name)),+].len()] = [$(Self::$name),+];

            pub(crate) const fn words(self) -> &'static str {
                match self {
                    $(Self::$name => $words,)+
                }
            }

            pub(crate) const fn attacked_by(self) -> &'static str {
                match self {
                    $(Self::$name => $attacked_by,)+
                }
            }
        }
    };
}

promises! {
    DialedOnce => "a call is dialed at most once", "kills between claim, dial and record; stopped nodes; cuts";
    Number => "the number that is dialed is the one that was accepted",
        "kills between claim and dial; claims whose answer is lost";
    Ends => "an accepted call ends: dialed once, or not at all for a stated reason",
        "kills, lapsed leases, lost commits";
    Interrupted => "a call is interrupted only where the process that had it ended",
        "databases and connections that break beside the kills";
    Transcript => "a transcript has what each side was heard to say, in order, and each of it once",
        "kills and lost commits around every turn";
    OneEnding => "a call ends once", "kills around the closing; nodes that come back";
    OneEvent => "a call has one event of its end, and one of its beginning",
        "kills around every commit; repeated requests";
    InOrder => "a call's events tell their order: created_at and id", "calls that other nodes end";
    Delivered => "every event reaches every endpoint", "kills between claim, send and record; failing receivers";
    Frozen => "an event's id and body never change and are signed", "repeated deliveries from several nodes";
    FewDuplicates => "duplicates <= what was under way at a disturbance",
        "kills between send and record; lost commits";
    Books => "balance = ledger, nothing reserved, one debit a call, `offhook doctor`",
        "kills around reservation and settlement";
    OneAnswer => "a key answers one body and stands for one call",
        "impatient clients, lost answers, retries on other nodes";
    OtherBody => "a key with another body is refused (409)", "the same keys with another number";
    Refused => "what was refused is not dialed and leaves nothing", "unknown agents, bad numbers";
    Readable => "an accepted call can be read from then on, on every node",
        "reads on other nodes right after the answer";
    Recipients => "a batch calls each recipient at most once", "kills around each look at a batch";
    Campaigns => "a campaign calls each recipient at most as often as it may, and its sums are its recipients",
        "kills around each round; nodes that race for one campaign";
    OptedOut => "no call is claimed after its number was suppressed, and none dialed 10 s later",
        "suppressions of numbers that wait, ring and talk";
    Answered => "whoever asks long enough is answered", "everything at once";
    Hangs => "no call goes on at the carrier when all have ended", "kills of nodes with live calls";
    Sound => "no node ends by itself or panics; nothing answers 500", "everything at once";
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
