//! Times of appointments: those that models name, and the free ones between busy ones.

use jiff::civil::{Date, DateTime, Time};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, ToSpan as _, Zoned};

use super::api::{Result, message};

/// The note for a time that this conversation has already booked. The model needs it if the second booking was for
/// another person.
pub(super) const BOOKED_BEFORE: &str = "This time was booked earlier in this conversation: nothing new was made, and nobody else was invited.";

/// Free times in an answer at most.
pub(super) const MAX_SLOTS: usize = 20;

/// The search for free times.
pub(super) struct SlotSearch {
    pub(super) date: Date,
    /// The number of days.
    pub(super) days: i64,
    /// The start of each day's window.
    pub(super) from: Time,
    /// The end of each day's window.
    pub(super) to: Time,
    /// The duration of a slot.
    pub(super) length: SignedDuration,
}

impl SlotSearch {
    /// The window of each day, as instants; a day without a valid window is left out.
    pub(super) fn windows(&self, zone: &TimeZone) -> Vec<(Zoned, Zoned)> {
        let mut windows = Vec::new();
        for day in 0..self.days {
            let Ok(date) = self.date.checked_add(day.days()) else {
                break;
            };
            let at = |time| zone.to_zoned(date.to_datetime(time)).ok();
            if let Some((from, to)) = at(self.from).zip(at(self.to))
                && from < to
            {
                windows.push((from, to));
            }
        }
        windows
    }

    /// The first free times of the windows from `now` on, and whether there are more. They begin at steps from the
    /// start of the window: half an hour, or a quarter for shorter slots.
    pub(super) fn free(
        &self,
        windows: &[(Zoned, Zoned)],
        busy: &[(Timestamp, Timestamp)],
        now: Timestamp,
    ) -> (Vec<Zoned>, bool) {
        let half_an_hour = SignedDuration::from_mins(30);
        let step = match self.length < half_an_hour {
            true => SignedDuration::from_mins(15),
            false => half_an_hour,
        };
        let mut free = Vec::new();
        for (from, to) in windows {
            let mut start = from.clone();
            while let Ok(end) = start.timestamp().checked_add(self.length)
                && end <= to.timestamp()
            {
                let begins = start.timestamp();
                let is_taken = |(from, to): &(Timestamp, Timestamp)| *from < end && begins < *to;
                if begins >= now && !busy.iter().any(is_taken) {
                    if free.len() == MAX_SLOTS {
                        return (free, true);
                    }
                    free.push(start.clone());
                }
                let Ok(next) = start.checked_add(step) else {
                    break;
                };
                start = next;
            }
        }
        (free, false)
    }
}

/// The current time.
pub(super) fn moment(now: offhook_domain::Timestamp) -> Timestamp {
    Timestamp::from_microsecond(now.micros()).unwrap_or(Timestamp::UNIX_EPOCH)
}

pub(super) fn zone_of(name: &str) -> Result<TimeZone> {
    TimeZone::get(name).map_err(|_| {
        message("There is no such time zone: give an IANA name such as America/Mexico_City.")
    })
}

/// The future start of an appointment: a time with an offset, or a local time of the zone. An ambiguous local time
/// means the first one; a skipped one moves an hour later.
pub(super) fn start_of(text: &str, zone: &TimeZone, now: Timestamp) -> Result<Zoned> {
    let instant = text.parse::<Timestamp>();
    let start = match instant {
        Ok(instant) => Some(instant.to_zoned(zone.clone())),
        Err(_) => text
            .parse::<DateTime>()
            .ok()
            .and_then(|local| zone.to_zoned(local).ok()),
    };
    let start = start.ok_or_else(|| message("`start` is no time: give it as 2026-12-01T09:00."))?;
    if start.timestamp() <= now {
        return Err(message("`start` is in the past: nothing was booked."));
    }
    Ok(start)
}

/// Formats an instant with its offset, to the second: `2026-12-01T09:00:00-06:00`.
pub(super) fn rfc3339(at: &Zoned) -> String {
    at.timestamp().display_with_offset(at.offset()).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn search(date: &str, days: i64, from: &str, to: &str, minutes: i64) -> SlotSearch {
        SlotSearch {
            date: date.parse().unwrap(),
            days,
            from: from.parse().unwrap(),
            to: to.parse().unwrap(),
            length: SignedDuration::from_mins(minutes),
        }
    }

    fn found(
        search: &SlotSearch,
        zone: &str,
        busy: &[(&str, &str)],
        now: &str,
    ) -> (Vec<String>, bool) {
        let zone = TimeZone::get(zone).unwrap();
        let at = |text: &str| text.parse::<Timestamp>().unwrap();
        let busy: Vec<_> = busy.iter().map(|(from, to)| (at(from), at(to))).collect();
        let (free, more) = search.free(&search.windows(&zone), &busy, at(now));
        (free.iter().map(rfc3339).collect(), more)
    }

    #[test]
    fn free_times_are_between_the_busy_ones_and_not_in_the_past() {
        let search = search("2026-12-01", 1, "09:00", "12:00", 60);
        let busy = [("2026-12-01T15:30:00Z", "2026-12-01T16:00:00Z")];
        let (free, more) = found(
            &search,
            "America/Mexico_City",
            &busy,
            "2026-11-01T00:00:00Z",
        );
        assert_eq!(
            free,
            [
                "2026-12-01T10:00:00-06:00",
                "2026-12-01T10:30:00-06:00",
                "2026-12-01T11:00:00-06:00"
            ]
        );
        assert!(!more);
        let (free, _) = found(
            &search,
            "America/Mexico_City",
            &busy,
            "2026-12-01T16:31:00Z",
        );
        assert_eq!(free, ["2026-12-01T11:00:00-06:00"]);
    }

    #[test]
    fn a_day_on_which_the_clocks_change_has_its_own_offsets() {
        let search = search("2026-10-25", 2, "01:00", "04:00", 60);
        let (free, _) = found(&search, "Europe/Madrid", &[], "2026-10-01T00:00:00Z");
        // 02:30 occurs twice on the 25th.
        assert_eq!(free.first().unwrap(), "2026-10-25T01:00:00+02:00");
        assert!(
            free.contains(&"2026-10-25T02:30:00+02:00".to_owned()),
            "{free:?}"
        );
        assert!(
            free.contains(&"2026-10-25T02:30:00+01:00".to_owned()),
            "{free:?}"
        );
        assert!(
            free.contains(&"2026-10-26T03:00:00+01:00".to_owned()),
            "{free:?}"
        );
    }

    #[test]
    fn at_most_twenty_slots_are_listed() {
        let search = search("2026-12-01", 7, "09:00", "18:00", 15);
        let (free, more) = found(&search, "UTC", &[], "2026-11-01T00:00:00Z");
        assert_eq!((free.len(), more), (MAX_SLOTS, true));
        let none = found(&search, "UTC", &[], "2027-01-01T00:00:00Z");
        assert_eq!(none, (Vec::new(), false));
    }
}
