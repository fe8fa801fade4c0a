//! One agent: its state, and what can be done with it.

use maud::{Markup, html};
use offhook_domain::json::Json;
use offhook_domain::{AgentStatus, MemberRole, Runtime};
use offhook_services::AgentView;

use super::document::{at, plain};
use super::versions::{publish_form, status_button, unpublished};
use super::{agent_of, runtime_name, status_badge, tabs};
use crate::fields::Fields;
use crate::layout::Section;
use crate::parts::form::{Input, danger, form, refusal};
use crate::parts::list;
use crate::parts::version;
use crate::parts::words::when;
use crate::trouble::{Answer, Result, Trouble};
use crate::visit::{Developer, Post, Viewer, Visit, Visitor};

/// `GET /portal/agents/{id}`
pub(super) async fn agent(visit: Visit<Viewer>) -> Answer {
    let view = agent_of(&visit).await?;
    let body = draw(&visit, &view, None, None);
    Ok(visit.page(Section::Agents, &view.agent.name, &body))
}

/// `typed` is the form of a new name that was refused.
fn draw(visitor: &Visitor, view: &AgentView, said: Option<&str>, typed: Option<&Fields>) -> Markup {
    html! {
        (tabs(visitor, &view.agent, ""))
        (refusal(said))
        @match view.agent.runtime {
            Runtime::Engine => (engine(visitor, view)),
            Runtime::Legacy => (legacy(visitor, view)),
        }
        @if visitor.may(MemberRole::Developer) { (rename_form(visitor, view, typed)) }
    }
}

fn member(view: &AgentView, path: &str) -> String {
    let config = view.config.as_ref();
    config
        .and_then(|config| at(config, path))
        .map(plain)
        .unwrap_or_default()
}

fn or_dash(text: &str) -> Markup {
    match text {
        "" => html! { span.none { "–" } },
        text => html! { (text) },
    }
}

fn engine(visitor: &Visitor, view: &AgentView) -> Markup {
    let t = visitor.lang();
    let (agent, agents) = (&view.agent, visitor.services().agents());
    let of = |path: &str| member(view, path);
    let pair = |one: &str, other: &str| {
        let mut both = vec![of(one), of(other)];
        both.retain(|text| !text.is_empty());
        both.join(" · ")
    };
    let published = match agent.published_version {
        0 => t.t("never", "nunca").to_owned(),
        version => version.to_string(),
    };
    html! {
        @match agent.status {
            AgentStatus::Error => p.warning { (t.t(
                "The published version cannot hold a call: a model or voice that it needs is not set up here any more. Publish one that can.",
                "La versión publicada no puede atender llamadas: falta un modelo o una voz que necesita. Publica una que sí pueda.",
            )) },
            AgentStatus::Archived => p.warning { (t.t(
                "Put away. Its conversations stay. Restored, it is paused.",
                "Archivado. Sus conversaciones se conservan. Al restaurarlo queda en pausa.",
            )) },
            _ => {},
        }
        @if view.config.as_ref().is_some_and(|config| agents.has_no_sound_for(config)) { p.warning { (t.t(
            "It asks to record calls, or for a background sound, and calls on this service are simulated: nothing is recorded or heard.",
            "Pide grabar las llamadas o un sonido de fondo, y las llamadas de este servicio son simuladas: no se graba ni se oye nada.",
        )) } }
        dl.facts {
            (list::fact(t.t("Status", "Estado"), status_badge(agent.status, t)))
            (list::fact(t.t("Published version", "Versión publicada"), published))
            (list::fact(t.t("Newest version", "Versión más nueva"), agent.head_version))
            (list::fact(t.t("Language", "Idioma"), &agent.language))
            (list::fact(t.t("Model", "Modelo"), or_dash(&pair("llm.provider", "llm.model"))))
            (list::fact(t.t("Voice", "Voz"), or_dash(&pair("voice.provider", "voice.voice_id"))))
            (list::fact(t.t("Changed", "Modificado"), when(agent.updated_at)))
            (list::fact("Id", html! { code { (agent.id) } }))
        }
        (unpublished(visitor, view))
        @if visitor.may(MemberRole::Developer) { (actions(visitor, view)) }
        h2 { (t.t("What it says first", "Lo primero que dice")) }
        (prose(&of("first_message"), t.t("Nothing: the other side begins.", "Nada: empieza la otra persona.")))
        h2 { (t.t("Instructions", "Instrucciones")) }
        (prose(&of("system_prompt"), t.t("Not written yet: it cannot be published without.", "Sin escribir: no se puede publicar así.")))
    }
}

/// A text of the agent's, or what it means that there is none.
fn prose(text: &str, none: &str) -> Markup {
    html! { @if text.is_empty() { p.soft { (none) } } @else { pre.prose dir="auto" { (text) } } }
}

fn actions(visitor: &Visitor, view: &AgentView) -> Markup {
    let t = visitor.lang();
    let agent = &view.agent;
    let id = agent.id;
    let status = agent.status;
    if status == AgentStatus::Archived {
        let restore = status_button(visitor, view, "paused", t.t("Restore", "Restaurar"));
        return html! { div.bar-of-actions { (restore) } };
    }
    let is_news = agent.head_version != agent.published_version || status == AgentStatus::Error;
    html! {
        div.bar-of-actions {
            a.button.primary[!is_news] href={ (crate::PATH) "/agents/" (id) "/edit" } { (t.t("Edit", "Editar")) }
            @if status == AgentStatus::Active {
                a.button href={ (crate::PATH) "/try/chat?agent=" (id) } { (t.t("Try a chat", "Probar un chat")) }
                a.button href={ (crate::PATH) "/try/call?agent=" (id) } { (t.t("Place a test call", "Hacer una llamada de prueba")) }
                (status_button(visitor, view, "paused", t.t("Pause", "Pausar")))
            }
            @if status == AgentStatus::Paused && agent.published_version != 0 {
                (status_button(visitor, view, "active", t.t("Activate", "Activar")))
            }
            (danger(visitor, &format!("/agents/{id}/archive"), t.t("Archive", "Archivar"), t.t(
                "Archive this agent? It takes no more calls and its phone numbers are unassigned. Its conversations stay.",
                "¿Archivar este agente? Ya no recibirá llamadas y sus números quedarán sin asignar. Sus conversaciones se conservan.",
            )))
        }
        @if is_news && agent.head_version != 0 {
            div.bar-of-actions { (publish_form(visitor, view, agent.head_version)) }
        }
    }
}

fn legacy(visitor: &Visitor, view: &AgentView) -> Markup {
    let t = visitor.lang();
    let agent = &view.agent;
    let of = |path: &str| member(view, path);
    let provider_id = agent.provider_agent_id.as_deref().unwrap_or_default();
    html! {
        p.lead { (t.t(
            "This agent's configuration lives at its provider: what it says, its model and its voice are changed there. What you see here is the summary that the provider gave, asked for anew every hour. Here it can be renamed, called and put to work in batches.",
            "La configuración de este agente vive con su proveedor: lo que dice, su modelo y su voz se cambian ahí. Lo que ves aquí es el resumen que dio el proveedor, y se vuelve a pedir cada hora. Aquí puedes renombrarlo, usarlo en llamadas y en lotes.",
        )) }
        dl.facts {
            (list::fact(t.t("Status", "Estado"), status_badge(agent.status, t)))
            (list::fact(t.t("Runtime", "Entorno"), runtime_name(agent.runtime, t)))
            (list::fact(t.t("Id at the provider", "Id con el proveedor"), html! { code { (provider_id) } }))
            (list::fact(t.t("Language", "Idioma"), &agent.language))
            (list::fact(t.t("Model", "Modelo"), or_dash(&of("llm.model"))))
            (list::fact(t.t("Voice", "Voz"), or_dash(&of("voice.voice_id"))))
            (list::fact(t.t("Changed", "Modificado"), when(agent.updated_at)))
            (list::fact("Id", html! { code { (agent.id) } }))
        }
        h2 { (t.t("Numbers that it calls from", "Números desde los que llama")) }
        @if view.numbers.is_empty() {
            p.soft { (t.t("None.", "Ninguno.")) }
        } @else {
            ul { @for number in &view.numbers { li { (number.phone_number) " " span.soft { (number.label) } } } }
        }
        @for (path, name) in [
            ("first_message", t.t("What it says first", "Lo primero que dice")),
            ("system_prompt", t.t("Instructions", "Instrucciones")),
        ] {
            h2 { (name) }
            (prose(&of(path), t.t("The provider does not say.", "El proveedor no lo indica.")))
        }
    }
}

/// The field of an agent's name.
pub(super) fn name_fields(name: &str) -> Fields {
    Fields::of([("name", name)])
}

fn rename_form(visitor: &Visitor, view: &AgentView, typed: Option<&Fields>) -> Markup {
    let t = visitor.lang();
    let agent = &view.agent;
    if agent.status == AgentStatus::Archived {
        return html! {};
    }
    let stored = version::stamped(name_fields(&view.agent.name));
    let fields = typed.unwrap_or(&stored);
    html! {
        h2 { (t.t("Rename", "Renombrar")) }
        (form(visitor, &format!("/agents/{}/name", agent.id), &html! {
            (version::hidden(fields))
            (Input::text("name", t.t("Name", "Nombre")).value(fields.text("name")).required()
                .hint(t.t("1 to 120 characters.", "De 1 a 120 caracteres.")))
            button type="submit" { (t.t("Rename", "Renombrar")) }
        }))
    }
}

/// `POST /portal/agents/{id}/name`
pub(super) async fn rename(post: Post<Developer>) -> Answer {
    let (view, t) = (agent_of(&post).await?, post.lang());
    // An archived one is not renamed at all, and says so.
    if view.agent.status != AgentStatus::Archived
        && let Some(late) = version::stale(&name_fields(&view.agent.name), &post.fields)
    {
        let body = draw(&post, &view, Some(version::said(t)), Some(&late));
        return Ok(post.refused(Section::Agents, &view.agent.name, &body));
    }
    let body = Json::object([("name", Json::from(post.fields.text("name")))]);
    let agents = post.services().agents();
    let done = agents.update(post.account(), view.agent.id, &body).await;
    let said = t.t("Renamed.", "Renombrado.");
    let typed = Some(&post.fields);
    ended(&post, &view, typed, done.map(drop), "agent.update", said).await
}

/// `POST /portal/agents/{id}/status`
pub(super) async fn set_status(post: Post<Developer>) -> Answer {
    let view = agent_of(&post).await?;
    let status = post.fields.text("status");
    let body = Json::object([("status", Json::from(status))]);
    let said = match status {
        "active" => post.t(
            "The agent takes calls again.",
            "El agente vuelve a recibir llamadas.",
        ),
        _ => post.t(
            "The agent is paused: it takes no calls until it is activated.",
            "El agente está en pausa: no recibe llamadas hasta que lo actives.",
        ),
    };
    let agents = post.services().agents();
    let done = agents.update(post.account(), view.agent.id, &body).await;
    ended(&post, &view, None, done.map(drop), "agent.status", said).await
}

/// Back to the agent, with what became of the wish; a name that was typed stays in its form.
async fn ended<E: Into<Trouble>>(
    post: &Post<Developer>,
    view: &AgentView,
    typed: Option<&Fields>,
    done: Result<(), E>,
    action: &str,
    said: &str,
) -> Answer {
    let id = view.agent.id;
    let Err(error) = done else {
        return post.done(action, id, &format!("/agents/{id}"), said).await;
    };
    let said = post.told(error, &[("name", post.t("Name", "Nombre"))])?;
    let body = draw(post, view, Some(&said), typed);
    Ok(post.refused(Section::Agents, &view.agent.name, &body))
}

/// `POST /portal/agents/{id}/archive`
pub(super) async fn archive(post: Post<Developer>) -> Answer {
    let view = agent_of(&post).await?;
    let agents = post.services().agents();
    let done = agents.archive(post.account(), view.agent.id).await;
    let said = post.t("The agent is archived.", "El agente está archivado.");
    ended(&post, &view, None, done, "agent.archive", said).await
}
