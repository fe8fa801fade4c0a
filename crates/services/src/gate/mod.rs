//! Whom an account may call: one function judges every dial, when it is asked for and again when it is claimed.

mod check;
mod list;
mod opt_out;
mod zones;

use jiff::civil::Date;
use jiff::tz::TimeZone;
use offhook_domain::config::CallingHours;
use parking_lot::Mutex;

use crate::Result;
use crate::calls::{Daily, Hours, opening};
use crate::prelude::*;

pub use check::{DialCheck, DialCheckRequest};
pub(crate) use check::{Transfers, may_call};
pub use list::{Gate, SuppressionRequest, SuppressionsImported};
pub(crate) use opt_out::{OPT_OUT, with_opt_out};
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

/// Hours in which numbers are called, in their own time zones.
pub(crate) struct Window {
    of: DialWindow,
    holidays: Vec<Date>,
    /// What was found of zones at a time: many numbers share them.
    known: Mutex<HashMap<String, HashMap<Timestamp, Closed>>>,
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
    /// When the call may be dialed, besides the account's rules.
    pub(crate) window: Option<&'a Window>,
    /// The customer's time zone, if it is known better than by the number.
    pub(crate) zone: Option<&'a str>,
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
        let text = some_or!(&dialing.rules, Self::default());
        let corrupt = |error| StoreError::Corrupt(format!("the dialing rules: {error}"));
        let dialing = DialingRules::from_stored(text).map_err(corrupt)?;
        let window = dialing.window.clone().map(Window::of);
        Ok(Self { dialing, window })
    }

    /// When the account's rules let numbers be called.
    pub(crate) const fn window(&self) -> Option<&Window> {
        self.window.as_ref()
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
        let mut windows = self.window.iter().chain(dial.window).peekable();
        if windows.peek().is_some() {
            let Some(zones) = zones_for(dial.to, dial.zone) else {
                return blocked(DialRule::TimeZone, None);
            };
            if let Some(until) = windows.find_map(|window| window.closed(zones, at)) {
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

/// The zones in which a number's windows count, with commas between: the customer's own if it is known.
pub(crate) fn zones_for<'a>(number: &E164, own: Option<&'a str>) -> Option<&'a str> {
    own.or_else(|| zones_of(number))
}

impl Window {
    pub(crate) fn of(of: DialWindow) -> Self {
        let days = of.holidays.iter();
        Self {
            holidays: days.filter_map(|day| day.parse().ok()).collect(),
            of,
            known: Mutex::default(),
        }
    }

    /// Whether it is closed in any of these zones, and then until all of them are open.
    pub(crate) fn closed(&self, zones: &str, at: Timestamp) -> Closed {
        let mut known = self.known.lock();
        if let Some(closed) = known.get(zones).and_then(|times| times.get(&at)) {
            return *closed;
        }
        let found = self.find_closed(zones, at);
        let times = known.entry(zones.to_owned()).or_default();
        times.insert(at, found);
        found
    }

    fn find_closed(&self, zones: &str, at: Timestamp) -> Closed {
        let closed = |at| closed(zones.split(',').map(|zone| self.in_zone(zone, at)), at);
        let mut until = closed(at)?;
        for _ in 0..LOOKS_AHEAD {
            let Some(next) = until else { break };
            match closed(next) {
                None => return Some(Some(next)),
                Some(later) => until = later.filter(|later| *later > next),
            }
        }
        Some(None)
    }

    /// When it has opened again in all of these zones, even if it is open now.
    pub(crate) fn opens_again(&self, zones: &str, now: Timestamp) -> Option<Timestamp> {
        let next = |zone| {
            let seconds = self.daily().until_next(&TimeZone::get(zone).ok()?, now)?;
            Some(now.plus(Duration::from_secs(seconds)))
        };
        let last = zones.split(',').filter_map(next).max()?;
        self.closed(zones, last).unwrap_or(Some(last))
    }

    fn in_zone(&self, zone: &str, at: Timestamp) -> Hours {
        TimeZone::get(zone).map_or(Hours::Never, |zone| self.daily().in_zone(&zone, at))
    }

    fn daily(&self) -> Daily<'_> {
        Daily {
            days: &self.of.days,
            start: self.of.start,
            end: self.of.end,
            holidays: &self.holidays,
        }
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
        let own = call.window.as_deref().map(CallWindow::from_stored);
        let corrupt = |error| StoreError::Corrupt(format!("a call's window: {error}"));
        let own = own.transpose().map_err(corrupt)?.unwrap_or_default();
        let window = own.window.map(Window::of);
        let dial = Dial {
            to: &call.to,
            has_consent: call.has_consent,
            reserve: call.reserved,
            hours: None,
            is_transfer: false,
            window: window.as_ref(),
            zone: own.time_zone.as_deref(),
        };
        let blocked = rules.judge(&facts, &dial, now);
        if blocked.is_none() {
            count(&mut facts, &call.to, call.reserved, now);
        }
        Ok(blocked.map(|blocked| blocked.rule))
    };
    calls.iter().map(judge).collect()
}

/// Counts a dial that passed, for those after it.
pub(crate) fn count(facts: &mut DialFacts, to: &E164, reserve: Credits, at: Timestamp) {
    facts.attempts.entry(to.clone()).or_default().push(at);
    facts.reserved += reserve;
}
