//! Hours in which calls may be placed, in a time zone.

use jiff::civil::{Date, Weekday};
use jiff::tz::TimeZone;
use jiff::{Span, Timestamp as Moment, ToSpan};
use offhook_domain::Timestamp;
use offhook_domain::config::{CallingHours, TimeOfDay};

/// Whether a call may be placed now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hours {
    Open,
    /// Closed for this many seconds.
    ClosedFor(u64),
    /// No day of the week opens.
    Never,
}

/// Hours of the day on days of the week. A range whose end is before its start crosses midnight and belongs to the day it
/// begins on. A range whose end is its start lasts the whole day.
#[derive(Clone, Copy)]
pub(crate) struct Daily<'a> {
    /// 1 = Monday to 7.
    pub(crate) days: &'a [u8],
    pub(crate) start: TimeOfDay,
    pub(crate) end: TimeOfDay,
    /// Days that do not open.
    pub(crate) holidays: &'a [Date],
}

/// Whether `hours` are open at `now`.
pub(crate) fn opening(hours: &CallingHours, now: Timestamp) -> Hours {
    let daily = Daily {
        days: &hours.days,
        start: hours.start,
        end: hours.end,
        holidays: &[],
    };
    TimeZone::get(&hours.timezone).map_or(Hours::Never, |zone| daily.in_zone(&zone, now))
}

impl Daily<'_> {
    /// Whether they are open in this zone at `now`.
    pub(crate) fn in_zone(self, zone: &TimeZone, now: Timestamp) -> Hours {
        self.judged(zone, now, true)
    }

    /// How long until they open in this zone, whether or not they are open.
    pub(crate) fn until_next(self, zone: &TimeZone, now: Timestamp) -> Option<u64> {
        match self.judged(zone, now, false) {
            Hours::ClosedFor(seconds) => Some(seconds),
            Hours::Open | Hours::Never => None,
        }
    }

    fn judged(self, zone: &TimeZone, now: Timestamp, counts_open: bool) -> Hours {
        let Ok(now) = Moment::from_microsecond(now.micros()) else {
            return Hours::Never;
        };
        let today = now.to_zoned(zone.clone()).date();
        let (start, end) = (self.start.minutes(), self.end.minutes());
        // Yesterday's range may still be open; a week ahead covers every weekday, and another one each holiday.
        let days = 8 + i64::try_from(7 * self.holidays.len()).unwrap_or(0);
        for ahead in -1..=days {
            let Ok(day) = today.checked_add(Span::new().days(ahead)) else {
                continue;
            };
            if !self.days.contains(&iso_number(day.weekday())) || self.holidays.contains(&day) {
                continue;
            }
            let end_day = if end <= start {
                day.checked_add(1.day()).unwrap_or(day)
            } else {
                day
            };
            let (Some(opens), Some(closes)) =
                (instant(zone, day, start), instant(zone, end_day, end))
            else {
                continue;
            };
            if counts_open && opens <= now && now < closes {
                return Hours::Open;
            }
            if opens > now {
                let micros = opens.as_microsecond() - now.as_microsecond();
                let seconds = u64::try_from(micros).unwrap_or(0).div_ceil(1_000_000);
                return Hours::ClosedFor(seconds.max(1));
            }
        }
        Hours::Never
    }
}

fn iso_number(day: Weekday) -> u8 {
    u8::try_from(day.to_monday_one_offset()).unwrap_or(1)
}

fn instant(zone: &TimeZone, day: Date, minutes: u16) -> Option<Moment> {
    let (hour, minute) = (
        i8::try_from(minutes / 60).ok()?,
        i8::try_from(minutes % 60).ok()?,
    );
    // For a local time that a clock change skips or repeats, the zone's rules decide.
    zone.to_ambiguous_zoned(day.at(hour, minute, 0, 0))
        .compatible()
        .ok()
        .map(|z| z.timestamp())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hours(days: &[u8], start: &str, end: &str) -> CallingHours {
        CallingHours {
            timezone: "America/Mexico_City".to_owned(),
            days: days.to_vec(),
            start: start.parse().unwrap(),
            end: end.parse().unwrap(),
        }
    }

    fn at(text: &str) -> Timestamp {
        Timestamp::parse_from(text).unwrap()
    }

    #[test]
    fn hours_are_judged_in_the_agents_time_zone() {
        // 2026-04-30 is a Thursday; Mexico City is six hours behind UTC.
        let weekdays = hours(&[1, 2, 3, 4, 5], "09:00", "18:00");
        assert_eq!(opening(&weekdays, at("2026-04-30T15:00:00Z")), Hours::Open);
        assert_eq!(
            opening(&weekdays, at("2026-04-30T14:59:59Z")),
            Hours::ClosedFor(1)
        );
        assert_eq!(opening(&weekdays, at("2026-04-30T23:59:59Z")), Hours::Open);
        assert_eq!(
            opening(&weekdays, at("2026-05-01T00:00:00Z")),
            Hours::ClosedFor(15 * 3_600)
        );
        // Friday evening to Monday morning.
        assert_eq!(
            opening(&weekdays, at("2026-05-02T00:00:00Z")),
            Hours::ClosedFor(63 * 3_600)
        );
    }

    #[test]
    fn a_range_that_ends_before_it_starts_crosses_midnight() {
        let night = hours(&[4], "22:00", "02:00");
        assert_eq!(opening(&night, at("2026-05-01T07:59:59Z")), Hours::Open);
        assert_eq!(
            opening(&night, at("2026-05-01T08:00:00Z")),
            Hours::ClosedFor((7 * 24 - 4) * 3_600)
        );
    }

    #[test]
    fn the_same_start_and_end_is_the_whole_day_and_no_day_is_never() {
        assert_eq!(
            opening(&hours(&[4], "00:00", "00:00"), at("2026-04-30T20:00:00Z")),
            Hours::Open
        );
        assert_eq!(
            opening(&hours(&[], "09:00", "18:00"), at("2026-04-30T15:00:00Z")),
            Hours::Never
        );
    }
}
