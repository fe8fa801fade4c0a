//! One conversation: facts, transcript, recording.

use offhook_services::store::{Conversation, ConversationView};
use offhook_services::{Refusal, SoFar, UseCaseError};

use super::stretch::{Place, Stretch};
use super::turns::Turns;
use super::{about, analysis, cost, notes, player, sent, tags, timeline, wording};
use crate::parts::words::shown;
use crate::prelude::*;

/// A conversation with everything that its page shows.
pub(super) struct Story {
    pub(super) view: ConversationView,
    pub(super) message: Stretch,
}

/// Reads a conversation of the account with its turns at `place`. The default is the newest turns of a running conversation,
/// and the first turns of one that has ended.
pub(super) async fn read(
    visitor: &Visitor,
    id: ConversationId,
    place: Option<Place>,
) -> Result<Story> {
    let conversations = visitor.services().conversations();
    let view = conversations.get(visitor.caller(), id, false).await?;
    let view = view.ok_or_else(Trouble::not_found)?;
    let place = place.unwrap_or(match view.conversation.state.is_terminal() {
        true => Place::FIRST,
        false => Place::NEWEST,
    });
    let message = Stretch::read(visitor, id, place).await?;
    Ok(Story { view, message })
}

/// `GET /portal/conversations/{id}`
pub(super) async fn show(visit: Visit<Viewer>) -> Answer {
    let place = Place::asked(visit.query());
    let story = read(&visit, visit.id("id")?, place).await?;
    let conversation = &story.view.conversation;
    let lang = visit.lang();
    let kind = match conversation.voice {
        true => lang.t("Call", "Llamada"),
        false => lang.t("Chat", "Chat"),
    };
    let title = match &conversation.customer_phone {
        Some(number) => format!("{kind} · {} · {number}", story.view.agent_name),
        None => format!("{kind} · {}", story.view.agent_name),
    };
    // New turns are added after the newest turns only.
    let is_watched = !conversation.state.is_terminal() && !story.message.has_later;
    let whole = whole(&visit, &story).await?;
    // Beside what is drawn again when the conversation ends: a note may be half written.
    let notes = notes::of(&visit, conversation.id).await?;
    let tags = tags::of(&visit, conversation.id).await?;
    let body = html! {
        (tags)
        div #conversation { (whole) }
        (notes)
        @if is_watched { (watch(conversation.id, story.message.last(), false)) }
    };
    Ok(visit.page(Section::Conversations, &title, &body))
}

/// Polls once a second for what happened after turn `after`; for the page of live calls, without the facts.
pub(super) fn watch(id: ConversationId, after: i32, is_live: bool) -> Markup {
    let live = if is_live { "&live=on" } else { "" };
    let path = format!("{PATH}/conversations/{id}/turns?after={after}{live}");
    html! { div #watch hx-get=(path) hx-trigger="every 1s" hx-swap="outerHTML" {} }
}

/// Everything about a conversation.
pub(super) async fn whole(visitor: &Visitor, story: &Story) -> Result<Markup> {
    let lang = visitor.lang();
    let conversation = &story.view.conversation;
    let is_over = conversation.state.is_terminal();
    let variables = about::variables(visitor, conversation).await?;
    let messages = sent::messages(visitor, conversation).await?;
    let deliveries = about::deliveries(visitor, conversation).await?;
    let analysis = analysis::of(visitor, &story.view).await?;
    let conversations = visitor.services().conversations();
    let so_far = conversations.so_far(conversation).await?;
    let facts = about::facts(visitor, &story.view, &so_far).await?;
    let cost = cost::of(visitor, conversation, &so_far).await?;
    let timeline = timeline::of(visitor, conversation).await?;
    Ok(html! {
        div.bar-of-actions {
            div #state { (state(conversation, &so_far, lang)) }
            @if !is_over { (doings(visitor, conversation)) }
            (links(visitor, conversation))
        }
        div.split {
            div.stack {
                @if let Some(summary) = conversation.summary.as_deref().filter(|summary| !summary.is_empty()) {
                    section.panel {
                        h2 { (lang.t("Summary", "Resumen")) }
                        p.said dir="auto" { (summary) }
                    }
                }
                (analysis)
                section.panel {
                    h2 #transcript { (lang.t("Transcript", "Transcripción")) }
                    (story.message.earlier(lang))
                    (said(story, lang))
                    (story.message.later(lang))
                }
                (messages)
                (variables)
                (deliveries)
            }
            div.stack {
                section.panel {
                    h2 { (lang.t("Recording", "Grabación")) }
                    (player::recording(conversation, lang))
                }
                section.panel {
                    h2 { (lang.t("Timeline", "Cronología")) }
                    div #timeline { (timeline) }
                }
                section.panel { (facts) }
                section.panel { (cost) }
            }
        }
    })
}

/// What was said, so far.
pub(super) fn said(story: &Story, lang: Lang) -> Markup {
    let conversation = &story.view.conversation;
    let drawn = turns(conversation, lang);
    html! {
        @if story.message.is_silent() { p.hint #silence { (silence(conversation, lang)) } }
        div role="log" aria-live=[(!conversation.state.is_terminal()).then_some("polite")] {
            ol.turns #turns { (drawn.items(&story.message.turns)) }
        }
    }
}

/// How this conversation's turns are drawn: with their places in the call, playable if there is a recording.
pub(super) fn turns(conversation: &Conversation, lang: Lang) -> Turns {
    Turns {
        lang,
        answered_at: conversation.answered_at.filter(|_| conversation.voice),
        has_audio: conversation.has_audio,
    }
}

/// The state, and its duration so far.
pub(super) fn state(conversation: &Conversation, so_far: &SoFar, lang: Lang) -> Markup {
    let is_over = conversation.state.is_terminal();
    let lasts = !is_over && conversation.answered_at.is_some();
    html! {
        (wording::state(conversation, lang))
        @if conversation.line.simulated { " " (badge(Tone::Plain, lang.t("simulated", "simulada"))) }
        @if lasts { " " span.soft { (wording::length_so_far(so_far)) } }
        @if conversation.hangup_requested && !is_over {
            " " span.soft { (lang.t("hang-up requested", "se pidió colgar")) }
        }
        @if let Some(outcome) = conversation.outcome() {
            @let (tone, text) = wording::outcome(outcome, lang);
            " " (badge(tone, text))
        }
        @if conversation.line.allowed.opted_out {
            " " (badge(Tone::Busy, lang.t("Opted out", "Pidió no recibir llamadas")))
        }
        " " span.soft { (wording::ending(conversation, lang)) }
    }
}

/// What can be taken from the page: another call, the page's address, the conversation as a file.
fn links(visitor: &Visitor, conversation: &Conversation) -> Markup {
    let lang = visitor.lang();
    let path = format!("{PATH}/conversations/{}", conversation.id);
    let again = again(conversation).filter(|_| visitor.may(MemberRole::Developer));
    html! {
        @if let Some(query) = again { a.button href={ (PATH) "/try/call?" (query) } { (lang.t("Call again", "Llamar de nuevo")) } }
        @if conversation.agent_version > 0 && visitor.may(MemberRole::Developer) {
            a.button href={ (PATH) "/agents/" (conversation.agent_id) "/tests/new?conversation=" (conversation.id) } { (lang.t("Make a test", "Crear una prueba")) }
        }
        button type="button" data-copy="page-address" { (lang.t("Copy link", "Copiar enlace")) }
        span.unseen #page-address { (visitor.base_url()) (path) }
        details.exports {
            summary { (lang.t("Export", "Exportar")) }
            ul {
                li { a href={ (path) "/transcript.json" } { "JSON" } }
                li { a href={ (path) "/transcript.txt" } { (lang.t("Text", "Texto")) } }
                @if conversation.voice { li { a href={ (path) "/transcript.srt" } { (lang.t("Subtitles (SRT)", "Subtítulos (SRT)")) } } }
            }
        }
    }
}

/// The most characters of variables that a link carries.
const LONGEST_VARIABLES: usize = 4_000;

/// The fields of a test call like this one; nothing for what was no call to a number.
fn again(conversation: &Conversation) -> Option<String> {
    let number = conversation
        .customer_phone
        .as_ref()
        .filter(|_| conversation.voice)?;
    let sent = Json::parse(conversation.metadata.as_bytes()).ok();
    let sent = sent.as_ref().and_then(Json::as_object).unwrap_or_default();
    // The form has one variable a line.
    let lines = sent
        .iter()
        .map(|(name, value)| format!("{name}={}", shown(value)));
    let lines: Vec<String> = lines.filter(|line| !line.contains('\n')).collect();
    let mut fields = Fields::of([
        ("agent", conversation.agent_id.to_string().as_str()),
        ("to", number.as_str()),
    ]);
    let variables = lines.join("\n");
    if !variables.is_empty() && variables.len() <= LONGEST_VARIABLES {
        fields.push("metadata", &variables);
    }
    Some(fields.encode())
}

/// Actions on a running conversation.
pub(super) fn doings(visitor: &Visitor, conversation: &Conversation) -> Markup {
    let lang = visitor.lang();
    if !visitor.may(MemberRole::Developer) {
        return html! {};
    }
    let id = conversation.id;
    html! {
        @if conversation.voice {
            (form::danger(
                visitor,
                &format!("/conversations/{id}/hang-up"),
                lang.t("Hang up", "Colgar"),
                lang.t("End this call now?", "¿Terminar esta llamada ahora?"),
            ))
        } @else if conversation.channel == Some(offhook_domain::Channel::Chat) {
            a.button href={ (PATH) "/try/chat/" (id) } { (lang.t("Continue chat", "Continuar el chat")) }
        }
    }
}

fn silence(conversation: &Conversation, lang: Lang) -> &'static str {
    match conversation.state.is_terminal() {
        true => lang.t("Nothing was said.", "No se dijo nada."),
        false => lang.t("Nothing has been said yet.", "Aún no se ha dicho nada."),
    }
}

/// `POST /portal/conversations/{id}/hang-up`
pub(super) async fn hang_up(post: Post<Developer>) -> Answer {
    let lang = post.lang();
    let id: ConversationId = post.id("id")?;
    let path = format!("/conversations/{id}");
    let calls = post.services().calls();
    match calls.hang_up(post.caller(), CallHandle(id)).await {
        Ok(_) => {
            let message = lang.t("Hang-up requested.", "Se pidió terminar la llamada.");
            post.done("call.hang_up", id, &path, message).await
        }
        Err(UseCaseError::Conflict(Refusal::CallEnded)) => {
            let message = lang.t(
                "The call had already ended.",
                "La llamada ya había terminado.",
            );
            Ok(post.go(&path, message))
        }
        Err(UseCaseError::Conflict(Refusal::CallElsewhere)) => {
            let message = lang.t(
                "The call is in progress at ElevenLabs, which has no way to end it.",
                "La llamada está en curso en ElevenLabs, que no tiene forma de terminarla.",
            );
            Ok(post.go(&path, message))
        }
        Err(error) => Err(error.into()),
    }
}
