//! One agent: its status and actions.

use offhook_services::AgentView;

use super::choices::vendor;
use super::document::{at, plain};
use super::versions::{publish_form, status_button, unpublished};
use super::{agent_of, refused_tab, runtime_name, status_badge, tabbed};
use crate::pages::overview::of_agent;
use crate::parts::form::{button, danger, form, refusal};
use crate::parts::version;
use crate::prelude::*;

/// The longest name of an agent.
const NAME_CHARS: usize = 120;

/// `GET /portal/agents/{id}`
pub(super) async fn agent(visit: Visit<Viewer>) -> Answer {
    let view = agent_of(&visit).await?;
    let body = draw(&visit, &view, None, None).await?;
    Ok(tabbed(&visit, &view.agent, "", &body))
}

async fn draw(
    visitor: &Visitor,
    view: &AgentView,
    notice: Option<&str>,
    typed: Option<&Fields>,
) -> Result<Markup> {
    let is_used = view.agent.published_version != 0 || view.agent.runtime == Runtime::Legacy;
    let figures = match is_used {
        true => of_agent(visitor, view.agent.id).await?,
        false => html! {},
    };
    Ok(html! {
        (refusal(notice))
        @match view.agent.runtime {
            Runtime::Engine => (engine(visitor, view, &figures)),
            Runtime::Legacy => (legacy(visitor, view, &figures)),
        }
        @if visitor.may(MemberRole::Developer) && view.agent.status != AgentStatus::Archived {
            (rename_form(visitor, view, typed))
            @if view.agent.runtime == Runtime::Engine { (upkeep(visitor, view)) }
        }
    })
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

fn engine(visitor: &Visitor, view: &AgentView, figures: &Markup) -> Markup {
    let t = visitor.lang();
    let (agent, agents) = (&view.agent, visitor.services().agents());
    let of = |path: &str| member(view, path);
    let pair = |one: &str, other: &str| {
        let mut both = vec![vendor(t, &of(one)).to_owned(), of(other)];
        both.retain(|text| !text.is_empty());
        both.join(" · ")
    };
    let published = match agent.published_version {
        0 => t.t("Never", "Nunca").to_owned(),
        version => version.to_string(),
    };
    html! {
        @match agent.status {
            AgentStatus::Error => p.warning { (t.t(
                "The published version cannot take calls: a model or voice it needs is no longer set up on this service. Publish a version that works.",
                "La versión publicada no puede atender llamadas: un modelo o una voz que necesita ya no está configurado en este servicio. Publica una versión que funcione.",
            )) },
            AgentStatus::Archived => p.warning { (t.t(
                "This agent is archived. Its conversations are kept. If you restore it, it is paused.",
                "Este agente está archivado. Sus conversaciones se conservan. Al restaurarlo queda en pausa.",
            )) },
            _ => {},
        }
        @if view.config.as_ref().is_some_and(|config| agents.has_no_sound_for(config)) { p.warning { (t.t(
            "Recording or a background sound is on, but calls on this service are simulated: nothing is recorded or played.",
            "La grabación o un sonido de fondo está activado, pero las llamadas de este servicio son simuladas: no se graba ni se oye nada.",
        )) } }
        dl.facts {
            (list::fact(t.t("Status", "Estado"), status_badge(agent.status, t)))
            (list::fact(t.t("Published version", "Versión publicada"), published))
            (list::fact(t.t("Latest version", "Última versión"), agent.head_version))
            (list::fact(t.t("Language", "Idioma"), &agent.language))
            (list::fact(t.t("Model", "Modelo"), or_dash(&pair("llm.provider", "llm.model"))))
            (list::fact(t.t("Voice", "Voz"), or_dash(&pair("voice.provider", "voice.voice_id"))))
            @if !view.numbers.is_empty() {
                (list::fact(t.t("Phone numbers", "Números"), html! {
                    @for number in &view.numbers { div { (number.phone_number) } }
                }))
            }
            (list::fact(t.t("Updated", "Actualizado"), when(agent.updated_at)))
            (list::copied(t, "id", "ID", agent.id))
        }
        @if visitor.may(MemberRole::Developer) { (actions(visitor, view)) } @else { (unpublished(visitor, view)) }
        (figures)
        section {
            h2 { (t.t("First message", "Primer mensaje")) }
            (prose(&of("first_message"), t.t("None. The caller speaks first.", "Ninguno. La otra persona habla primero.")))
        }
        section {
            h2 { (t.t("Instructions", "Instrucciones")) }
            (prose(&of("system_prompt"), t.t("Not written yet. Required to publish.", "Aún sin escribir. Obligatorio para publicar.")))
        }
    }
}

/// A text of the agent, or what an empty one means.
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
        return html! { div.page-actions { (restore) } };
    }
    let is_news = agent.head_version != agent.published_version || status == AgentStatus::Error;
    html! {
        div.page-actions {
            a.button.primary[!is_news] href={ (crate::PATH) "/agents/" (id) "/edit" } { (t.t("Edit", "Editar")) }
            @if status == AgentStatus::Active {
                a.button href={ (crate::PATH) "/try/chat?agent=" (id) } { (t.t("Try a chat", "Probar un chat")) }
                a.button href={ (crate::PATH) "/try/call?agent=" (id) } { (t.t("Place a test call", "Hacer una llamada de prueba")) }
            }
        }
        @if is_news && agent.head_version != 0 {
            section {
                h2 { @match agent.published_version {
                    0 => (t.t("Not published yet", "Aún sin publicar")),
                    _ => (t.t("Unpublished changes", "Cambios sin publicar")),
                } }
                (unpublished(visitor, view))
                (publish_form(visitor, view, agent.head_version))
            }
        }
    }
}

/// What is seldom done with an agent.
fn upkeep(visitor: &Visitor, view: &AgentView) -> Markup {
    let t = visitor.lang();
    let (id, status) = (view.agent.id, view.agent.status);
    html! {
        section {
            h2 { (t.t("Manage", "Administrar")) }
            div.bar-of-actions {
                @if status == AgentStatus::Active {
                    (status_button(visitor, view, "paused", t.t("Pause", "Pausar")))
                }
                @if status == AgentStatus::Paused && view.agent.published_version != 0 {
                    (status_button(visitor, view, "active", t.t("Activate", "Activar")))
                }
                (button(visitor, &format!("/agents/{id}/duplicate"), t.t("Duplicate", "Duplicar"), &[]))
                (danger(visitor, &format!("/agents/{id}/archive"), t.t("Archive", "Archivar"), t.t(
                    "Archive this agent? It stops taking calls and its phone numbers are unassigned. Its conversations are kept.",
                    "¿Archivar este agente? Deja de recibir llamadas y sus números quedan sin asignar. Sus conversaciones se conservan.",
                )))
            }
        }
    }
}

fn legacy(visitor: &Visitor, view: &AgentView, figures: &Markup) -> Markup {
    let t = visitor.lang();
    let agent = &view.agent;
    let of = |path: &str| member(view, path);
    let provider_id = agent.provider_agent_id.as_deref().unwrap_or_default();
    html! {
        @if visitor.may(MemberRole::Developer) && agent.status == AgentStatus::Active {
            div.page-actions {
                a.button.primary href={ (crate::PATH) "/try/call?agent=" (agent.id) } { (t.t("Place a test call", "Hacer una llamada de prueba")) }
            }
        }
        p.lead { (t.t(
            "This agent is configured at ElevenLabs: change its prompt, model and voice there. The summary below comes from ElevenLabs and is refreshed every hour. Here you can rename it, place calls with it and use it in batch calls.",
            "Este agente se configura en ElevenLabs: cambia ahí sus instrucciones, su modelo y su voz. El resumen de abajo viene de ElevenLabs y se actualiza cada hora. Aquí puedes renombrarlo, hacer llamadas con él y usarlo en lotes.",
        )) }
        dl.facts {
            (list::fact(t.t("Status", "Estado"), status_badge(agent.status, t)))
            (list::fact(t.t("Platform", "Plataforma"), runtime_name(agent.runtime, t)))
            (list::copied(t, "provider-id", t.t("ElevenLabs ID", "ID en ElevenLabs"), provider_id))
            (list::fact(t.t("Language", "Idioma"), &agent.language))
            (list::fact(t.t("Model", "Modelo"), or_dash(&of("llm.model"))))
            (list::fact(t.t("Voice", "Voz"), or_dash(&of("voice.voice_id"))))
            (list::fact(t.t("Updated", "Actualizado"), when(agent.updated_at)))
            (list::copied(t, "id", "ID", agent.id))
        }
        (figures)
        section {
            h2 { (t.t("Calls from", "Llama desde")) }
            @if view.numbers.is_empty() { p.soft { (t.t("None.", "Ninguno.")) } }
            @for number in &view.numbers { p { (number.phone_number) " " span.soft { (number.label) } } }
        }
        @for (path, name) in [
            ("first_message", t.t("First message", "Primer mensaje")),
            ("system_prompt", t.t("Instructions", "Instrucciones")),
        ] {
            section {
                h2 { (name) }
                (prose(&of(path), t.t("Not provided by ElevenLabs.", "ElevenLabs no lo indica.")))
            }
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
    let stored = version::stamped(name_fields(&view.agent.name));
    let fields = typed.unwrap_or(&stored);
    html! {
        section {
            h2 { (t.t("Rename", "Renombrar")) }
            (form(visitor, &format!("/agents/{}/name", agent.id), &html! {
                (version::hidden(fields))
                (Input::text("name", t.t("Name", "Nombre")).value(fields.text("name")).required()
                    .hint(t.t("Up to 120 characters.", "Hasta 120 caracteres.")))
                button type="submit" { (t.t("Rename", "Renombrar")) }
            }))
        }
    }
}

/// `POST /portal/agents/{id}/name`
pub(super) async fn rename(post: Post<Developer>) -> Answer {
    let (view, t) = (agent_of(&post).await?, post.lang());
    // An archived agent cannot be renamed, and the refusal says so.
    if view.agent.status != AgentStatus::Archived
        && let Some(late) = version::stale(&name_fields(&view.agent.name), &post.fields)
    {
        let body = draw(&post, &view, Some(version::message(t)), Some(&late)).await?;
        return Ok(refused_tab(&post, &view.agent, "", &body));
    }
    let body = Json::object([("name", Json::from(post.fields.text("name")))]);
    let agents = post.services().agents();
    let done = agents.update(post.account(), view.agent.id, &body).await;
    let notice = t.t("Agent renamed.", "Agente renombrado.");
    let typed = Some(&post.fields);
    ended(&post, &view, typed, done.map(drop), "agent.update", notice).await
}

/// `POST /portal/agents/{id}/status`
pub(super) async fn set_status(post: Post<Developer>) -> Answer {
    let view = agent_of(&post).await?;
    let status = post.fields.text("status");
    let body = Json::object([("status", Json::from(status))]);
    let notice = match status {
        "active" => post.t(
            "Agent activated. It takes calls again.",
            "Agente activado. Vuelve a recibir llamadas.",
        ),
        _ => post.t(
            "Agent paused. It takes no calls until you activate it.",
            "Agente en pausa. No recibe llamadas hasta que lo actives.",
        ),
    };
    let agents = post.services().agents();
    let done = agents.update(post.account(), view.agent.id, &body).await;
    ended(&post, &view, None, done.map(drop), "agent.status", notice).await
}

/// Back to the agent, with the result; a typed name stays in its form.
async fn ended<E: Into<Trouble>>(
    post: &Post<Developer>,
    view: &AgentView,
    typed: Option<&Fields>,
    done: Result<(), E>,
    action: &str,
    notice: &str,
) -> Answer {
    let id = view.agent.id;
    let Err(error) = done else {
        return post
            .done(action, id, &format!("/agents/{id}"), notice)
            .await;
    };
    let notice = post.message_of(error, &[("name", post.t("Name", "Nombre"))])?;
    let body = draw(post, view, Some(&notice), typed).await?;
    Ok(refused_tab(post, &view.agent, "", &body))
}

/// `POST /portal/agents/{id}/duplicate`: a draft with the same configuration.
pub(super) async fn duplicate(post: Post<Developer>) -> Answer {
    let (view, t) = (super::engine_agent(&post).await?, post.lang());
    let name = &view.agent.name;
    let name: String = text!(t, "Copy of {name}", "Copia de {name}")
        .chars()
        .take(NAME_CHARS)
        .collect();
    let mut body = vec![
        ("name", Json::String(name)),
        ("language", Json::from(view.agent.language.as_str())),
    ];
    body.extend(view.config.clone().map(|config| ("config", config)));
    let agents = post.services().agents().by(post.person.actor());
    let copied = async {
        let copy = agents.create(post.account(), &Json::object(body)).await?;
        super::settings::copy(&post, view.agent.id, &copy).await?;
        Ok(copy)
    };
    match copied.await {
        Ok(copy) => {
            let (id, path) = (copy.agent.id, format!("/agents/{}", copy.agent.id));
            let notice = t.t("Draft created as a copy.", "Borrador creado como copia.");
            post.done("agent.create", id, &path, notice).await
        }
        Err(error) => {
            let error: Trouble = error;
            let notice = post.message_of(error, &[])?;
            let body = draw(&post, &view, Some(&notice), None).await?;
            Ok(refused_tab(&post, &view.agent, "", &body))
        }
    }
}

/// `POST /portal/agents/{id}/archive`
pub(super) async fn archive(post: Post<Developer>) -> Answer {
    let view = agent_of(&post).await?;
    let agents = post.services().agents();
    let done = agents.archive(post.account(), view.agent.id).await;
    let notice = post.t("Agent archived.", "Agente archivado.");
    ended(&post, &view, None, done, "agent.archive", notice).await
}
