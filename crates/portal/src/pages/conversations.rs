//! Conversations: list, transcript beside the recording, live calls.

mod about;
mod analysis;
mod detail;
mod sent;
pub(crate) mod stretch;
pub(crate) mod turns;
mod watch;
pub(crate) mod wording;

use std::str::FromStr;

use maud::{Markup, html};
use offhook_domain::{Channel, ConversationId, ConversationStatus, MemberRole, Timestamp};
use offhook_services::store::{AgentFilter, ConversationFilter, ConversationView};

use crate::PATH;
use crate::fields::Fields;
use crate::lang::Lang;
use crate::page::Page;
use crate::parts::agent_choice::AgentChoice;
use crate::parts::form::{self, Input};
use crate::parts::list::{self, Table};
use crate::parts::{period, words};
use crate::trouble::Answer;
use crate::visit::layout::Section;
use crate::visit::{Viewer, Visit, Visitor};

/// The fields that narrow the list.
const FILTERS: [&str; 6] = ["from", "to", "agent", "status", "channel", "phone"];

/// The paths.
pub(super) fn routes() -> Vec<Page> {
    vec![
        Page::at("/conversations").get(all),
        Page::at("/conversations/live").get(watch::live),
        Page::at("/conversations/live/calls").part(watch::live_calls),
        Page::at("/conversations/{id}").get(detail::show),
        Page::at("/conversations/{id}/turns").part(watch::turns),
        Page::at("/conversations/{id}/analysis").part(analysis::part),
        Page::at("/conversations/{id}/audio").part(detail::audio),
        Page::at("/conversations/{id}/hang-up").post(detail::hang_up),
    ]
}

/// `GET /portal/conversations`
async fn all(visit: Visit<Viewer>) -> Answer {
    let lang = visit.lang();
    let title = Section::Conversations.name(lang);
    let agents = AgentChoice::of(&visit, AgentFilter::default()).await?;
    let filter = match read(visit.query(), lang) {
        Ok(filter) => filter,
        Err(message) => {
            let body = html! { (form::refusal(Some(message))) (filters(&visit, &agents)) };
            return Ok(visit.refused(Section::Conversations, title, &body));
        }
    };
    let conversations = visit.services().conversations();
    let page = visit.page_of(ConversationId::from_uuid);
    let page = conversations.list(visit.caller(), filter, page).await?;
    let is_narrowed = FILTERS.iter().any(|name| visit.query().is_set(name));
    let body = html! {
        (actions(&visit))
        (filters(&visit, &agents))
        @if page.items.is_empty() { (nothing(&visit, is_narrowed)) } @else {
            (table(&page.items, lang))
            (list::more(&visit, &page, |view| (view.conversation.started_at, view.conversation.id.uuid())))
        }
    };
    Ok(visit.page(Section::Conversations, title, &body))
}

/// Links to related pages.
fn actions(visit: &Visitor) -> Markup {
    let lang = visit.lang();
    html! {
        p.bar-of-actions {
            a.button href={ (PATH) "/conversations/live" } { (lang.t("Live calls", "Llamadas en vivo")) }
            @if visit.may(MemberRole::Developer) {
                a.button href={ (PATH) "/try/call" } { (lang.t("Place a test call", "Hacer una llamada de prueba")) }
                a.button href={ (PATH) "/try/chat" } { (lang.t("Try a chat", "Probar un chat")) }
            }
        }
    }
}

/// Rows of conversations, also shown on the overview.
pub(crate) fn table(views: &[ConversationView], lang: Lang) -> Markup {
    html! {
        (Table::of(lang.t("Conversations", "Conversaciones"), views)
            .column(lang.t("Started", "Inicio"), |view| html! {
                a href={ (PATH) "/conversations/" (view.conversation.id) } { (words::when(view.conversation.started_at)) }
            })
            .column(lang.t("Agent", "Agente"), |view| &view.agent_name)
            .column(lang.t("Channel", "Canal"), |view| wording::way(&view.conversation, lang))
            .column(lang.t("Customer", "Cliente"), |view| wording::customer(&view.conversation, lang))
            .column(lang.t("Status", "Estado"), |view| html! {
                (wording::state(&view.conversation, lang))
                @if view.conversation.failure_reason.is_some() { " " span.soft { (wording::ending(&view.conversation, lang)) } }
            })
            .number(lang.t("Duration", "Duración"), |view| wording::length(&view.conversation))
            .number(lang.t("Credits", "Créditos"), |view| wording::credits(&view.conversation)))
    }
}

fn nothing(visit: &Visitor, is_narrowed: bool) -> Markup {
    let lang = visit.lang();
    if is_narrowed {
        return list::empty(
            lang.t("No matching conversations", "Ninguna conversación coincide"),
            lang.t(
                "Remove a filter or choose another period. Conversations past your plan's retention are not shown.",
                "Quita un filtro o elige otro periodo. No se muestran las conversaciones que superan la retención de tu plan.",
            ),
            Some(("/conversations", lang.t("Show all", "Mostrar todas"))),
        );
    }
    let label = lang.t("Place a test call", "Hacer una llamada de prueba");
    let may_try = visit.may(MemberRole::Developer);
    list::empty(
        lang.t("No conversations yet", "Aún no hay conversaciones"),
        lang.t(
            "Your agents' calls and chats appear here as they happen. Listen to them, read them and see what they cost.",
            "Aquí aparecen las llamadas y los chats de tus agentes mientras ocurren. Escúchalos, léelos y mira cuánto costaron.",
        ),
        may_try.then_some(("/try/call", label)),
    )
}

fn filters(visit: &Visitor, agents: &AgentChoice) -> Markup {
    let lang = visit.lang();
    let asked = visit.query();
    let any = lang.t("Any", "Cualquiera");
    let statuses = ConversationStatus::ALL.iter();
    let channels = Channel::ALL.iter();
    html! {
        form.filters method="get" action={ (PATH) "/conversations" } role="search" {
            (period::fields(visit))
            (agents.field(visit, "agent", lang.t("Agent", "Agente"), asked.text("agent"), Some(any)))
            (list::filter(visit, "status", lang.t("Status", "Estado"), any,
                statuses.map(|status| (status.as_str(), wording::status(*status, lang)))))
            (list::filter(visit, "channel", lang.t("Channel", "Canal"), any,
                channels.map(|channel| (channel.as_str(), wording::channel(Some(*channel), lang)))))
            (Input::text("phone", lang.t("Phone number", "Número de teléfono")).kind("tel").value(asked.text("phone")))
            button type="submit" { (lang.t("Filter", "Filtrar")) }
        }
    }
}

/// The filter of a query, or what is wrong with it.
fn read(asked: &Fields, lang: Lang) -> Result<ConversationFilter, &'static str> {
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
    let since = asked.get("from").map(Timestamp::parse_from).transpose();
    let until = asked.get("to").map(Timestamp::parse_to).transpose();
    let phone = asked.get("phone").map(|phone| plain(phone).parse());
    let filter = ConversationFilter {
        voice_only: false,
        since: since.map_err(|_| day)?,
        until: until.map_err(|_| day)?,
        agent: chosen(asked, "agent").map_err(|_| choice)?,
        status: chosen(asked, "status").map_err(|_| choice)?,
        outcome: None,
        channel: chosen(asked, "channel").map_err(|_| choice)?,
        phone: phone.transpose().map_err(|_| number)?,
    };
    match (filter.since, filter.until) {
        (Some(since), Some(until)) if since > until => Err(order),
        _ => Ok(filter),
    }
}

fn chosen<T: FromStr>(asked: &Fields, name: &str) -> Result<Option<T>, T::Err> {
    asked.get(name).map(str::parse).transpose()
}

/// A phone number without the separators that people type.
pub(crate) fn plain(phone: &str) -> String {
    let is_kept = |sign: &char| !matches!(sign, ' ' | '-' | '(' | ')' | '.');
    phone.chars().filter(is_kept).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_is_what_was_chosen_or_a_sentence() {
        let asked = Fields::parse(
            b"from=2026-04-30&status=failed&channel=phone&phone=%2B52+55-1234-5678&agent=",
        );
        let filter = read(&asked, Lang::En).unwrap();
        assert_eq!(filter.since, Timestamp::parse_from("2026-04-30").ok());
        assert_eq!(filter.status, Some(ConversationStatus::Failed));
        assert_eq!(filter.channel, Some(Channel::Phone));
        assert_eq!(filter.phone, "+525512345678".parse().ok());
        assert_eq!(filter.agent, None);
        for wrong in [
            "from=yesterday",
            "from=2026-05-01&to=2026-04-30",
            "agent=1",
            "status=x",
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
