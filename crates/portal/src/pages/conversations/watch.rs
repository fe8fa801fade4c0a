//! Running conversations: parts that a page polls.

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use offhook_services::store::LiveCall;

use super::about;
use super::detail::{self, Story, read, state, watch, whole};
use super::stretch::Place;
use super::timeline;
use super::turns::waited_ms;
use super::wording;
use crate::prelude::*;

/// The most turns of one poll; the next one follows a second later.
const TURNS_AT_ONCE: u32 = 100;

/// Live calls that are shown.
const SHOWN_CALLS: u32 = 100;

/// Characters of the last message that a row shows.
const SHOWN_CHARS: usize = 120;

/// htmx stops asking.
const STOP_POLLING: u16 = 286;

/// An empty response that ends polling.
fn stop() -> HttpResponse {
    let status = StatusCode::from_u16(STOP_POLLING).unwrap_or(StatusCode::OK);
    HttpResponse::build(status).finish()
}

/// `GET /portal/conversations/{id}/turns?after=`: what has happened since. The last response brings the whole page, with the
/// recording, and ends polling.
pub(super) async fn turns(visit: Visit<Viewer>) -> Answer {
    let id: ConversationId = visit.id("id")?;
    let is_live = visit.query().is_set("live");
    let after = visit.query().text("after").parse().unwrap_or(0);
    let conversations = visit.services().conversations();
    let view = conversations.get(visit.caller(), id, false).await?;
    // The conversation is gone, or the session is in another account: there is nothing to poll.
    let Some(view) = view else {
        return Ok(stop());
    };
    if view.conversation.state.is_terminal() {
        return finished(&visit, id).await;
    }
    // The state was read first: turns until the end are in a later response.
    let page = conversations
        .turns(visit.caller(), id, after, TURNS_AT_ONCE)
        .await?;
    let turns = page.ok_or_else(Trouble::not_found)?.items;
    let last = turns.last().map_or(after, |turn| turn.seq);
    let so_far = conversations.so_far(&view.conversation).await?;
    let timeline = match is_live {
        true => None,
        false => Some(timeline::of(&visit, &view.conversation).await?),
    };
    let drawn = detail::turns(&view.conversation, visit.lang());
    Ok(visit.part(&html! {
        (watch(id, last, is_live))
        div #state hx-swap-oob="true" { (state(&view.conversation, &so_far, visit.lang())) }
        @if let Some(timeline) = timeline {
            (about::moved(&view.conversation, &so_far, visit.lang()))
            div #timeline hx-swap-oob="true" { (timeline) }
        } @else if let Some(waited) = turns.iter().rev().find_map(waited_ms) {
            span #last-latency hx-swap-oob="true" { (latency(waited, visit.lang())) }
        }
        @if !turns.is_empty() {
            @if after == 0 { p #silence hx-swap-oob="delete" {} }
            ol hx-swap-oob="beforeend:#turns" { (drawn.items(&turns)) }
        }
    }))
}

async fn finished(visitor: &Visitor, id: ConversationId) -> Answer {
    // A visitor who watched to the end stays there.
    let story = read(visitor, id, Some(Place::NEWEST)).await?;
    let whole = whole(visitor, &story).await?;
    let mut answer = visitor.part(&html! {
        div #conversation hx-swap-oob="true" { (whole) }
    });
    if let Ok(stop) = StatusCode::from_u16(STOP_POLLING) {
        *answer.status_mut() = stop;
    }
    Ok(answer)
}

/// How long the customer waited for the last reply.
fn latency(waited_ms: u64, lang: Lang) -> String {
    text!(
        lang,
        "last reply after {waited_ms} ms",
        "última respuesta a los {waited_ms} ms"
    )
}

/// `GET /portal/conversations/live`, with the call that is followed in `call`.
pub(super) async fn live(visit: Visit<Viewer>) -> Answer {
    let lang = visit.lang();
    let calls = calls(&visit).await?;
    let followed = match visit.query().get("call") {
        Some(id) => {
            let id: ConversationId = id.parse().map_err(|_| Trouble::not_found())?;
            let story = read(&visit, id, Some(Place::NEWEST)).await?;
            running(&visit, &story).await?
        }
        None => html! {},
    };
    let body = html! {
        p.lead { (lang.t(
            "Calls of this account that are dialing or in progress. Open one to read along and to hang it up.",
            "Llamadas de esta cuenta que se están marcando o están en curso. Abre una para leerla mientras sucede y para colgarla.",
        )) }
        div #live hx-get={ (PATH) "/conversations/live/calls" } hx-trigger="every 2s" hx-swap="innerHTML" { (calls) }
        (followed)
    };
    let title = lang.t("Live calls", "Llamadas en vivo");
    Ok(visit.page(Section::Conversations, title, &body))
}

/// A call's running transcript. When it ends, everything about it takes its place.
async fn running(visitor: &Visitor, story: &Story) -> Result<Markup> {
    let lang = visitor.lang();
    let conversation = &story.view.conversation;
    let path = format!("{PATH}/conversations/{}", conversation.id);
    let title = html! {
        h2 { a href=(path) { (story.view.agent_name) " · " (wording::customer(conversation, lang)) } }
    };
    if conversation.state.is_terminal() {
        let whole = whole(visitor, story).await?;
        return Ok(html! { (title) div #conversation { (whole) } });
    }
    let conversations = visitor.services().conversations();
    let so_far = conversations.so_far(conversation).await?;
    let waited = story.message.turns.iter().rev().find_map(waited_ms);
    Ok(html! {
        (title)
        div #conversation {
            div.bar-of-actions {
                div #state { (state(conversation, &so_far, lang)) }
                span.soft #last-latency { @if let Some(waited) = waited { (latency(waited, lang)) } }
                (detail::doings(visitor, conversation))
            }
            (detail::said(story, lang))
        }
        (watch(conversation.id, story.message.last(), true))
    })
}

/// `GET /portal/conversations/live/calls`: one read for all of them.
pub(super) async fn live_calls(visit: Visit<Viewer>) -> Answer {
    let calls = calls(&visit).await?;
    Ok(visit.part(&calls))
}

async fn calls(visitor: &Visitor) -> Result<Markup> {
    let lang = visitor.lang();
    let overview = visitor.services().overview();
    let calls = overview.live(visitor.caller(), SHOWN_CALLS).await?;
    let (shown, limit) = (calls.len(), visitor.caller().terms.live_calls);
    let told = html! {
        p.soft { (text!(lang, "{shown} in progress; your plan allows {limit}.", "{shown} en curso; tu plan permite {limit}.")) }
    };
    if calls.is_empty() {
        let nothing = list::empty(
            lang.t("No calls in progress", "No hay ninguna llamada en curso"),
            lang.t(
                "Calls appear here as soon as they are dialed. Updates automatically every two seconds.",
                "Las llamadas aparecen aquí en cuanto se marcan. Se actualiza automáticamente cada dos segundos.",
            ),
            visitor.may(MemberRole::Developer).then_some((
                "/try/call",
                lang.t("Place a test call", "Hacer una llamada de prueba"),
            )),
        );
        return Ok(html! { (told) (nothing) });
    }
    let lasts = |call: &LiveCall| {
        let conversation = &call.view.conversation;
        let since = conversation.answered_at.unwrap_or(conversation.started_at);
        words::length(visitor.now().since(since))
    };
    Ok(html! {
        (told)
        (Table::of(lang.t("Live calls", "Llamadas en vivo"), &calls)
            .column(lang.t("Customer", "Cliente"), |call| html! {
                // By its id a link keeps the focus when the list is drawn again.
                @let conversation = &call.view.conversation;
                a id={ "call-" (conversation.id) } href={ (PATH) "/conversations/live?call=" (conversation.id) } { (wording::customer(conversation, lang)) }
            })
            .column(lang.t("Agent", "Agente"), |call| &call.view.agent_name)
            .column(lang.t("Status", "Estado"), |call| wording::state(&call.view.conversation, lang))
            .number(lang.t("Duration", "Duración"), lasts)
            .column(lang.t("Last message", "Último mensaje"), |call| html! {
                @if let (Some(role), Some(words)) = (call.role.as_deref(), call.said.as_deref()) {
                    @if role == "agent" { strong { (lang.t("Agent", "Agente")) ": " } }
                    bdi { (shortened(words)) }
                } @else { span.none { "–" } }
            }))
    })
}

pub(super) fn shortened(text: &str) -> String {
    match text.char_indices().nth(SHOWN_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
