//! Whom an account may call: one function judges every dial, when it is asked for and again when it is claimed.

mod check;
mod list;
mod opt_out;
mod zones;

use std::collections::HashMap;
use std::time::Duration;

use jiff::civil::Date;
use jiff::tz::TimeZone;
use offhook_domain::config::CallingHours;
use offhook_domain::{Credits, DialRule, DialWindow, DialingRules, E164, Timestamp};
use offhook_storage::{Candidate, DialFacts, Dialing, StoreError};
use parking_lot::Mutex;

use crate::Result;
use crate::calls::{Daily, Hours, opening};

pub(crate) use check::Transfers;
pub use check::{DialCheck, DialCheckRequest};
pub use list::{Gate, SuppressionRequest, SuppressionsImported};
pub(crate) use opt_out::WithOptOut;
pub(crate) use zones::zones_of;

const DAY: Duration = Duration::from_secs(24 * 3_600);

/// How often rules are judged again to find when they allow a call. Each time at least one of them heals.
const LOOKS_AHEAD: usize = 64;

/// An account's rules, read for many dials.
#[derive(Default)]
pub(crate) struct Rules {
    dialing: DialingRules,
    window: Option<Window>,
}

struct Window {
    of: DialWindow,
    holidays: Vec<Date>,
    /// What was found of zones at a time: many numbers share them. Their text is known by its place.
    known: Mutex<HashMap<(usize, Timestamp), Closed>>,
}

/// Whether hours are closed, and then until when, if they open again.
type Closed = Option<Option<Timestamp>>;

/// A dial to judge.
pub(crate) struct Dial<'a> {
    pub(crate) to: &'a E164,
    pub(crate) has_consent: bool,
    /// Credits that are reserved for it, or would be.
    pub(crate) reserve: Credits,
    /// The agent's own hours, where nobody else judges them.
    pub(crate) hours: Option<&'a CallingHours>,
    /// Whether a customer is handed on. Consent, windows and attempts protect people who are called: a transfer goes to a
    /// line that the agent's author chose.
    pub(crate) is_transfer: bool,
}

/// What refuses a dial.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Blocked {
    pub(crate) rule: DialRule,
    /// When every rule allows it, if time alone heals them all.
    pub(crate) until: Option<Timestamp>,
}

impl Rules {
    /// Reads an account's rules.
    pub(crate) fn of(dialing: &Dialing) -> Result<Self, StoreError> {
        let Some(text) = &dialing.rules else {
            return Ok(Self::default());
        };
        let corrupt = |error| StoreError::Corrupt(format!("the dialing rules: {error}"));
        let dialing = DialingRules::from_stored(text).map_err(corrupt)?;
        let window = dialing.window.clone().map(|of| Window {
            holidays: of
                .holidays
                .iter()
                .filter_map(|day| day.parse().ok())
                .collect(),
            of,
            known: Mutex::default(),
        });
        Ok(Self { dialing, window })
    }

    /// What refuses the dial now, and when it would be allowed.
    pub(crate) fn judge(
        &self,
        facts: &DialFacts,
        dial: &Dial<'_>,
        now: Timestamp,
    ) -> Option<Blocked> {
        let first = self.refuses(facts, dial, (now, now))?;
        let mut next = first.until;
        for _ in 0..LOOKS_AHEAD {
            let Some(at) = next else { break };
            match self.refuses(facts, dial, (at, now)) {
                None => {
                    return Some(Blocked {
                        until: Some(at),
                        ..first
                    });
                }
                Some(other) => next = other.until.filter(|until| *until > at),
            }
        }
        Some(Blocked {
            until: None,
            ..first
        })
    }

    /// The first rule that refuses the dial `at` a time, and when it alone would allow it. The facts are of `now`.
    fn refuses(
        &self,
        facts: &DialFacts,
        dial: &Dial<'_>,
        (at, now): (Timestamp, Timestamp),
    ) -> Option<Blocked> {
        let blocked = |rule, until| Some(Blocked { rule, until });
        let rules = &self.dialing;
        if let Some(until) = facts.suppressed.get(dial.to)
            && until.is_none_or(|until| at < until)
        {
            return blocked(DialRule::SuppressionList, *until);
        }
        let starts = |prefix: &String| dial.to.as_str().starts_with(prefix.as_str());
        if !rules.allowed_prefixes.is_empty() && !rules.allowed_prefixes.iter().any(starts) {
            return blocked(DialRule::AllowedPrefixes, None);
        }
        if dial.is_transfer {
            return None;
        }
        if rules.consent_required && !dial.has_consent {
            return blocked(DialRule::Consent, None);
        }
        if let Some(window) = &self.window {
            let Some(zones) = zones_of(dial.to) else {
                return blocked(DialRule::TimeZone, None);
            };
            if let Some(until) = window.closed(zones, at) {
                return blocked(DialRule::Window, until);
            }
        }
        if let Some(hours) = dial.hours
            && let Some(until) = closed([opening(hours, at)].into_iter(), at)
        {
            return blocked(DialRule::CallingHours, until);
        }
        let attempts = facts.attempts.get(dial.to).map_or(&[][..], Vec::as_slice);
        let pause = rules.minimum_pause_minutes.unwrap_or(0);
        let pause = Duration::from_secs(u64::try_from(pause).unwrap_or(0) * 60);
        for (rule, most, within) in [
            (
                DialRule::MinimumPause,
                rules.minimum_pause_minutes.map(|_| 1),
                pause,
            ),
            (DialRule::AttemptsPerDay, rules.attempts_per_day, DAY),
            (DialRule::AttemptsPerWeek, rules.attempts_per_week, 7 * DAY),
        ] {
            if let Some(until) = most
                .and_then(|most| spent_until(attempts, most, within))
                .filter(|until| at < *until)
            {
                return blocked(rule, Some(until));
            }
        }
        let is_today = at.utc_day() == now.utc_day();
        if let Some(most) = rules.daily_credits
            && dial.reserve > 0
            && is_today
            && facts.spent + facts.reserved + dial.reserve > most
        {
            let midnight = Timestamp::of_utc_day(now.utc_day() + 1);
            return blocked(
                DialRule::DailyCredits,
                Some(midnight).filter(|_| dial.reserve <= most),
            );
        }
        None
    }
}

impl Window {
    /// Whether it is closed in any of these zones, and then until all of them are open.
    fn closed(&self, zones: &'static str, at: Timestamp) -> Closed {
        let closed = |at| closed(zones.split(',').map(|zone| self.in_zone(zone, at)), at);
        let find = || {
            let mut until = closed(at)?;
            for _ in 0..LOOKS_AHEAD {
                let Some(next) = until else { break };
                match closed(next) {
                    None => return Some(Some(next)),
                    Some(later) => until = later.filter(|later| *later > next),
                }
            }
            Some(None)
        };
        let place = (zones.as_ptr().addr(), at);
        *self.known.lock().entry(place).or_insert_with(find)
    }

    fn in_zone(&self, zone: &str, at: Timestamp) -> Hours {
        let daily = Daily {
            days: &self.of.days,
            start: self.of.start,
            end: self.of.end,
            holidays: &self.holidays,
        };
        TimeZone::get(zone).map_or(Hours::Never, |zone| daily.in_zone(&zone, at))
    }
}

/// Whether any of these hours is closed `at` a time: then until when the last of them is, if each opens again.
fn closed(hours: impl Iterator<Item = Hours>, at: Timestamp) -> Closed {
    let mut closed: Closed = None;
    for hours in hours {
        let until = match hours {
            Hours::Open => continue,
            // They open at a whole minute, and the seconds are rounded up.
            Hours::ClosedFor(seconds) => {
                let until = at.plus(Duration::from_secs(seconds));
                Some(Timestamp::from_micros(
                    until.micros() / 1_000_000 * 1_000_000,
                ))
            }
            Hours::Never => return Some(None),
        };
        closed = Some(closed.flatten().max(until));
    }
    closed
}

/// Until when these attempts, oldest first, leave no room for another one `within` a time.
fn spent_until(attempts: &[Timestamp], most: i64, within: Duration) -> Option<Timestamp> {
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    let oldest = attempts.len().checked_sub(most)?;
    attempts.get(oldest).map(|attempt| attempt.plus(within))
}

/// Judges queued calls of an account in the transaction that claims them.
pub(crate) fn judge_claims(
    dialing: &Dialing,
    mut facts: DialFacts,
    calls: &[Candidate],
    now: Timestamp,
) -> Result<Vec<Option<DialRule>>, StoreError> {
    let rules = Rules::of(dialing)?;
    let judge = |call: &Candidate| {
        let dial = Dial {
            to: &call.to,
            has_consent: call.has_consent,
            reserve: call.reserved,
            hours: None,
            is_transfer: false,
        };
        let blocked = rules.judge(&facts, &dial, now);
        if blocked.is_none() {
            count(&mut facts, &call.to, call.reserved, now);
        }
        blocked.map(|blocked| blocked.rule)
    };
    Ok(calls.iter().map(judge).collect())
}

/// Counts a dial that passed, for those after it.
fn count(facts: &mut DialFacts, to: &E164, reserve: Credits, at: Timestamp) {
    facts.attempts.entry(to.clone()).or_default().push(at);
    facts.reserved += reserve;
}
