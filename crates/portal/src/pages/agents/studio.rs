//! The panel beside the editor in which a draft is tried, in writing or by voice. The page holds the conversation: each
//! message sends the turns before it and the whole editor, so that one can change the draft and ask again.

use actix_web::web::Payload;
use offhook_http::{ApiError, Code, Start, open_trial};
use offhook_services::{
    Draft, TRIAL_REPLIES, TRIAL_SECONDS, TrialNote, TrialReply, TrialTurn, TurnRole, UseCaseError,
};
use serde::{Deserialize, Serialize};

use super::control::id_of;
use super::document::document;
use super::saving::config_at;
use super::{AgentView, engine_agent};
use crate::pages::conversations::turns::{passages, tool, who};
use crate::pages::trials::metadata;
use crate::parts::words::count;
use crate::prelude::*;
use crate::trouble::{field_of, labelled, sentence};
use crate::visit::{TOKEN_FIELD, check_origin};

/// The panel's fields; no member of a configuration has such a name.
const TEXT: &str = "trial.text";
const TURNS: &str = "trial.turns";
const VARIABLES: &str = "trial.variables";
/// The button of a customer's turn: the conversation goes on from it anew.
const AGAIN: &str = "trial.again";
const RESET: &str = "trial.reset";

/// Entries of a conversation that a page may hold.
const MOST: usize = 400;

/// Something in the panel's conversation.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Entry {
    Agent(String),
    User(String),
    Tool(String),
    /// Documents' names, and the passages.
    Passages(Vec<(String, String)>),
    /// Milliseconds to the first text and in all, and what a customer's reply would cost.
    Took(Option<u32>, u32, i64),
    /// The agent ended the conversation.
    Ended,
}

impl Entry {
    /// As a dialogue remembers it.
    fn turn(&self) -> Option<TrialTurn> {
        let (role, text) = match self {
            Self::Agent(text) => (TurnRole::Agent, text),
            Self::User(text) => (TurnRole::User, text),
            Self::Tool(text) => (TurnRole::Tool, text),
            Self::Passages(_) | Self::Took(..) | Self::Ended => return None,
        };
        Some((role, text.clone()))
    }
}

/// What the panel shows.
#[derive(Default)]
struct Panel<'a> {
    entries: Vec<Entry>,
    text: &'a str,
    variables: &'a str,
    /// The field of the editor that is wrong, if one is, and why there is no answer.
    refused: Option<(Option<String>, String)>,
}

/// The panel as a page begins with it.
pub(super) fn panel(visitor: &Visitor, agent: AgentId) -> Markup {
    draw(visitor, agent, &Panel::default())
}

/// `POST /portal/agents/{id}/trial`: the panel after one more message. Without a script it is a page of its own, and tries the
/// saved draft.
pub(super) async fn say(post: Post<Developer>) -> Answer {
    let view = engine_agent(&post).await?;
    let fields = &post.fields;
    let mut panel = Panel {
        entries: serde_json::from_str(fields.raw(TURNS)).unwrap_or_default(),
        text: fields.raw(TEXT),
        variables: fields.raw(VARIABLES),
        refused: None,
    };
    panel.entries.truncate(MOST);
    let mut said = panel.text.trim().to_owned();
    if fields.is_set(RESET) {
        panel.entries.clear();
        panel.text = "";
    } else {
        if let Some(Entry::User(again)) = fields.text(AGAIN).parse().ok().and_then(|from: usize| {
            panel.entries.truncate(from.saturating_add(1));
            panel.entries.pop()
        }) {
            said = again;
        }
        match answered(&post, &view, &panel, &said).await? {
            Ok(reply) => {
                panel.entries.extend(reply.opening.map(Entry::Agent));
                panel.entries.push(Entry::User(said));
                panel.entries.extend(reply.notes.into_iter().map(entry));
                let took = (reply.first_text_ms, reply.total_ms, reply.credits);
                panel.entries.push(Entry::Took(took.0, took.1, took.2));
                panel.entries.extend(reply.is_last.then_some(Entry::Ended));
                panel.text = "";
            }
            Err(refused) => panel.refused = Some(refused),
        }
    }
    let body = draw(&post, view.agent.id, &panel);
    if post.request().headers().contains_key("hx-request") {
        return Ok(post.part(&body));
    }
    let title = text!(post.lang(), "Try {}", "Probar {}", view.agent.name);
    Ok(post.page(Section::Agents, &title, &body))
}

fn entry(note: TrialNote) -> Entry {
    match note {
        TrialNote::Turn(turn) if turn.role == TurnRole::Tool => Entry::Tool(turn.text),
        TrialNote::Turn(turn) => Entry::Agent(turn.text),
        TrialNote::Passages(found) => {
            let found = found.into_iter();
            Entry::Passages(found.map(|one| (one.document, one.text)).collect())
        }
    }
}

type Refused = (Option<String>, String);

async fn answered(
    post: &Post<Developer>,
    view: &AgentView,
    panel: &Panel<'_>,
    said: &str,
) -> Result<Result<TrialReply, Refused>> {
    let draft = match draft(post, view, &post.fields).await? {
        Ok(draft) => draft,
        Err(message) => return Ok(Err((None, message))),
    };
    let turns = panel.entries.iter().filter_map(Entry::turn).collect();
    let trials = post.services().trials();
    let error = match trials.reply(post.caller(), &draft, turns, said).await {
        Ok(reply) => return Ok(Ok(reply)),
        Err(UseCaseError::NotFound) => return Err(Trouble::not_found()),
        Err(UseCaseError::NoReply) => {
            let why = post.t(
                "No model responded. Nothing was charged. Send it again, or choose another model.",
                "Ningún modelo respondió. No se cobró nada. Envíalo de nuevo o elige otro modelo.",
            );
            return Ok(Err((None, why.to_owned())));
        }
        Err(error) => ApiError::from(error),
    };
    if error.code().status().is_server_error() {
        error.log("a trial");
    }
    let labels = [("text", post.t("Message", "Mensaje"))];
    let sentence = labelled(sentence(&error, post.lang()), &labels);
    Ok(Err(named(&sentence)))
}

/// A refusal's field in the editor, and its sentence.
fn named(message: &str) -> Refused {
    let found =
        field_of(message).and_then(|(path, why)| Some((path.strip_prefix("config.")?, why)));
    match found {
        Some((path, why)) => (Some(path.to_owned()), why.to_owned()),
        None => (None, message.to_owned()),
    }
}

/// What the editor shows now; without its fields, the latest version.
async fn draft(
    visitor: &Visitor,
    view: &AgentView,
    fields: &Fields,
) -> Result<Result<Draft, String>> {
    let lang = visitor.lang();
    let is_sent = fields.iter().any(|(name, _)| name == "system_prompt");
    let config = match is_sent {
        true => match document(fields) {
            Ok(config) => config,
            Err(fault) => return Ok(Err(Trouble::from(fault).of_form(lang, &[])?)),
        },
        false => config_at(visitor, view, view.agent.head_version).await?,
    };
    let variables = metadata(&Fields::of([("metadata", fields.raw(VARIABLES))]), lang);
    let metadata = match variables
        .as_ref()
        .map(|json| Metadata::from_json(json, "metadata"))
    {
        Ok(Ok(metadata)) => metadata,
        Ok(Err(fault)) => return Ok(Err(Trouble::from(fault).of_form(lang, &[])?)),
        Err(message) => return Ok(Err(message.clone())),
    };
    let agent = view.agent.id;
    Ok(Ok(Draft {
        agent,
        config,
        metadata,
    }))
}

/// `GET /portal/agents/{id}/talk`: a WebSocket over which the page talks with the draft (`offhook.voice.v1`). Its `start` has
/// the editor's form.
pub(super) async fn talk(visit: Visit<Developer>, payload: Payload) -> Answer {
    check_origin(visit.request())?;
    let req = visit.request().clone();
    let begin = move |start: Start| async move {
        let fields = Fields::parse(start.form.unwrap_or_default().as_bytes());
        let lang = visit.lang();
        let refused = |trouble: Trouble| match trouble {
            Trouble::Said(error) => error.code().error(sentence(&error, lang)),
            other => ApiError::from(UseCaseError::NotFound).because(format!("{other:?}")),
        };
        if !visit.owns_token(fields.raw(TOKEN_FIELD)) {
            return Err(refused(Trouble::not_found()));
        }
        let begun = async {
            let view = engine_agent(&visit).await?;
            let draft = match draft(&visit, &view, &fields).await? {
                Ok(draft) => draft,
                Err(message) => return Err(Trouble::Said(Code::InvalidBody.error(message))),
            };
            let trials = visit.services().trials();
            Ok(trials.talk(visit.caller(), &draft).await?)
        };
        begun.await.map_err(refused)
    };
    Ok(open_trial(&req, payload.into_inner(), begin)?)
}

fn draw(visitor: &Visitor, agent: AgentId, panel: &Panel<'_>) -> Markup {
    let t = visitor.lang();
    let path = format!("{PATH}/agents/{agent}/trial");
    let turns = serde_json::to_string(&panel.entries).unwrap_or_default();
    let (replies, minutes) = (count(TRIAL_REPLIES.into()), TRIAL_SECONDS / 60);
    html! {
        aside.trial #trial aria-labelledby="trial-title" data-talk={ (PATH) "/agents/" (agent) "/talk" }
            data-agent=(who("agent", t)) data-user=(who("user", t)) data-tool=(who("tool", t))
            data-waits=(t.t("Connecting…", "Conectando…")) data-listens=(t.t("Listening. Speak now.", "Escuchando. Habla."))
            data-ended=(t.t("The conversation ended.", "La conversación terminó."))
            data-lost=(t.t("The connection broke.", "Se cortó la conexión."))
            data-microphone=(t.t("The microphone is not available. Allow it for this page.", "El micrófono no está disponible. Permítelo para esta página."))
            data-passages=(t.t("Passages used", "Pasajes usados")) data-latency=(t.t("Latency", "Latencia")) {
            div.trial-head {
                h2 #trial-title { (t.t("Try this draft", "Probar este borrador")) }
                span.badge { (t.t("Trial", "Prueba")) }
            }
            form #trial-form method="post" action=(path) hx-post=(path) hx-include="form[data-keep]" hx-target="#trial" hx-swap="outerHTML"
                hx-disabled-elt="find button" {
                input type="hidden" name=(TOKEN_FIELD) value=(visitor.form_token());
                input type="hidden" name=(TURNS) value=(turns);
                div.trial-log role="log" aria-live="polite" tabindex="0" aria-label=(t.t("Conversation", "Conversación")) {
                    ol.turns #trial-turns {
                        @for (place, entry) in panel.entries.iter().enumerate() { (shown(entry, place, t)) }
                    }
                }
                p.trial-state role="status" hidden {}
                @if let Some((field, why)) = &panel.refused { (refusal(field.as_deref(), why)) }
                @if panel.entries.is_empty() && panel.refused.is_none() {
                    p.hint { (t.t(
                        "Write or talk as your customer would. The agent answers as the form says now, saved or not. Change it and ask again.",
                        "Escribe o habla como lo haría tu cliente. El agente responde como dice el formulario ahora, guardado o no. Cámbialo y pregunta de nuevo.",
                    )) }
                }
                div.trial-say {
                    label.unseen for="trial-text" { (t.t("Message", "Mensaje")) }
                    input #trial-text type="text" name=(TEXT) value=(panel.text) autocomplete="off" dir="auto"
                        placeholder=(t.t("Message as the customer…", "Mensaje como cliente…"));
                    button.primary type="submit" { (t.t("Send", "Enviar")) }
                }
                div.bar-of-actions {
                    button type="button" data-talk-button="" data-hang-up=(t.t("Hang up", "Colgar")) hidden { (t.t("Talk", "Hablar")) }
                    meter.trial-level min="0" max="0.3" value="0" hidden aria-label=(t.t("Microphone level", "Nivel del micrófono")) {}
                    @if !panel.entries.is_empty() {
                        button type="submit" name=(RESET) value="on" formnovalidate { (t.t("Start over", "Empezar de nuevo")) }
                    }
                    span.htmx-indicator role="status" { (t.t("The agent is typing…", "El agente está escribiendo…")) }
                }
                details.plain open[!panel.variables.is_empty()] {
                    summary { (t.t("Variables", "Variables")) }
                    label.unseen for="trial-variables" { (t.t("Variables", "Variables")) }
                    textarea #trial-variables name=(VARIABLES) rows="3" spellcheck="false" aria-describedby="trial-variables-hint" { "\n" (panel.variables) }
                    p.hint #trial-variables-hint { (t.t("One per line, as name=value.", "Una por línea, como nombre=valor.")) }
                }
            }
            p.hint { (text!(t,
                "Not billed, not stored, not in your conversations. Tools act for real. Up to {replies} replies and {minutes} minutes of talk a day.",
                "No se cobra, no se guarda y no está en tus conversaciones. Las herramientas actúan de verdad. Hasta {replies} respuestas y {minutes} minutos de voz al día.")) }
        }
    }
}

fn refusal(field: Option<&str>, why: &str) -> Markup {
    html! {
        p.refusal role="alert" tabindex="-1" {
            @if let Some(field) = field { a href={ "#" (id_of(field)) } { (field) } ": " }
            (why)
        }
    }
}

fn shown(entry: &Entry, place: usize, lang: Lang) -> Markup {
    let turn = |role: &str, text: &str, more: Markup| {
        html! {
            li.(role) {
                p.who { strong { (who(role, lang)) } (more) }
                p.said dir="auto" { (text) }
            }
        }
    };
    match entry {
        Entry::Agent(text) => turn("agent", text, html! {}),
        Entry::User(text) => turn(
            "user",
            text,
            html! {
                " " button type="submit" name=(AGAIN) value=(place) formnovalidate
                    title=(lang.t("Ask this again with the form as it is now", "Preguntar esto de nuevo con el formulario como está ahora")) {
                    (lang.t("Ask again", "Preguntar de nuevo"))
                }
            },
        ),
        Entry::Tool(text) => {
            html! { li.tool { p.who { strong { (who("tool", lang)) } } (tool(text, lang)) } }
        }
        Entry::Passages(found) => html! {
            li.aside {
                @let found: Vec<_> = found.iter().map(|(document, text)| (&**document, &**text)).collect();
                (passages(&found, lang))
            }
        },
        Entry::Took(first, total, credits) => html! {
            li.aside {
                p.hint {
                    @if let Some(first) = first { (text!(lang, "First text after {first} ms", "Primer texto a los {first} ms")) " · " }
                    (text!(lang, "{total} ms in all", "{total} ms en total")) " · "
                    (text!(lang, "{credits} credits for a customer", "{credits} créditos para un cliente"))
                }
            }
        },
        Entry::Ended => {
            html! { li.aside { p.hint { (lang.t("The agent ended the conversation.", "El agente terminó la conversación.")) } } }
        }
    }
}
