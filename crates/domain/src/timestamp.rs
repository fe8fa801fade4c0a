//! Instants and the clock.

use std::fmt;
use std::time::Duration;

use serde::{Serialize, Serializer};
use time::format_description::well_known::Iso8601;
use time::macros::format_description;
use time::{Date, OffsetDateTime, PrimitiveDateTime, Time, UtcOffset};

use crate::messages;

const MICROS_PER_DAY: i64 = 86_400_000_000;

/// An instant in UTC with microseconds, formatted with milliseconds: `2026-04-30T18:32:11.123Z`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Timestamp(i64);

messages! {
/// The text is no instant of the years 0001 to 9999.
#[derive(Copy)]
pub enum TimestampError {
    Form => "must be an ISO 8601 date or datetime, such as 2026-04-30 or 2026-04-30T18:32:11Z",
        "debe ser una fecha o fecha y hora ISO 8601, como 2026-04-30 o 2026-04-30T18:32:11Z";
    /// ISO 8601 has withdrawn it, and readers interpret it differently.
    HourTwentyFour => "must not name hour 24: a day ends at 00:00 of the next one",
        "no puede tener la hora 24: un día termina a las 00:00 del siguiente";
}}

/// The source of the current time, for everything that a customer reads; tests set it manually.
pub trait Clock: Send + Sync + 'static {
    /// Returns the current time.
    fn now(&self) -> Timestamp;

    /// Returns the current time for this process's own waits: it starts as [`now`](Self::now), and does not jump when
    /// the system clock is stepped.
    fn steady(&self) -> Timestamp {
        self.now()
    }

    /// Sets the time to `shared`, which the clock shared by several processes had when the machine's steady clock read
    /// `at`. A clock that is not shared ignores this.
    fn follow(&self, _shared: Timestamp, _at: Timestamp) {}
}

impl Timestamp {
    /// Creates an instant from microseconds since 1970-01-01T00:00:00Z.
    #[must_use]
    pub const fn from_micros(micros: i64) -> Self {
        Self(micros)
    }

    /// Returns the microseconds since 1970-01-01T00:00:00Z.
    #[must_use]
    pub const fn micros(self) -> i64 {
        self.0
    }

    /// Returns the whole milliseconds since 1970-01-01T00:00:00Z, rounded down.
    #[must_use]
    pub const fn unix_millis(self) -> i64 {
        self.0.div_euclid(1_000)
    }

    /// Returns the whole seconds since 1970-01-01T00:00:00Z, rounded down.
    #[must_use]
    pub const fn unix_seconds(self) -> i64 {
        self.0.div_euclid(1_000_000)
    }

    /// Returns this instant plus `duration`, at most the last representable one.
    #[must_use]
    pub fn plus(self, duration: Duration) -> Self {
        Self(
            self.0
                .saturating_add(i64::try_from(duration.as_micros()).unwrap_or(i64::MAX)),
        )
    }

    /// Returns this instant minus `duration`.
    #[must_use]
    pub fn minus(self, duration: Duration) -> Self {
        Self(
            self.0
                .saturating_sub(i64::try_from(duration.as_micros()).unwrap_or(i64::MAX)),
        )
    }

    /// Returns the time from `earlier` to this instant; zero if `earlier` is later.
    #[must_use]
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_micros(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }

    /// Returns the seconds from `earlier` to this instant, rounded up; zero if `earlier` is later.
    #[must_use]
    pub fn started_seconds_since(self, earlier: Self) -> i64 {
        let seconds = self.since(earlier).as_micros().div_ceil(1_000_000);
        i64::try_from(seconds).unwrap_or(i64::MAX)
    }

    /// Returns the calendar month in UTC as `year * 12 + month - 1`, which monthly budgets use.
    #[must_use]
    pub fn utc_month(self) -> i32 {
        self.offset_date_time()
            .map_or(0, |t| t.year() * 12 + i32::from(u8::from(t.month())) - 1)
    }

    /// Returns the first instant of a month numbered like [`utc_month`](Self::utc_month).
    #[must_use]
    pub fn of_utc_month(month: i32) -> Self {
        let of_year = u8::try_from(month.rem_euclid(12) + 1).unwrap_or(1);
        let first = time::Month::try_from(of_year)
            .and_then(|of_year| Date::from_calendar_date(month.div_euclid(12), of_year, 1));
        first.map_or(Self(0), |date| {
            Self(date.midnight().assume_utc().unix_timestamp() * 1_000_000)
        })
    }

    /// Returns the day in UTC, counted from 1970-01-01.
    #[must_use]
    pub fn utc_day(self) -> i32 {
        i32::try_from(self.0.div_euclid(MICROS_PER_DAY)).unwrap_or(i32::MAX)
    }

    /// Returns the first instant of a day numbered like [`utc_day`](Self::utc_day).
    #[must_use]
    pub fn of_utc_day(day: i32) -> Self {
        Self(i64::from(day) * MICROS_PER_DAY)
    }

    /// Returns the date in UTC, such as `2026-04-30`.
    #[must_use]
    pub fn utc_date(self) -> String {
        self.to_string().chars().take(10).collect()
    }

    /// Parses a client's lower bound: a bare date is the day's first instant. Returns [`TimestampError`] for anything
    /// but an ISO 8601 date or datetime; `T` and `Z` may be in lower case (RFC 3339).
    pub fn parse_from(text: &str) -> Result<Self, TimestampError> {
        Ok(parse(text)?.0)
    }

    /// Parses a client's upper bound: a bare date is the day's last instant, and a datetime includes its whole
    /// millisecond. Returns [`TimestampError`] for anything but an ISO 8601 date or datetime; `T` and `Z` may be in
    /// lower case (RFC 3339).
    pub fn parse_to(text: &str) -> Result<Self, TimestampError> {
        let (Self(first), bare_date) = parse(text)?;
        Ok(Self(if bare_date {
            first + (MICROS_PER_DAY - 1)
        } else {
            first.div_euclid(1_000) * 1_000 + 999
        }))
    }

    fn offset_date_time(self) -> Option<OffsetDateTime> {
        OffsetDateTime::from_unix_timestamp_nanos(i128::from(self.0) * 1_000).ok()
    }
}

/// Returns the instant and whether the text is a bare date.
fn parse(text: &str) -> Result<(Timestamp, bool), TimestampError> {
    if !text.is_ascii() || text.len() > 40 {
        return Err(TimestampError::Form);
    }
    let text = &text.replace('t', "T").replace('z', "Z");
    let (moment, bare) = if let Ok(moment) = OffsetDateTime::parse(text, &Iso8601::PARSING) {
        (moment, false)
    } else if let Ok(moment) = PrimitiveDateTime::parse(text, &Iso8601::PARSING) {
        (moment.assume_utc(), false)
    } else if let Some((_, time)) = text.split_once('T') {
        // The date parser would ignore an invalid time after a `T`, such as 12:30:60.
        return Err(if time.starts_with("24") {
            TimestampError::HourTwentyFour
        } else {
            TimestampError::Form
        });
    } else if let Ok(date) = Date::parse(text, &Iso8601::PARSING) {
        (date.with_time(Time::MIDNIGHT).assume_utc(), true)
    } else {
        return Err(TimestampError::Form);
    };
    // The year is checked in UTC, because the timestamp is printed in UTC: the last hours of 9999 in western zones
    // belong to the next year.
    let moment = moment.checked_to_offset(UtcOffset::UTC);
    let moment = moment.filter(|moment| (1..=9999).contains(&moment.year()));
    let moment = moment.ok_or(TimestampError::Form)?;
    let micros = moment.unix_timestamp_nanos().div_euclid(1_000);
    i64::try_from(micros)
        .map(|micros| (Timestamp(micros), bare))
        .map_err(|_| TimestampError::Form)
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let format = format_description!(
            "[year]-[month]-[day]T[hour]:[minute]:[second].[subsecond digits:3]Z"
        );
        let text = self
            .offset_date_time()
            .and_then(|moment| moment.format(&format).ok());
        f.write_str(text.as_deref().ok_or(fmt::Error)?)
    }
}

impl fmt::Debug for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Timestamp({})", self.0)
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn from(text: &str) -> String {
        Timestamp::parse_from(text).unwrap().to_string()
    }

    #[test]
    fn an_instant_prints_milliseconds_and_keeps_microseconds() {
        let at = Timestamp::parse_from("2026-04-30T18:32:11.123456Z").unwrap();
        assert_eq!(at.to_string(), "2026-04-30T18:32:11.123Z");
        assert_eq!(at.micros() % 1_000, 456);
    }

    #[test]
    fn a_datetime_without_offset_is_utc_and_an_offset_is_applied() {
        assert_eq!(from("2026-04-30T18:32:11"), "2026-04-30T18:32:11.000Z");
        assert_eq!(
            from("2026-04-30T18:32:11-06:00"),
            "2026-05-01T00:32:11.000Z"
        );
    }

    #[test]
    fn a_bare_date_is_the_first_instant_in_from_and_the_last_in_to() {
        assert_eq!(from("2026-04-30"), "2026-04-30T00:00:00.000Z");
        let to = Timestamp::parse_to("2026-04-30").unwrap();
        assert_eq!(to.to_string(), "2026-04-30T23:59:59.999Z");
        assert_eq!(to.micros() % 1_000_000, 999_999);
    }

    #[test]
    fn to_covers_the_whole_millisecond_that_it_names() {
        let to = Timestamp::parse_to("2026-04-30T18:32:11.123Z").unwrap();
        assert_eq!(to.micros() % 1_000_000, 123_999);
    }

    #[test]
    fn a_second_that_has_begun_counts_whole() {
        let at = Timestamp::from_micros;
        for (from, to, seconds) in [
            (0, 0, 0),
            (0, 1, 1),
            (5, 1_000_005, 1),
            (5, 1_000_006, 2),
            (9, 0, 0),
        ] {
            assert_eq!(
                at(to).started_seconds_since(at(from)),
                seconds,
                "{from} {to}"
            );
        }
    }

    #[test]
    fn months_and_days_are_numbered_and_begin_at_midnight() {
        for text in ["1969-12-31", "1970-01-01", "2024-02-29", "2026-12-31"] {
            let at = Timestamp::parse_to(text).unwrap();
            let month = Timestamp::of_utc_month(at.utc_month());
            assert_eq!(month.utc_date(), format!("{}-01", &text[..7]));
            assert!(Timestamp::of_utc_month(at.utc_month() + 1) > at);
            assert_eq!(Timestamp::of_utc_day(at.utc_day()).utc_date(), text);
        }
    }

    #[test]
    fn other_texts_are_refused() {
        for text in [
            "",
            "yesterday",
            "2026-13-01",
            "2026-04-31",
            "1714501931",
            "2026-04-30T25:00:00Z",
            "+12026-01-01",
            "today",
            "2026-04-30x18:32:11",
            "99991231T20-04",
            "9999-12-31T23:59:59-00:01",
            "0001-01-01T00:00:00+00:01",
            "0000-12-31T23:59:59",
        ] {
            let refused = Err(TimestampError::Form);
            assert_eq!(Timestamp::parse_from(text), refused, "{text}");
        }
    }

    #[test]
    fn the_first_and_the_last_instant_are_those_of_the_years_1_and_9999_in_utc() {
        assert_eq!(
            from("9999-12-31T19:59:59.999-04:00"),
            "9999-12-31T23:59:59.999Z"
        );
        assert_eq!(
            from("0001-01-01T04:00:00+04:00"),
            "0001-01-01T00:00:00.000Z"
        );
    }

    #[test]
    fn small_letters_are_those_of_rfc_3339() {
        for text in [
            "2026-04-30t18:32:11.123z",
            "2026-04-30t18:32:11.123Z",
            "2026-04-30t12:32:11.123-06:00",
        ] {
            assert_eq!(from(text), "2026-04-30T18:32:11.123Z", "{text}");
        }
    }

    #[test]
    fn hour_24_is_refused_by_name() {
        for text in ["2026-04-30T24:00", "2026-04-30t24:00:00z", "20260430T24"] {
            let refused = Err(TimestampError::HourTwentyFour);
            assert_eq!(Timestamp::parse_to(text), refused, "{text}");
        }
    }
}
