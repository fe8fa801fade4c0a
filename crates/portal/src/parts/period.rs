//! The period that a list shows: two days in UTC.

use maud::{Markup, html};
use offhook_domain::Timestamp;

use super::form::Input;
use crate::visit::Visitor;

/// The first and the last instant of the period.
type Period = (Option<Timestamp>, Option<Timestamp>);

/// The fields `from` and `to` of a list's filters, with their current values.
pub(crate) fn fields(visitor: &Visitor) -> Markup {
    let t = visitor.lang();
    let given = |name| visitor.query().text(name);
    html! {
        (Input::text("from", t.t("From (UTC)", "Desde (UTC)")).kind("date").value(given("from")))
        (Input::text("to", t.t("To (UTC)", "Hasta (UTC)")).kind("date").value(given("to")))
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
    let from = given("from").map(Timestamp::parse_from).transpose();
    let to = given("to").map(Timestamp::parse_to).transpose();
    match (from.map_err(wrong)?, to.map_err(wrong)?) {
        (Some(from), Some(to)) if from > to => Err(t.t(
            "The start date is after the end date. The list shows all dates.",
            "La fecha inicial es posterior a la final. La lista muestra todas las fechas.",
        )),
        period => Ok(period),
    }
}
