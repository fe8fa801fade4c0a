//! A test chat with a published agent, on channel `chat`.

use offhook_http::ApiError;
use offhook_services::store::{ChatView, Moment};
use offhook_services::{Answering, ChatEvent, Refusal, UseCaseError};

use super::{Variables, active_agents, agent_field, metadata, metadata_fields, nobody_to_try};
use crate::pages::conversations::stretch::{Place, Stretch};
use crate::pages::conversations::turns::Turns;
use crate::parts::agent_choice::AgentChoice;
use crate::prelude::*;
use crate::trouble::{labelled, sentence};
use crate::visit::TOKEN_FIELD;

/// The most turns of one reply, tools and text, with turns from another window.
const TURNS_AT_ONCE: u32 = 100;

/// `GET /portal/try/chat`
pub(super) async fn begin(visit: Visit<Developer>) -> Answer {
    let agents = active_agents(&visit, Some(Runtime::Engine)).await?;
    let variables = Variables::of(&visit, &agents, visit.query()).await?;
    let body = draw(&visit, (&agents, &variables), visit.query(), None);
    Ok(visit.page(Section::Conversations, title(&visit), &body))
}

fn title(visitor: &Visitor) -> &'static str {
    visitor.t("Try a chat", "Probar un chat")
}

fn draw(
    visitor: &Visitor,
    (agents, variables): (&AgentChoice, &Variables),
    fields: &Fields,
    notice: Option<&str>,
) -> Markup {
    let lang = visitor.lang();
    if agents.is_empty() {
        return html! { (form::refusal(notice)) (nobody_to_try(lang)) };
    }
    let fields = html! {
        (agent_field(visitor, agents, fields))
        (metadata_fields("/try/chat", variables, fields, lang))
        p.hint { (lang.t(
            "Each reply costs credits like in any chat. A chat ends after half an hour without messages.",
            "Cada respuesta cuesta créditos como en cualquier chat. Un chat sin mensajes termina a la media hora.",
        )) }
        button.primary type="submit" { (lang.t("Start chat", "Iniciar chat")) }
    };
    html! { (form::refusal(notice)) (form::form(visitor, "/try/chat", &fields)) }
}

/// `POST /portal/try/chat`
pub(super) async fn open(post: Post<Developer>) -> Answer {
    let opened = match metadata(&post.fields, post.lang()) {
        Ok(metadata) => {
            let agent = Json::from(post.fields.text("agent"));
            let body = Json::object([("agent_id", agent), ("metadata", metadata)]);
            let chats = post.services().chats();
            match chats.open_for_member(post.caller(), &body).await {
                Ok(id) => Ok(id),
                Err(error) => Err(post.message_of(error, &labels(post.lang()))?),
            }
        }
        Err(notice) => Err(notice),
    };
    match opened {
        Ok(id) => {
            let path = format!("/try/chat/{id}");
            post.done("chat.begin", id, &path, "").await
        }
        Err(notice) => {
            let agents = active_agents(&post, Some(Runtime::Engine)).await?;
            let variables = Variables::of(&post, &agents, &post.fields).await?;
            let body = draw(&post, (&agents, &variables), &post.fields, Some(&notice));
            Ok(post.refused(Section::Conversations, title(&post), &body))
        }
    }
}

/// `GET /portal/try/chat/{id}`
pub(super) async fn show(visit: Visit<Developer>) -> Answer {
    let id: ConversationId = visit.id("id")?;
    let (title, body) = whole(&visit, id, "", None).await?;
    Ok(visit.page(Section::Conversations, &title, &body))
}

/// The chat's page and its title, with the input of a refused message.
async fn whole(
    visitor: &Visitor,
    id: ConversationId,
    text: &str,
    refused: Option<&Refused>,
) -> Result<(String, Markup)> {
    let chats = visitor.services().chats();
    let view = chats.of_member(visitor.caller(), id).await?;
    let conversations = visitor.services().conversations();
    let found = conversations.get(visitor.caller(), id, false).await?;
    let conversation = found.ok_or_else(Trouble::not_found)?;
    let turns = Stretch::read(visitor, id, Place::NEWEST).await?;
    let lang = visitor.lang();
    let title = text!(lang, "Chat with {}", "Chat con {}", conversation.agent_name);
    let body = html! {
        div #earlier { (turns.earlier(lang)) }
        div role="log" aria-live="polite" { ol.turns #turns { (items(visitor, &turns.turns)) } }
        (message(visitor, &view, turns.last(), text, refused))
        p { a href={ (PATH) "/conversations/" (id) } { (lang.t("View conversation", "Ver conversación")) } }
    };
    Ok((title, body))
}

fn items(visitor: &Visitor, turns: &[Moment]) -> Markup {
    let drawn = Turns {
        lang: visitor.lang(),
        answered_at: None,
        has_audio: false,
    };
    drawn.items(turns)
}

/// The message form, or a note that the chat has ended.
fn message(
    visitor: &Visitor,
    view: &ChatView,
    after: i32,
    text: &str,
    refused: Option<&Refused>,
) -> Markup {
    let lang = visitor.lang();
    let notice = refused.map(|refused| refused.notice.as_str());
    let id = view.session.conversation_id;
    if !view.session.is_open {
        return html! {
            div #message {
                (form::refusal(notice))
                @if notice.is_none() { p.notice role="status" { (lang.t("This chat has ended.", "Este chat terminó.")) } }
                @if !text.is_empty() { p.said dir="auto" { (text) } }
                p { a.button href={ (PATH) "/try/chat?agent=" (view.session.agent_id) } { (lang.t("Start another chat", "Iniciar otro chat")) } }
            }
        };
    }
    let path = format!("{PATH}/try/chat/{id}/messages");
    // Each drawing of the form is its own message: submitted twice, it is answered once.
    let once = match refused {
        Some(Refused {
            same_id: Some(id), ..
        }) => id.clone(),
        _ => visitor.request_id().to_string(),
    };
    let label = lang.t("Your message", "Tu mensaje");
    html! {
        div #message data-focus="" {
            (form::refusal(notice))
            form method="post" action=(path) hx-post=(path) hx-target="#message" hx-swap="outerHTML" hx-disabled-elt="find button" {
                input type="hidden" name=(TOKEN_FIELD) value=(visitor.form_token());
                input type="hidden" name="message_id" value=(once);
                input type="hidden" name="after" value=(after);
                (Input::text("text", label).value(text).required())
                button.primary type="submit" { (lang.t("Send", "Enviar")) }
                " " span.htmx-indicator role="status" { (lang.t("The agent is typing…", "El agente está escribiendo…")) }
            }
            (form::button(visitor, &format!("/try/chat/{id}/end"), lang.t("End chat", "Terminar chat"), &[]))
        }
    }
}

/// `POST /portal/try/chat/{id}/messages`: for htmx the new turns and an empty field, otherwise the page.
pub(super) async fn say(post: Post<Developer>) -> Answer {
    let id: ConversationId = post.id("id")?;
    let chats = post.services().chats();
    let view = chats.of_member(post.caller(), id).await?;
    let refused = answered(&post, &view).await?;
    let is_part = post.request().headers().contains_key("hx-request");
    let text = match refused {
        Some(_) => post.fields.raw("text"),
        None => "",
    };
    if !is_part {
        if refused.is_none() {
            return Ok(post.go(&format!("/try/chat/{id}"), ""));
        }
        let (title, body) = whole(&post, id, text, refused.as_ref()).await?;
        return Ok(post.refused(Section::Conversations, &title, &body));
    }
    let after = post.fields.text("after").parse().unwrap_or(0);
    let conversations = post.services().conversations();
    let page = conversations
        .turns(post.caller(), id, after, TURNS_AT_ONCE)
        .await?;
    let page = page.ok_or_else(Trouble::not_found)?;
    // The answer may have ended it.
    let view = chats.of_member(post.caller(), id).await?;
    if page.has_more {
        // The page is far behind, such as after many messages in another window: the newest turns replace all.
        let turns = Stretch::read(&post, id, Place::NEWEST).await?;
        return Ok(post.part(&html! {
            (message(&post, &view, turns.last(), text, refused.as_ref()))
            div #earlier hx-swap-oob="true" { (turns.earlier(post.lang())) }
            ol hx-swap-oob="innerHTML:#turns" { (items(&post, &turns.turns)) }
        }));
    }
    let turns = page.items;
    let last = turns.last().map_or(after, |turn| turn.seq);
    Ok(post.part(&html! {
        (message(&post, &view, last, text, refused.as_ref()))
        @if !turns.is_empty() { ol hx-swap-oob="beforeend:#turns" { (items(&post, &turns)) } }
    }))
}

/// Why a message has no answer.
struct Refused {
    notice: String,
    /// The message's id if it is to be sent again under the same one: its text is stored already.
    same_id: Option<String>,
}

impl Refused {
    /// Server errors are also logged.
    fn of(error: UseCaseError, message_id: &str, lang: Lang) -> Result<Self> {
        let is_kept = matches!(
            error,
            UseCaseError::NoReply
                | UseCaseError::Conflict(Refusal::BeingAnswered)
                | UseCaseError::UnknownCommit(_)
        );
        if matches!(error, UseCaseError::NotFound) {
            return Err(error.into());
        }
        let known = why(&error, lang);
        let error = ApiError::from(error);
        if error.code().status().is_server_error() {
            error.log("a test chat");
        }
        Ok(Self {
            notice: known.map_or_else(
                || labelled(sentence(&error, lang), &labels(lang)),
                str::to_owned,
            ),
            same_id: is_kept.then(|| message_id.to_owned()),
        })
    }
}

/// The labels of a chat's fields.
const fn labels(lang: Lang) -> [(&'static str, &'static str); 3] {
    [
        ("agent_id", lang.t("Agent", "Agente")),
        ("metadata", lang.t("Variables", "Variables")),
        ("text", lang.t("Your message", "Tu mensaje")),
    ]
}

/// The text for an error of the chat itself.
const fn why(error: &UseCaseError, lang: Lang) -> Option<&'static str> {
    Some(match error {
        UseCaseError::NoReply => lang.t(
            "No model responded. Your message is kept and nothing was charged. Send it again.",
            "Ningún modelo respondió. Tu mensaje se conserva y no se cobró nada. Envíalo de nuevo.",
        ),
        UseCaseError::Conflict(Refusal::BeingAnswered) => lang.t(
            "Another message is being answered. Wait for the reply, then send this one.",
            "Se está respondiendo otro mensaje. Espera su respuesta y luego envía este.",
        ),
        UseCaseError::Conflict(Refusal::SessionEnded) => lang.t(
            "The chat has ended. Start another one.",
            "El chat terminó. Inicia otro.",
        ),
        UseCaseError::UnknownCommit(_) => lang.t(
            "It may have been answered. Send it again: it is answered only once.",
            "Quizá ya se respondió. Envíalo de nuevo: se responde una sola vez.",
        ),
        _ => return None,
    })
}

/// Waits for the answer to the form's message.
async fn answered(post: &Post<Developer>, view: &ChatView) -> Result<Option<Refused>> {
    let fields = &post.fields;
    let message_id = fields.text("message_id");
    let body = Json::object([
        ("text", Json::from(fields.raw("text"))),
        ("message_id", Json::from(message_id)),
    ]);
    let refused = |error| Refused::of(error, message_id, post.lang()).map(Some);
    match post.services().chats().send(view, &body).await {
        Ok(Answering::Before(_)) => Ok(None),
        Ok(Answering::Now(mut events)) => loop {
            match events.recv().await {
                Some(ChatEvent::Completed(_)) => return Ok(None),
                Some(ChatEvent::Failed(error)) => return refused(error),
                Some(_) => {}
                None => return refused(UseCaseError::NoReply),
            }
        },
        Err(error) => refused(error),
    }
}

/// `POST /portal/try/chat/{id}/end`
pub(super) async fn end(post: Post<Developer>) -> Answer {
    let id: ConversationId = post.id("id")?;
    let chats = post.services().chats();
    let view = chats.of_member(post.caller(), id).await?;
    chats.end(&view).await?;
    let notice = post.t("The chat has ended.", "El chat terminó.");
    let path = format!("/conversations/{id}");
    post.done("chat.end", id, &path, notice).await
}
