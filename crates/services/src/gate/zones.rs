//! The time zones of a phone number, by its prefix.

use std::sync::LazyLock;

use offhook_domain::E164;

/// `zone,zone prefix prefix …` per line; what `scripts/zones` writes.
const DATA: &str = include_str!("zones.txt");

/// Prefixes without `+` and their zones, sorted by prefix.
static PREFIXES: LazyLock<Vec<(&str, &str)>> = LazyLock::new(|| {
    let lines = DATA.lines().filter(|line| !line.starts_with('#'));
    let pairs = lines.flat_map(|line| {
        let mut words = line.split(' ');
        let zones = words.next().unwrap_or_default();
        words.map(move |prefix| (prefix, zones))
    });
    let mut pairs: Vec<_> = pairs.collect();
    pairs.sort_unstable();
    pairs
});

/// The IANA names of the zones that a number may be in, with commas between them, by its longest known prefix; `None` if
/// no prefix is known. Numbers with the same zones share the text.
pub(crate) fn zones_of(number: &E164) -> Option<&'static str> {
    let digits = &number.as_str()[1..];
    let known = |length: usize| {
        let prefix = digits.get(..length)?;
        let at = PREFIXES.binary_search_by_key(&prefix, |(prefix, _)| prefix);
        Some(PREFIXES.get(at.ok()?)?.1)
    };
    (1..=digits.len()).rev().find_map(known)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use jiff::Timestamp as Moment;
    use jiff::tz::TimeZone;
    use offhook_domain::Timestamp;

    use super::*;
    use crate::calls::{Daily, Hours};

    fn zones(number: &str) -> Vec<&'static str> {
        let zones = zones_of(&number.parse().unwrap());
        zones
            .into_iter()
            .flat_map(|zones| zones.split(','))
            .collect()
    }

    #[test]
    fn the_longest_prefix_counts() {
        assert_eq!(zones("+12125550100"), ["America/New_York"]);
        assert_eq!(zones("+526641234567"), ["America/Tijuana"]);
        assert_eq!(zones("+4930123456"), ["Europe/Berlin"]);
        assert!(zones("+18005550100").len() > 20);
        assert!(zones("+9990000000").is_empty());
    }

    #[test]
    fn a_window_is_open_by_the_clock_on_the_wall_at_every_change_of_clocks_of_a_decade() {
        let names: BTreeSet<&str> = PREFIXES
            .iter()
            .flat_map(|(_, zones)| zones.split(','))
            .collect();
        let (from, to): (Moment, Moment) = (
            "2026-01-01T00:00:00Z".parse().unwrap(),
            "2036-01-01T00:00:00Z".parse().unwrap(),
        );
        let (mut changes, mut looks) = (0, 0);
        for (start, end) in [("09:00", "20:00"), ("00:00", "12:00"), ("20:00", "00:00")] {
            let daily = Daily {
                days: &[1, 2, 3, 4, 5, 6, 7],
                start: start.parse().unwrap(),
                end: end.parse().unwrap(),
                holidays: &[],
            };
            let (opens, closes) = (daily.start.minutes(), daily.end.minutes());
            for name in &names {
                let zone = TimeZone::get(name).unwrap();
                let edges: Vec<Moment> = zone
                    .following(from)
                    .map(|edge| edge.timestamp())
                    .take_while(|edge| *edge < to)
                    .collect();
                changes += edges.len();
                for (edge, minutes) in edges.iter().flat_map(|edge| {
                    (-1_560..1_560)
                        .step_by(97)
                        .map(move |minutes| (*edge, minutes))
                }) {
                    let at = edge + jiff::Span::new().minutes(minutes);
                    let wall = at.to_zoned(zone.clone());
                    let minute = u16::try_from(wall.hour()).unwrap() * 60
                        + u16::try_from(wall.minute()).unwrap();
                    let is_open = opens <= minute && (minute < closes || closes == 0);
                    let judged = daily.in_zone(&zone, Timestamp::from_micros(at.as_microsecond()));
                    assert_eq!(judged == Hours::Open, is_open, "{start} to {end}, {wall}");
                    if let Hours::ClosedFor(seconds) = judged {
                        let then =
                            at + jiff::SignedDuration::from_secs(i64::try_from(seconds).unwrap());
                        let then = Timestamp::from_micros(then.as_microsecond());
                        assert_eq!(
                            daily.in_zone(&zone, then),
                            Hours::Open,
                            "{start} to {end}, {wall}"
                        );
                    }
                    looks += 1;
                }
            }
        }
        assert!(changes > 1_000 && looks > 50_000, "{changes} {looks}");
    }

    #[test]
    fn every_zone_is_one_that_this_service_knows() {
        for (prefix, zones) in &*PREFIXES {
            for zone in zones.split(',') {
                assert!(TimeZone::get(zone).is_ok(), "{prefix}: {zone}");
            }
        }
    }
}
