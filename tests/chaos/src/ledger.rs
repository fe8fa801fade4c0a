//! Checks each promise against the evidence.

mod books;
mod calls;
mod events;
mod promise;

pub(crate) use promise::{Promise, Verdict};

use crate::evidence::Evidence;
use books::{books, campaigns, opted_out, recipients, rest};
use calls::{dials, endings, interruptions, keys, refusals, transcripts};
use events::{deliveries, duplicates, order};

pub(crate) fn judge(evidence: &Evidence) -> Verdict {
    let mut verdict = Verdict::default();
    dials(evidence, &mut verdict);
    interruptions(evidence, &mut verdict);
    transcripts(evidence, &mut verdict);
    endings(evidence, &mut verdict);
    order(evidence, &mut verdict);
    keys(evidence, &mut verdict);
    refusals(evidence, &mut verdict);
    deliveries(evidence, &mut verdict);
    duplicates(evidence, &mut verdict);
    books(evidence, &mut verdict);
    recipients(evidence, &mut verdict);
    campaigns(evidence, &mut verdict);
    opted_out(evidence, &mut verdict);
    rest(evidence, &mut verdict);
    verdict
}
