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

/// The IANA names of the zones that a number may be in, by its longest known prefix; none if no prefix is known.
pub(crate) fn zones_of(number: &E164) -> impl Iterator<Item = &'static str> {
    let digits = &number.as_str()[1..];
    let known = |length: usize| {
        let prefix = digits.get(..length)?;
        let at = PREFIXES.binary_search_by_key(&prefix, |(prefix, _)| prefix);
        Some(PREFIXES.get(at.ok()?)?.1)
    };
    let zones = (1..=digits.len()).rev().find_map(known);
    zones.into_iter().flat_map(|zones| zones.split(','))
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::tz::TimeZone;

    fn zones(number: &str) -> Vec<&'static str> {
        zones_of(&number.parse().unwrap()).collect()
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
    fn every_zone_is_one_that_this_service_knows() {
        for (prefix, zones) in &*PREFIXES {
            for zone in zones.split(',') {
                assert!(TimeZone::get(zone).is_ok(), "{prefix}: {zone}");
            }
        }
    }
}
