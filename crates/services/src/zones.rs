//! Time zones by their IANA names, from the compiled-in database.

use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use jiff::{Timestamp as Moment, ToSpan as _};
use offhook_domain::Timestamp;

/// A time zone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Zone(TimeZone);

impl Default for Zone {
    fn default() -> Self {
        Self(TimeZone::UTC)
    }
}

impl Zone {
    /// The names that [`Zone::named`] knows, sorted: `UTC` and those of places, such as `America/New_York`.
    pub fn names() -> Vec<String> {
        let regions = [
            "Africa/",
            "America/",
            "Antarctica/",
            "Arctic/",
            "Asia/",
            "Atlantic/",
            "Australia/",
            "Europe/",
            "Indian/",
            "Pacific/",
        ];
        let all = jiff::tz::db().available();
        let mut names: Vec<String> = all
            .map(|name| name.to_string())
            .filter(|name| name == "UTC" || regions.iter().any(|region| name.starts_with(region)))
            .collect();
        names.sort_unstable();
        names
    }

    /// The zone of this name, spelled as in [`Zone::names`].
    pub fn named(name: &str) -> Option<Self> {
        let is_known = Self::names().iter().any(|known| known == name);
        is_known.then(|| Self::stored(name))
    }

    /// The zone of a name that was checked when it was stored.
    pub(crate) fn stored(name: &str) -> Self {
        TimeZone::get(name).map_or_else(|_| Self::default(), Self)
    }

    pub fn name(&self) -> &str {
        self.0.iana_name().unwrap_or("UTC")
    }

    /// An instant by a `strftime` format: `%Y-%m-%d %H:%M %Z`.
    pub fn shown(&self, at: Timestamp, format: &str) -> String {
        let moment = Moment::from_microsecond(at.micros()).unwrap_or_default();
        moment.to_zoned(self.0.clone()).strftime(format).to_string()
    }

    /// The first and the last instant of a day such as `2026-11-21`.
    pub fn day(&self, day: &str) -> Option<(Timestamp, Timestamp)> {
        let day: Date = day.parse().ok()?;
        let next = self.begin(day.tomorrow().ok()?)?;
        Some((self.begin(day)?, Timestamp::from_micros(next.micros() - 1)))
    }

    /// The first instant of the day that is `days` after the day of `at`.
    pub fn day_after(&self, at: Timestamp, days: i32) -> Option<Timestamp> {
        let moment = Moment::from_microsecond(at.micros()).ok()?;
        let today = moment.to_zoned(self.0.clone()).date();
        self.begin(today.checked_add(days.days()).ok()?)
    }

    /// The instant at which clocks show `local`, such as `2026-11-21T14:41`; the earlier one where they show it twice.
    pub fn instant(&self, local: &str) -> Option<Timestamp> {
        let local: DateTime = local.parse().ok()?;
        let zoned = local.to_zoned(self.0.clone()).ok()?;
        Some(Timestamp::from_micros(zoned.timestamp().as_microsecond()))
    }

    fn begin(&self, day: Date) -> Option<Timestamp> {
        let zoned = day.to_zoned(self.0.clone()).ok()?;
        Some(Timestamp::from_micros(zoned.timestamp().as_microsecond()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_is_as_long_as_the_zone_makes_it() {
        let madrid = Zone::named("Europe/Madrid").unwrap();
        let hours = |day| {
            let (first, last) = madrid.day(day).unwrap();
            (last.since(first).as_secs() + 1) / 3_600
        };
        assert_eq!(
            (
                hours("2026-03-29"),
                hours("2026-03-30"),
                hours("2026-10-25")
            ),
            (23, 24, 25)
        );
        let (first, _) = madrid.day("2026-03-30").unwrap();
        assert_eq!(
            madrid.shown(first, "%Y-%m-%d %H:%M %Z"),
            "2026-03-30 00:00 CEST"
        );
        assert_eq!(first.to_string(), "2026-03-29T22:00:00.000Z");
        assert_eq!(
            madrid.day_after(first, -1),
            madrid.day("2026-03-29").map(|(first, _)| first)
        );
        assert_eq!(madrid.instant("2026-03-30T00:00"), Some(first));
    }

    #[test]
    fn the_zones_of_customers_are_known_and_others_are_not() {
        for name in [
            "UTC",
            "America/New_York",
            "America/Mexico_City",
            "Europe/London",
            "Europe/Madrid",
        ] {
            assert_eq!(Zone::named(name).unwrap().name(), name);
        }
        for name in [
            "",
            "america/new_york",
            "Mexico_City",
            "EST5EDT",
            "../etc/passwd",
        ] {
            assert_eq!(Zone::named(name), None, "{name}");
        }
    }
}
