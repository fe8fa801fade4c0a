//! The counters of a pump.

use std::time::Duration;

use crate::jitter::Counts;

/// Upper bounds of the lateness histogram, in microseconds; later ticks fall into an additional bucket.
pub const LATENESS_US: [u64; 16] = [
    250, 500, 750, 1_000, 1_250, 1_500, 2_000, 2_500, 3_000, 4_000, 5_000, 7_500, 10_000, 15_000,
    20_000, 50_000,
];

/// How late ticks were, because of the pacer or of a busy machine.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Lateness {
    /// The ticks per bound of [`LATENESS_US`], and those that were later.
    pub ticks: [u64; LATENESS_US.len() + 1],
    /// The highest lateness.
    pub most: Duration,
    /// The total lateness.
    pub sum: Duration,
}

impl Lateness {
    pub(super) fn add(&mut self, late: Duration) {
        let micros = u64::try_from(late.as_micros()).unwrap_or(u64::MAX);
        self.ticks[LATENESS_US.partition_point(|&bound| bound < micros)] += 1;
        self.most = self.most.max(late);
        self.sum += late;
    }

    /// Adds another pump's counters.
    pub fn merge(&mut self, other: &Self) {
        for (ours, theirs) in self.ticks.iter_mut().zip(other.ticks) {
            *ours += theirs;
        }
        self.most = self.most.max(other.most);
        self.sum += other.sum;
    }

    /// Returns the bound that this share of the ticks kept (0.99: the 99th percentile), or the highest lateness if no
    /// bound was kept; zero without ticks.
    #[must_use]
    pub fn quantile(&self, share: f64) -> Duration {
        let all: u64 = self.ticks.iter().sum();
        let wanted = (all as f64 * share).ceil() as u64;
        let mut seen = 0;
        for (ticks, bound) in self.ticks.iter().zip(LATENESS_US) {
            seen += ticks;
            if seen >= wanted {
                return Duration::from_micros(bound).min(self.most);
            }
        }
        self.most
    }
}

/// All counters of a pump since its start, which only increase.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counted {
    /// Ticks.
    pub ticks: u64,
    /// The lateness of the ticks.
    pub lateness: Lateness,
    /// Ticks skipped because the machine had stalled for over a tenth of a second.
    pub skipped: u64,
    /// Packets sent.
    pub sent: u64,
    /// Packets that the system rejected.
    pub unsent: u64,
    /// Datagrams from another address than the call's.
    pub unknown_source: u64,
    /// Datagrams that are not RTP, or have an impossible payload size.
    pub malformed: u64,
    /// Packets with a payload type that was not negotiated.
    pub unknown_payload: u64,
    /// RTCP packets, which are ignored.
    pub rtcp: u64,
    /// Ticks that the consumer had no room for.
    pub overflowed: u64,
    /// Keys dropped because they came faster than a person types.
    pub keys_dropped: u64,
    /// Frames in which a segment's audio came too late.
    pub playout_underruns: u64,
    /// The jitter buffer's counters.
    pub incoming: Counts,
}

impl Counted {
    /// Adds another pump's counters.
    pub fn merge(&mut self, other: &Self) {
        self.lateness.merge(&other.lateness);
        self.incoming.merge(&other.incoming);
        for (ours, theirs) in [
            (&mut self.ticks, other.ticks),
            (&mut self.skipped, other.skipped),
            (&mut self.sent, other.sent),
            (&mut self.unsent, other.unsent),
            (&mut self.unknown_source, other.unknown_source),
            (&mut self.malformed, other.malformed),
            (&mut self.unknown_payload, other.unknown_payload),
            (&mut self.rtcp, other.rtcp),
            (&mut self.overflowed, other.overflowed),
            (&mut self.keys_dropped, other.keys_dropped),
            (&mut self.playout_underruns, other.playout_underruns),
        ] {
            *ours += theirs;
        }
    }
}
