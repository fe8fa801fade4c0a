//! The period that the overview shows, as edges of its bars, and the period before.

use std::time::Duration;

use offhook_services::Zone;

use crate::parts::agent_choice::AgentChoice;
use crate::prelude::*;

const HOUR: Duration = Duration::from_secs(3_600);

/// The most days of a period that the reader chooses: the overview reads each of its conversations.
const MOST_DAYS: usize = 92;

/// A period of up to so many days is shown by hours.
const DAYS_BY_HOUR: usize = 2;

/// How a period was chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Day,
    Week,
    Month,
    Custom,
}

impl Kind {
    const fn value(self) -> &'static str {
        match self {
            Self::Day => "24h",
            Self::Week => "7d",
            Self::Month => "30d",
            Self::Custom => "custom",
        }
    }
}

/// A period, and the one before that is as long.
#[derive(Debug)]
pub(super) struct Range {
    kind: Kind,
    pub(super) agent: Option<AgentId>,
    /// The begin of each bar, and the end of the last.
    pub(super) edges: Vec<Timestamp>,
    /// The same of the period before; empty if its conversations are no longer kept.
    pub(super) before: Vec<Timestamp>,
    /// Whether a bar is an hour; otherwise it is a day.
    pub(super) by_hour: bool,
    pub(super) zone: Zone,
}

impl Range {
    /// The period that the query asks for, or the last 24 hours and why.
    pub(super) fn of(visitor: &Visitor) -> (Self, Option<&'static str>) {
        let (query, now) = (visitor.query(), visitor.now());
        let zone = visitor.zone();
        let asked = match query.text("range") {
            "7d" => days(zone, now, 7).map(|edges| (Kind::Week, edges)),
            "30d" => days(zone, now, 30).map(|edges| (Kind::Month, edges)),
            "custom" => custom(zone, query.text("from"), query.text("to"))
                .map(|edges| (Kind::Custom, edges)),
            _ => Some((Kind::Day, hours(now))),
        };
        let refused = asked.is_none().then_some(visitor.t(
            "Choose a first and a last day, at most 92 days apart. The last 24 hours are shown.",
            "Elige un primer día y un último día, con 92 días como máximo. Se muestran las últimas 24 horas.",
        ));
        let (kind, edges) = asked.unwrap_or_else(|| (Kind::Day, hours(now)));
        let agent = query.text("agent").parse().ok();
        (Self::new(visitor, kind, agent, edges), refused)
    }

    /// The last 30 days of one agent.
    pub(super) fn month_of(visitor: &Visitor, agent: AgentId) -> Self {
        let edges = days(visitor.zone(), visitor.now(), 30).unwrap_or_default();
        Self::new(visitor, Kind::Month, Some(agent), edges)
    }

    fn new(visitor: &Visitor, kind: Kind, agent: Option<AgentId>, edges: Vec<Timestamp>) -> Self {
        let (zone, now) = (visitor.zone(), visitor.now());
        let by_hour = edges.windows(2).all(|bar| match bar {
            [begin, end] => end.since(*begin) <= HOUR,
            _ => true,
        });
        let mut before = match by_hour {
            true => {
                let length = edges.last().zip(edges.first());
                let length = length.map_or(HOUR, |(end, begin)| end.since(*begin));
                edges.iter().map(|edge| edge.minus(length)).collect()
            }
            false => days_before(zone, &edges).unwrap_or_default(),
        };
        let kept = visitor.caller().terms.retention_days.map(|days| {
            let days = u64::from(days) * 86_400;
            now.minus(Duration::from_secs(days))
        });
        if kept.is_some_and(|kept| before.first().is_some_and(|begin| *begin < kept)) {
            before.clear();
        }
        Self {
            kind,
            agent,
            edges,
            before,
            by_hour,
            zone: zone.clone(),
        }
    }

    /// The filters, which work without script.
    pub(super) fn form(&self, visitor: &Visitor, agents: &AgentChoice) -> Markup {
        let t = visitor.lang();
        let zone = visitor.zone().name();
        let given = |name| visitor.query().text(name);
        html! {
            form.filters method="get" action={ (PATH) "/" } {
                (Select::new("range", t.t("Period", "Periodo"))
                    .option(Kind::Day.value(), t.t("Last 24 hours", "Últimas 24 horas"))
                    .option(Kind::Week.value(), t.t("Last 7 days", "Últimos 7 días"))
                    .option(Kind::Month.value(), t.t("Last 30 days", "Últimos 30 días"))
                    .option(Kind::Custom.value(), t.t("Dates", "Fechas"))
                    .chosen(visitor.query().get("range").unwrap_or(self.kind.value())))
                div.dates {
                    (Input::text("from", &text!(t, "From ({zone})", "Desde ({zone})")).kind("date").value(given("from")))
                    (Input::text("to", &text!(t, "To ({zone})", "Hasta ({zone})")).kind("date").value(given("to")))
                }
                (agents.field(visitor, "agent", t.t("Agent", "Agente"), given("agent"), Some(t.t("All agents", "Todos los agentes"))))
                button type="submit" { (t.t("Show", "Mostrar")) }
            }
        }
    }

    /// The text of the bar that begins here, and its label.
    pub(super) fn named(&self, place: usize, begin: Timestamp) -> (String, String) {
        let (format, short) = match self.by_hour {
            true => ("%Y-%m-%d %H:%M %Z", "%H:%M"),
            false => ("%Y-%m-%d", "%m-%d"),
        };
        // About six labels fit on a phone.
        let every = self.edges.len().saturating_sub(1).div_ceil(6).max(1);
        let label = match place.is_multiple_of(every) {
            true => self.zone.shown(begin, short),
            false => String::new(),
        };
        (self.zone.shown(begin, format), label)
    }
}

/// The last 24 hours, the current one included.
fn hours(now: Timestamp) -> Vec<Timestamp> {
    let hour = 3_600_000_000;
    let next = Timestamp::from_micros((now.micros() / hour + 1) * hour);
    (0..=24)
        .rev()
        .map(|hours| next.minus(HOUR * hours))
        .collect()
}

/// The last days, today included.
fn days(zone: &Zone, now: Timestamp, count: i32) -> Option<Vec<Timestamp>> {
    let edges = (1 - count..=1).map(|day| zone.day_after(now, day));
    edges.collect()
}

/// The days before these, as many.
fn days_before(zone: &Zone, edges: &[Timestamp]) -> Option<Vec<Timestamp>> {
    let count = i32::try_from(edges.len()).ok()? - 1;
    let begin = *edges.first()?;
    (-count..=0).map(|day| zone.day_after(begin, day)).collect()
}

/// The days from the first to the last, by hours if they are few.
fn custom(zone: &Zone, from: &str, to: &str) -> Option<Vec<Timestamp>> {
    let ((first, _), (last, end)) = (zone.day(from)?, zone.day(to)?);
    let mut edges = vec![first];
    for day in 1..=i32::try_from(MOST_DAYS).ok()? {
        let next = zone.day_after(first, day)?;
        edges.push(next);
        if next > last {
            break;
        }
    }
    let end = Timestamp::from_micros(end.micros() + 1);
    if first > last || edges.last() != Some(&end) {
        return None;
    }
    if edges.len() > DAYS_BY_HOUR + 1 {
        return Some(edges);
    }
    let count = u32::try_from(end.since(first).as_secs().div_ceil(3_600)).ok()?;
    Some(
        (0..=count)
            .map(|hour| first.plus(HOUR * hour).min(end))
            .collect(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_period_is_of_whole_days_where_the_account_is() {
        let zone = Zone::named("America/New_York").expect("a zone");
        let at = |text| Timestamp::parse_from(text).expect("a time");
        // Clocks went forward on March 8.
        let days = days(&zone, at("2026-03-09T03:59:00Z"), 2).expect("days");
        let edges = [
            "2026-03-07T05:00:00Z",
            "2026-03-08T05:00:00Z",
            "2026-03-09T04:00:00Z",
        ];
        assert_eq!(days, edges.map(at));
        assert_eq!(
            days_before(&zone, &days).expect("days")[0],
            at("2026-03-05T05:00:00Z")
        );
        assert_eq!(
            custom(&zone, "2026-03-08", "2026-03-08").map(|hours| hours.len()),
            Some(24)
        );
        assert_eq!(
            custom(&zone, "2026-03-01", "2026-03-31").map(|days| days.len()),
            Some(32)
        );
        for (from, to) in [
            ("2026-03-02", "2026-03-01"),
            ("2026-01-01", "2026-12-31"),
            ("", "2026-03-01"),
        ] {
            assert_eq!(custom(&zone, from, to), None, "{from} {to}");
        }
    }

    #[test]
    fn a_day_ends_with_the_current_hour() {
        let now = Timestamp::parse_from("2026-11-21T14:41:00Z").expect("a time");
        let hours = hours(now);
        assert_eq!(hours.len(), 25);
        assert_eq!(hours[24].to_string(), "2026-11-21T15:00:00.000Z");
    }
}
