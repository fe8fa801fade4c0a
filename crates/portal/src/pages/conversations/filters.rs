//! What narrows the list of conversations.

use std::str::FromStr;

use offhook_services::store::ConversationFilter;
use offhook_services::{EndReason, Search, tag};

use super::{plain, tags, wording};
use crate::parts::agent_choice::AgentChoice;
use crate::parts::period;
use crate::prelude::*;
use crate::trouble::Result as Shown;

/// The fields that narrow the list.
const FIELDS: [&str; 12] = [
    "from", "to", "agent", "outcome", "phone", "q", "tag", "status", "channel", "reason", "min",
    "variable",
];

/// Those that are folded away until one of them is used.
const MORE: [&str; 6] = ["tag", "status", "channel", "reason", "min", "variable"];

/// The most characters that are searched for.
const LONGEST_WORDS: usize = 200;

/// What a list shows.
pub(super) struct Wanted {
    pub(super) filter: ConversationFilter,
    pub(super) search: Search,
}

/// The fields that are set, without the place in the list.
pub(super) fn set(asked: &Fields) -> Fields {
    Fields::of(
        FIELDS
            .iter()
            .filter_map(|name| Some((*name, asked.get(name)?))),
    )
}

pub(super) fn is_narrowed(asked: &Fields) -> bool {
    FIELDS.iter().any(|name| asked.is_set(name))
}

/// The form.
pub(super) async fn form(visit: &Visitor, agents: &AgentChoice) -> Shown<Markup> {
    let lang = visit.lang();
    let asked = visit.query();
    let any = lang.t("Any", "Cualquiera");
    let statuses = ConversationStatus::ALL.iter();
    let channels = Channel::ALL.iter();
    let outcomes = Outcome::ALL.iter();
    let is_open = MORE.iter().any(|name| asked.is_set(name));
    let tag = tags::field(visit).await?;
    Ok(html! {
        form.filters method="get" action={ (PATH) "/conversations" } role="search" {
            (Input::text("q", lang.t("Words said", "Palabras dichas")).kind("search").value(asked.text("q")))
            (list::filter(visit, "outcome", lang.t("Outcome", "Resultado"), any,
                outcomes.map(|outcome| (outcome.as_str(), wording::outcome(*outcome, lang).1))))
            (agents.field(visit, "agent", lang.t("Agent", "Agente"), asked.text("agent"), Some(any)))
            (Input::text("phone", lang.t("Phone number", "Número de teléfono")).kind("tel").value(asked.text("phone")))
            (period::fields(visit))
            button type="submit" { (lang.t("Filter", "Filtrar")) }
            details.more open[is_open] {
                summary { (lang.t("More filters", "Más filtros")) }
                div.filters {
                    (tag)
                    (list::filter(visit, "reason", lang.t("End reason", "Motivo de fin"), any, reasons(lang)))
                    (Input::text("min", lang.t("At least seconds", "Segundos como mínimo")).kind("number").value(asked.text("min")))
                    (list::filter(visit, "status", lang.t("Status", "Estado"), any,
                        statuses.map(|status| (status.as_str(), wording::status(*status, lang)))))
                    (list::filter(visit, "channel", lang.t("Channel", "Canal"), any,
                        channels.map(|channel| (channel.as_str(), wording::channel(Some(*channel), lang)))))
                    (Input::text("variable", lang.t("Variable (name=value)", "Variable (nombre=valor)")).value(asked.text("variable")))
                }
            }
        }
    })
}

fn reasons(lang: Lang) -> impl Iterator<Item = (&'static str, &'static str)> {
    let ended = TerminationReason::ALL.iter();
    let ended = ended.map(move |reason| (reason.as_str(), wording::ended(*reason, lang)));
    let failed = FailureReason::ALL.iter();
    ended.chain(failed.map(move |reason| (reason.as_str(), wording::failed(*reason, lang))))
}

/// The filter of a query, or what is wrong with it.
pub(super) fn read(asked: &Fields, lang: Lang) -> Result<Wanted, &'static str> {
    let day = lang.t(
        "Write dates as 2026-04-30.",
        "Escribe las fechas como 2026-04-30.",
    );
    let choice = lang.t(
        "Unknown option. Choose one from the list.",
        "Esa opción no existe. Elige una de la lista.",
    );
    let number = lang.t(
        "Write the number with its country code, such as +525512345678.",
        "Escribe el número con su clave de país, como +525512345678.",
    );
    let order = lang.t(
        "The start date is after the end date.",
        "La fecha inicial es posterior a la final.",
    );
    let seconds = lang.t(
        "Write the length in whole seconds, such as 30.",
        "Escribe la duración en segundos enteros, como 30.",
    );
    let long = lang.t(
        "Search for at most 200 characters.",
        "Busca 200 caracteres como máximo.",
    );
    let since = asked.get("from").map(Timestamp::parse_from).transpose();
    let until = asked.get("to").map(Timestamp::parse_to).transpose();
    let phone = asked.get("phone").map(|phone| plain(phone).parse());
    let words = asked.get("q").map(str::to_owned);
    if words
        .as_ref()
        .is_some_and(|words| words.chars().count() > LONGEST_WORDS)
    {
        return Err(long);
    }
    let reason = match asked.get("reason") {
        None => None,
        Some(text) => Some(reason(text).ok_or(choice)?),
    };
    let min_seconds = asked.get("min").map(str::parse::<u32>).transpose();
    let variable = asked
        .get("variable")
        .map(|text| match text.split_once('=') {
            Some((name, value)) => (name.trim().to_owned(), Some(value.trim().to_owned())),
            None => (text.to_owned(), None),
        });
    // The outcome that a failure has is found by an index.
    let implied = match reason {
        Some(EndReason::Failed(reason)) => Some(Outcome::of(CallOutcome::Failed(reason), false)),
        _ => None,
    };
    let outcome: Option<Outcome> = chosen(asked, "outcome").map_err(|_| choice)?;
    let filter = ConversationFilter {
        voice_only: false,
        since: since.map_err(|_| day)?,
        until: until.map_err(|_| day)?,
        agent: chosen(asked, "agent").map_err(|_| choice)?,
        status: chosen(asked, "status").map_err(|_| choice)?,
        outcome: outcome.or(implied),
        channel: chosen(asked, "channel").map_err(|_| choice)?,
        phone: phone.transpose().map_err(|_| number)?,
        tag: asked.get("tag").map(tag),
    };
    let search = Search {
        words,
        reason,
        min_seconds: min_seconds.map_err(|_| seconds)?.map(i64::from),
        variable,
    };
    match (filter.since, filter.until) {
        (Some(since), Some(until)) if since > until => Err(order),
        _ => Ok(Wanted { filter, search }),
    }
}

fn reason(text: &str) -> Option<EndReason> {
    let failed = || text.parse().ok().map(EndReason::Failed);
    text.parse().ok().map(EndReason::Ended).or_else(failed)
}

fn chosen<T: FromStr>(asked: &Fields, name: &str) -> Result<Option<T>, T::Err> {
    asked.get(name).map(str::parse).transpose()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_is_what_was_chosen_or_a_sentence() {
        let asked = Fields::parse(
            b"from=2026-04-30&status=failed&channel=phone&phone=%2B52+55-1234-5678&agent=&reason=no_answer&min=30&variable=city+%3D+Lima",
        );
        let Wanted { filter, search } = read(&asked, Lang::En).unwrap();
        assert_eq!(filter.since, Timestamp::parse_from("2026-04-30").ok());
        assert_eq!(filter.status, Some(ConversationStatus::Failed));
        assert_eq!(filter.channel, Some(Channel::Phone));
        assert_eq!(filter.phone, "+525512345678".parse().ok());
        assert_eq!(filter.agent, None);
        assert_eq!(filter.outcome, Some(Outcome::NoAnswer));
        let failed = EndReason::Failed(FailureReason::NoAnswer);
        assert_eq!(search.reason, Some(failed));
        assert_eq!(search.min_seconds, Some(30));
        assert_eq!(
            search.variable,
            Some(("city".to_owned(), Some("Lima".to_owned())))
        );
        for wrong in [
            "from=yesterday",
            "from=2026-05-01&to=2026-04-30",
            "agent=1",
            "status=x",
            "outcome=won",
            "reason=x",
            "min=-1",
            "channel=fax",
            "phone=55",
        ] {
            assert!(
                read(&Fields::parse(wrong.as_bytes()), Lang::Es).is_err(),
                "{wrong}"
            );
        }
    }
}
