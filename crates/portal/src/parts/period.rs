//! The period that a list shows: two days in the account's time zone.

use super::form::Input;
use crate::prelude::*;

/// The first and the last instant of the period.
type Period = (Option<Timestamp>, Option<Timestamp>);

/// The fields `from` and `to` of a list's filters, with their current values.
pub(crate) fn fields(visitor: &Visitor) -> Markup {
    let t = visitor.lang();
    let given = |name| visitor.query().text(name);
    let zone = visitor.zone().name();
    html! {
        (Input::text("from", &text!(t, "From ({zone})", "Desde ({zone})")).kind("date").value(given("from")))
        (Input::text("to", &text!(t, "To ({zone})", "Hasta ({zone})")).kind("date").value(given("to")))
    }
}

/// Reads them. Invalid days, and an end before the start, are left out and reported.
pub(crate) fn read(visitor: &Visitor) -> (Period, Option<&'static str>) {
    match asked(visitor) {
        Ok(period) => (period, None),
        Err(given) => ((None, None), Some(given)),
    }
}

fn asked(visitor: &Visitor) -> Result<Period, &'static str> {
    let t = visitor.lang();
    let given = |name| visitor.query().get(name);
    let wrong = |_| {
        t.t(
            "Write dates as 2026-11-21. The list shows all dates.",
            "Escribe las fechas como 2026-11-21. La lista muestra todas las fechas.",
        )
    };
    let day = |text| visitor.zone().day(text);
    let from = given("from")
        .map(|text| day(text).map_or_else(|| Timestamp::parse_from(text), |(first, _)| Ok(first)));
    let to = given("to")
        .map(|text| day(text).map_or_else(|| Timestamp::parse_to(text), |(_, last)| Ok(last)));
    let (from, to) = (from.transpose(), to.transpose());
    match (from.map_err(wrong)?, to.map_err(wrong)?) {
        (Some(from), Some(to)) if from > to => Err(t.t(
            "The start date is after the end date. The list shows all dates.",
            "La fecha inicial es posterior a la final. La lista muestra todas las fechas.",
        )),
        period => Ok(period),
    }
}
