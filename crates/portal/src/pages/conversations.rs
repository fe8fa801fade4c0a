//! Conversations: list, transcript beside the recording, live calls.

mod about;
mod analysis;
mod cost;
mod detail;
mod export;
mod file;
mod filters;
mod notes;
mod player;
mod sent;
pub(crate) mod stretch;
mod tags;
mod timeline;
pub(crate) mod turns;
mod views;
mod watch;
pub(crate) mod wording;

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use actix_web::HttpResponse;
use offhook_services::Found;
use offhook_services::store::{AgentFilter, ConversationView};

use crate::parts::agent_choice::AgentChoice;
use crate::prelude::*;

use filters::Wanted;

/// The paths.
pub(super) fn routes() -> Vec<Page> {
    vec![
        Page::at("/conversations").get(all),
        Page::at("/conversations/live").get(watch::live),
        Page::at("/conversations/live/calls").part(watch::live_calls),
        Page::at("/conversations/rows").part(rows_part),
        Page::at("/conversations/file").part(file::file),
        Page::at("/conversations/views").post(views::save),
        Page::at("/conversations/views/{id}/delete").post(views::delete),
        Page::at("/conversations/{id}").get(detail::show),
        Page::at("/conversations/{id}/turns").part(watch::turns),
        Page::at("/conversations/{id}/analysis").part(analysis::part),
        Page::at("/conversations/{id}/audio").part(player::audio),
        Page::at("/conversations/{id}/waveform").part(player::waveform),
        Page::at("/conversations/{id}/transcript.json").part(export::json),
        Page::at("/conversations/{id}/transcript.txt").part(export::text),
        Page::at("/conversations/{id}/transcript.srt").part(export::subtitles),
        Page::at("/conversations/{id}/notes").post(notes::add),
        Page::at("/conversations/{id}/notes/{note}/delete").post(notes::delete),
        Page::at("/conversations/{id}/tags").post(tags::add),
        Page::at("/conversations/{id}/tags/delete").post(tags::remove),
        Page::at("/conversations/{id}/hang-up").post(detail::hang_up),
    ]
}

/// `GET /portal/conversations`
async fn all(visit: Visit<Viewer>) -> Answer {
    let lang = visit.lang();
    let title = Section::Conversations.name(lang);
    let agents = AgentChoice::of(&visit, AgentFilter::default()).await?;
    let wanted = match filters::read(visit.query(), lang) {
        Ok(wanted) => wanted,
        Err(message) => {
            let form = filters::form(&visit, &agents).await?;
            let body = html! { (form::refusal(Some(message))) (form) };
            return Ok(visit.refused(Section::Conversations, title, &body));
        }
    };
    let (views, rows) = (views::bar(&visit).await?, rows(&visit, &wanted).await?);
    let form = filters::form(&visit, &agents).await?;
    let body = html! {
        (actions(&visit))
        (views)
        (form)
        (drawn(&visit, &wanted, &rows))
    };
    Ok(visit.page(Section::Conversations, title, &body))
}

/// `GET /portal/conversations/rows?seen=`: the rows, unless they are as they were seen.
async fn rows_part(visit: Visit<Viewer>) -> Answer {
    let wanted = filters::read(visit.query(), visit.lang());
    let wanted = wanted.map_err(|_| Trouble::not_found())?;
    let rows = rows(&visit, &wanted).await?;
    // A list that is drawn again loses its place on a narrow screen.
    if visit.query().text("seen") == tag(&rows) {
        return Ok(HttpResponse::NoContent().finish());
    }
    Ok(visit.part(&drawn(&visit, &wanted, &rows)))
}

/// Tells lists apart.
pub(in crate::pages) fn tag(rows: &Markup) -> String {
    let mut hasher = DefaultHasher::new();
    rows.0.hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}

/// The rows, which update by themselves on the first page, unless each update is a search.
fn drawn(visit: &Visitor, wanted: &Wanted, rows: &Markup) -> Markup {
    let is_live = wanted.search.is_empty() && visit.query().get("after").is_none();
    let mut query = filters::set(visit.query());
    query.push("seen", &tag(rows));
    let path = format!("{PATH}/conversations/rows?{}", query.encode());
    html! {
        div #rows hx-get=[is_live.then_some(path)] hx-trigger=[is_live.then_some("every 5s")]
            hx-swap=[is_live.then_some("outerHTML")] { (rows) }
    }
}

async fn rows(visit: &Visitor, wanted: &Wanted) -> Result<Markup> {
    let lang = visit.lang();
    let conversations = visit.services().conversations();
    let page = visit.page_of(ConversationId::from_uuid);
    let found = conversations.search(visit.caller(), wanted.filter.clone(), &wanted.search, page);
    let found = found.await?;
    let is_empty = found.views.is_empty();
    let query = filters::set(visit.query());
    let ids = found.views.iter().map(|view| view.conversation.id);
    let tags = conversations.tags(ids.collect()).await?;
    Ok(html! {
        @if is_empty && found.next.is_none() { (nothing(visit, filters::is_narrowed(visit.query()))) }
        @if !is_empty {
            (table(&found.views, &tags, lang))
            @if !found.said.is_empty() { (said(&found, lang)) }
        }
        (searched(&found, lang))
        (pager(visit, &found, &query))
        @if !is_empty {
            p.hint {
                a href={ (PATH) "/conversations/file?" (query.encode()) } { (lang.t("Download as CSV", "Descargar como CSV")) }
                " " (text!(lang, "up to {} rows", "hasta {} filas", words::count(i64::try_from(file::ROWS_AT_MOST).unwrap_or(0))))
            }
        }
    })
}

/// Where the words were found.
fn said(found: &Found, lang: Lang) -> Markup {
    html! {
        h2 { (lang.t("Matches", "Coincidencias")) }
        ul.matches {
            @for view in &found.views {
                @if let Some(text) = found.said.get(&view.conversation.id) {
                    li {
                        a href={ (PATH) "/conversations/" (view.conversation.id) } { (words::when(view.conversation.started_at)) }
                        " " bdi { (watch::shortened(text)) }
                    }
                }
            }
        }
    }
}

/// How far a search came that stopped early.
fn searched(found: &Found, lang: Lang) -> Markup {
    html! {
        @if let (Some(count), Some((until, _))) = (found.stopped_after, found.next) {
            p.warning {
                @let count = words::count(i64::try_from(count).unwrap_or(i64::MAX));
                (text!(lang, "Searched {count} conversations, back to", "Se buscó en {count} conversaciones, hasta"))
                " " (words::when(until)) ". "
                (lang.t("Older ones may match too: continue with the next page, or choose a period.",
                    "Puede haber más entre las anteriores: sigue en la página siguiente o elige un periodo."))
            }
        }
    }
}

fn pager(visit: &Visitor, found: &Found, query: &Fields) -> Markup {
    let lang = visit.lang();
    let is_first = visit.query().get("after").is_none();
    let next = found.next.map(|(at, id)| {
        let mut query = query.clone();
        query.push("after", &format!("{}_{}", at.micros(), id.uuid()));
        query.encode()
    });
    html! {
        @if next.is_some() || !is_first {
            p.pager {
                @if !is_first { a href={ (PATH) "/conversations?" (query.encode()) } { (lang.t("First page", "Primera página")) } }
                @if let Some(next) = next { a rel="next" href={ (PATH) "/conversations?" (next) } { (lang.t("Next page", "Página siguiente")) } }
            }
        }
    }
}

/// Links to related pages.
fn actions(visit: &Visitor) -> Markup {
    let lang = visit.lang();
    html! {
        div.page-actions {
            a.button href={ (PATH) "/conversations/live" } { (lang.t("Live calls", "Llamadas en vivo")) }
            @if visit.may(MemberRole::Developer) {
                a.button href={ (PATH) "/try/chat" } { (lang.t("Try a chat", "Probar un chat")) }
                a.button.primary href={ (PATH) "/try/call" } { (lang.t("Place a test call", "Hacer una llamada de prueba")) }
            }
        }
    }
}

/// Conversations' tags.
pub(crate) type Tags = HashMap<ConversationId, Vec<String>>;

/// Rows of conversations, also shown on the overview.
pub(crate) fn table(views: &[ConversationView], tags: &Tags, lang: Lang) -> Markup {
    let of = |view: &ConversationView| tags.get(&view.conversation.id);
    html! {
        (Table::of(lang.t("Conversations", "Conversaciones"), views)
            .column(lang.t("Started", "Inicio"), |view| html! {
                a.row id={ "row-" (view.conversation.id) } href={ (PATH) "/conversations/" (view.conversation.id) } { (words::when(view.conversation.started_at)) }
            })
            .column(lang.t("Agent", "Agente"), |view| &view.agent_name)
            .column(lang.t("Channel", "Canal"), |view| wording::way(&view.conversation, lang))
            .column(lang.t("Customer", "Cliente"), |view| wording::customer(&view.conversation, lang))
            .column(lang.t("Outcome", "Resultado"), |view| wording::result(&view.conversation, lang))
            .column_if(!tags.is_empty(), lang.t("Tags", "Etiquetas"), |view| html! {
                @for tag in of(view).into_iter().flatten() { span.tag { bdi { (tag) } } " " }
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

/// A phone number without the separators that people type.
pub(crate) fn plain(phone: &str) -> String {
    let is_kept = |sign: &char| !matches!(sign, ' ' | '-' | '(' | ')' | '.');
    phone.chars().filter(is_kept).collect()
}
