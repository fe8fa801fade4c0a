//! Agents: list, editor, versions, publishing, widget.

mod analysis;
mod choices;
pub(super) mod control;
pub(super) mod document;
mod editor;
mod form;
mod json_lines;
mod languages;
mod look;
mod new;
mod preview;
pub(super) mod saving;
mod settings;
mod show;
mod studio;
mod templates;
mod tests;
mod versions;
mod widget;

use std::collections::HashMap;

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use offhook_services::AgentView;
use offhook_services::store::{Agent, AgentFilter};

use crate::parts::words::{agent_status, when_if};
use crate::prelude::*;
use crate::visit::layout;

/// The longest search text.
const Q_CHARS: usize = 100;

/// The paths.
pub(super) fn routes() -> Vec<Page> {
    let of = Page::at;
    vec![
        of("/agents").get(list),
        of("/agents/new").get(new::show).post(new::create),
        of("/agents/{id}").get(show::agent),
        of("/agents/{id}/name").post(show::rename),
        of("/agents/{id}/status").post(show::set_status),
        of("/agents/{id}/archive").post(show::archive),
        of("/agents/{id}/duplicate").post(show::duplicate),
        of("/agents/{id}/edit")
            .get(editor::edit)
            .post(editor::save_fields),
        of("/agents/{id}/json")
            .get(editor::edit_json)
            .post(editor::save_json),
        of("/agents/{id}/trial").post(studio::say),
        of("/agents/{id}/talk").socket(studio::talk),
        of(preview::PATH).post(preview::speak),
        of("/agents/{id}/versions").get(versions::history),
        of("/agents/{id}/versions/{version}").get(versions::version),
        of("/agents/{id}/versions/{version}/publish").post(versions::publish_version),
        of("/agents/{id}/versions/{version}/restore").post(versions::restore),
        of("/agents/{id}/diff").get(versions::diff),
        of("/agents/{id}/settings")
            .get(settings::show)
            .post(settings::set),
        of("/agents/{id}/settings/secret").get(settings::show_secret),
        of("/agents/{id}/forget").post(settings::forget),
        of("/agents/{id}/widget")
            .get(widget::show)
            .post(widget::set),
        of("/agents/{id}/analysis")
            .get(analysis::show)
            .post(analysis::set),
        of("/agents/{id}/analysis/clear").post(analysis::clear),
        of("/agents/{id}/tests").get(tests::show).post(tests::run),
        of("/agents/{id}/tests/new")
            .get(tests::new)
            .post(tests::create),
        of("/agents/{id}/tests/runs/{run}").get(tests::progress),
        of("/agents/{id}/tests/runs/{run}/cancel").post(tests::cancel),
        of("/agents/{id}/tests/{scenario}")
            .get(tests::edit)
            .post(tests::replace),
        of("/agents/{id}/tests/{scenario}/delete").post(tests::delete),
    ]
}

/// The agent of the path.
async fn agent_of(visitor: &Visitor) -> Result<AgentView> {
    let agents = visitor.services().agents();
    Ok(agents.get(visitor.account(), visitor.id("id")?).await?)
}

/// The agent, if this service runs it.
async fn engine_agent(visitor: &Visitor) -> Result<AgentView> {
    let view = agent_of(visitor).await?;
    match view.agent.runtime {
        Runtime::Engine => Ok(view),
        Runtime::Legacy => Err(Trouble::not_found()),
    }
}

fn status_badge(status: AgentStatus, lang: Lang) -> Markup {
    let tone = match status {
        AgentStatus::Active => Tone::Good,
        AgentStatus::Paused => Tone::Busy,
        AgentStatus::Error => Tone::Bad,
        AgentStatus::Draft | AgentStatus::Archived => Tone::Plain,
    };
    badge(tone, agent_status(status, lang))
}

const fn runtime_name(runtime: Runtime, lang: Lang) -> &'static str {
    match runtime {
        Runtime::Engine => lang.t("Offhook", "Offhook"),
        Runtime::Legacy => lang.t("ElevenLabs", "ElevenLabs"),
    }
}

/// A page of one agent: `tab` is its path.
fn tabbed(visitor: &Visitor, agent: &Agent, tab: &str, body: &Markup) -> HttpResponse {
    framed(visitor, agent, tab, StatusCode::OK, body)
}

/// The same with a refused form.
fn refused_tab(visitor: &Visitor, agent: &Agent, tab: &str, body: &Markup) -> HttpResponse {
    framed(visitor, agent, tab, StatusCode::UNPROCESSABLE_ENTITY, body)
}

fn framed(
    visitor: &Visitor,
    agent: &Agent,
    current: &str,
    status: StatusCode,
    body: &Markup,
) -> HttpResponse {
    let t = visitor.lang();
    let all = [
        ("", t.t("Overview", "Resumen"), MemberRole::Viewer),
        ("edit", t.t("Edit", "Editar"), MemberRole::Developer),
        ("json", t.t("JSON", "JSON"), MemberRole::Developer),
        ("settings", t.t("Settings", "Ajustes"), MemberRole::Viewer),
        ("versions", t.t("Versions", "Versiones"), MemberRole::Viewer),
        ("tests", t.t("Tests", "Pruebas"), MemberRole::Viewer),
        ("widget", t.t("Widget", "Widget"), MemberRole::Viewer),
        ("analysis", t.t("Analysis", "Análisis"), MemberRole::Viewer),
    ];
    let path = |page: &str| match page {
        "" => format!("/agents/{}", agent.id),
        page => format!("/agents/{}/{page}", agent.id),
    };
    let has_tabs = agent.runtime == Runtime::Engine;
    let shown = all
        .into_iter()
        .filter(|(_, _, role)| has_tabs && visitor.may(*role));
    let tabs: Vec<_> = shown.map(|(page, name, _)| (path(page), name)).collect();
    let title = (Section::Agents, agent.name.as_str());
    layout::tabbed(visitor, title, &tabs, &path(current), (status, body))
}

/// `GET /portal/agents`
async fn list(visit: Visit<Viewer>) -> Answer {
    let t = visit.lang();
    let title = Section::Agents.name(t);
    let query = visit.query();
    let filter = AgentFilter {
        runtime: query.text("runtime").parse().ok(),
        status: query.text("status").parse().ok(),
        q: query.get("q").map(|q| q.chars().take(Q_CHARS).collect()),
    };
    let is_filtered = filter.runtime.is_some() || filter.status.is_some() || filter.q.is_some();
    let page = visit.page_of(AgentId::from_uuid);
    let is_first = page.after.is_none();
    let agents = visit.services().agents();
    let found = agents.list(visit.account(), filter, page).await?;
    let last = agents.last_conversations(visit.account(), &found.items);
    let last: HashMap<AgentId, Timestamp> = last.await?.into_iter().collect();
    let shares = visit.services().billing();
    let shares = shares.shares(visit.account()).await?;
    let used = |id| {
        let own = shares.iter().filter(|share| share.agent_id == id);
        let (count, credits) = own.fold((0, 0), |(count, credits), share| {
            (count + share.conversations, credits + share.credits)
        });
        (count, words::count(credits))
    };
    let is_empty = found.items.is_empty();
    let may_make = visit.may(MemberRole::Developer);
    let body = html! {
        @if may_make {
            div.page-actions { a.button.primary href={ (PATH) "/agents/new" } { (t.t("Create agent", "Crear agente")) } }
        }
        p { (t.t(
            "Each agent answers and places calls and chats with its own instructions, model and voice.",
            "Cada agente contesta y hace llamadas y chats con sus propias instrucciones, modelo y voz.",
        )) }
        @if !is_empty || is_filtered || !is_first {
            (filters(&visit))
        }
        @if is_empty && is_filtered {
            (list::empty(t.t("No matching agents", "Ningún agente coincide"), t.t(
                "Change the filters or clear them.",
                "Cambia los filtros o quítalos.",
            ), Some(("/agents", t.t("Show all", "Mostrar todos")))))
        } @else if is_empty {
            (list::empty(t.t("No agents yet", "Aún no hay agentes"), t.t(
                "An agent talks to your customers. Choose what it says, its model and its voice. Create one, try it, then publish it.",
                "Un agente habla con tus clientes. Elige qué dice, su modelo y su voz. Crea uno, pruébalo y publícalo.",
            ), may_make.then_some(("/agents/new", t.t("Create your first agent", "Crear tu primer agente")))))
        } @else {
            (Table::of(title, &found.items)
                .column(t.t("Name", "Nombre"), |agent| html! { a href={ (PATH) "/agents/" (agent.id) } { (agent.name) } })
                .column(t.t("Status", "Estado"), |agent| html! {
                    (status_badge(agent.status, t))
                    @if has_news(agent) { " " (badge(Tone::Busy, t.t("unpublished changes", "cambios sin publicar"))) }
                })
                .column(t.t("Platform", "Plataforma"), |agent| runtime_name(agent.runtime, t))
                .column(t.t("Language", "Idioma"), |agent| &agent.language)
                .column(t.t("Versions", "Versiones"), |agent| html! {
                    @if agent.runtime == Runtime::Engine {
                        (agent.head_version)
                        @if agent.published_version != 0 {
                            " " span.soft { "(" (t.t("published: ", "publicada: ")) (agent.published_version) ")" }
                        }
                    } @else { "–" }
                })
                .number(t.t("This month", "Este mes"), |agent| {
                    let (count, credits) = used(agent.id);
                    html! { (words::count(count)) " " span.soft { (text!(t, "· {credits} credits", "· {credits} créditos")) } }
                })
                .column(t.t("Last conversation", "Última conversación"), |agent| when_if(last.get(&agent.id).copied()))
                .column(t.t("Updated", "Actualizado"), |agent| when(agent.updated_at)))
            (list::more(&visit, &found, |last| (last.created_at, last.id.uuid())))
        }
    };
    Ok(visit.page(Section::Agents, title, &body))
}

/// Whether there are saved changes since the published version.
fn has_news(agent: &Agent) -> bool {
    let published = agent.published_version;
    agent.runtime == Runtime::Engine && published != 0 && published != agent.head_version
}

fn filters(visitor: &Visitor) -> Markup {
    let t = visitor.lang();
    let all = t.t("All", "Todos");
    let statuses = AgentStatus::ALL.iter();
    let runtimes = Runtime::ALL.iter();
    html! {
        form.filters method="get" action={ (PATH) "/agents" } {
            (Input::text("q", t.t("Name", "Nombre")).kind("search").value(visitor.query().text("q")))
            (list::filter(visitor, "status", t.t("Status", "Estado"), all,
                statuses.map(|status| (status.as_str(), agent_status(*status, t)))))
            (list::filter(visitor, "runtime", t.t("Platform", "Plataforma"), all,
                runtimes.map(|runtime| (runtime.as_str(), runtime_name(*runtime, t)))))
            button type="submit" { (t.t("Filter", "Filtrar")) }
        }
    }
}
