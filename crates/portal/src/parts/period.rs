//! The period that a list shows: two days of UTC.

use maud::{Markup, html};
use offhook_domain::Timestamp;

use super::form::Input;
use crate::visit::Visitor;

/// The first and the last instant that are asked for.
type Period = (Option<Timestamp>, Option<Timestamp>);

/// The fields `from` and `to` of a list's filters, with what they say already.
pub(crate) fn fields(visitor: &Visitor) -> Markup {
    let t = visitor.lang();
    let said = |name| visitor.query().text(name);
    html! {
        (Input::text("from", t.t("From (UTC)", "Desde (UTC)")).kind("date").value(said("from")))
        (Input::text("to", t.t("To (UTC)", "Hasta (UTC)")).kind("date").value(said("to")))
    }
}

/// Reads them. What is asked for wrongly is left out, and said: a day that is none, or an end before its beginning.
pub(crate) fn read(visitor: &Visitor) -> (Period, Option<&'static str>) {
    match asked(visitor) {
        Ok(period) => (period, None),
        Err(said) => ((None, None), Some(said)),
    }
}

fn asked(visitor: &Visitor) -> Result<Period, &'static str> {
    let t = visitor.lang();
    let said = |name| visitor.query().get(name);
    let wrong = |_| {
        t.t(
            "A day is written as 2026-11-21. The list shows all of them.",
            "Un día se escribe como 2026-11-21. La lista los muestra todos.",
        )
    };
    let from = said("from").map(Timestamp::parse_from).transpose();
    let to = said("to").map(Timestamp::parse_to).transpose();
    match (from.map_err(wrong)?, to.map_err(wrong)?) {
        (Some(from), Some(to)) if from > to => Err(t.t(
            "The first day is after the last one. The list shows all of them.",
            "El primer día es posterior al último. La lista los muestra todos.",
        )),
        period => Ok(period),
    }
}
