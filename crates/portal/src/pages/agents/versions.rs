//! Versions of an agent: history, contents, differences.

use maud::Render as _;
use offhook_services::{AgentVersionView, AgentView};
use uuid::Uuid;

use super::document::{plain, pretty};
use super::saving::{all_of, publish, save, without_version};
use super::{agent_of, refused_tab, tabbed};
use crate::parts::authors::Authors;
use crate::parts::diff::{self, Change};
use crate::parts::form::{button, form, sentence};
use crate::parts::sample;
use crate::parts::words::when_if;
use crate::prelude::*;

/// Versions that may be compared without typing an address: the newest ones.
const COMPARED: usize = 100;

/// Unchanged lines shown around a change.
const CONTEXT: usize = 3;

/// Texts that are compared line by line; the rest is compared as JSON.
const TEXTS: [&str; 2] = ["system_prompt", "first_message"];

/// `GET /portal/agents/{id}/versions`
pub(super) async fn history(visit: Visit<Viewer>) -> Answer {
    let view = agent_of(&visit).await?;
    let t = visit.lang();
    let id = view.agent.id;
    let page = visit.page_of(|uuid| uuid);
    let after = page.after.map(|(place, _)| place);
    let agents = visit.services().agents();
    let page = agents.versions(visit.account(), id, after, page.limit);
    let page = page.await?;
    let authors = Authors::read(&visit).await?;
    let body = html! {
        @if page.items.is_empty() {
            (list::empty(t.t("No versions yet", "Aún no hay versiones"), t.t(
                "The first version is created when you save the agent's configuration.",
                "La primera versión se crea al guardar la configuración del agente.",
            ), None))
        } @else {
            p { (t.t(
                "Each save makes a version. Calls use the one that is live; any other can be published or restored.",
                "Cada vez que guardas se crea una versión. Las llamadas usan la que está en uso; cualquier otra se puede publicar o restaurar.",
            )) }
            (compare_form(&visit, &view, view.agent.published_version, view.agent.head_version))
            (Table::of(t.t("Versions", "Versiones"), &page.items)
                .column(t.t("Version", "Versión"), |shown| {
                    let number = shown.version.version;
                    html! { a href={ (PATH) "/agents/" (id) "/versions/" (number) } { (number) } }
                })
                .column(t.t("Saved", "Guardada"), |shown| when(shown.version.created_at))
                .column(t.t("Author", "Autor"), |shown| authors.name(shown.version.saved_by.as_deref(), t))
                .column(t.t("Published", "Publicada"), |shown| html! {
                    (when_if(shown.version.published_at))
                    @if let Some(by) = shown.version.published_by.as_deref() {
                        br; span.soft { (t.t("by ", "por ")) (authors.name(Some(by), t)) }
                    }
                    @if shown.is_published { " " (badge(Tone::Good, t.t("Live", "En uso"))) }
                })
                .column(t.t("Note", "Nota"), |shown| shown.version.note.as_deref().unwrap_or("–"))
                .column(t.t("Changes", "Cambios"), |shown| {
                    let number = shown.version.version;
                    html! { @if number > 1 {
                        a href={ (PATH) "/agents/" (id) "/diff?from=" (number - 1) "&to=" (number) } {
                            (t.t("View changes", "Ver cambios"))
                            span.unseen { " " (number) }
                        }
                    } }
                }))
            (list::more(&visit, &page, |last| (last.place(), Uuid::nil())))
        }
    };
    Ok(tabbed(&visit, &view.agent, "versions", &body))
}

/// Two versions to compare, of those that there are. Of the same version twice, the one before it is offered.
fn compare_form(visitor: &Visitor, view: &AgentView, from: i32, to: i32) -> Markup {
    let t = visitor.lang();
    let (head, published) = (view.agent.head_version, view.agent.published_version);
    if head < 2 {
        return html! {};
    }
    let (from, to) = match (from.max(1), to) {
        (from, to) if from != to => (from, to),
        (1, _) => (1, 2),
        (_, to) => (to - 1, to),
    };
    let name = |number: i32| match number {
        number if number == published => text!(t, "{number} (live)", "{number} (en uso)"),
        number if number == head => text!(t, "{number} (latest)", "{number} (última)"),
        number => number.to_string(),
    };
    let choice = |field, label, chosen: i32| {
        let shown = (1..=head).rev().take(COMPARED).chain([published, from, to]);
        let mut shown: Vec<i32> = shown.filter(|number| *number > 0).collect();
        shown.sort_unstable_by(|one, other| other.cmp(one));
        shown.dedup();
        let options = shown.into_iter();
        let options = options.map(|number| (number.to_string(), name(number)));
        let chosen = chosen.to_string();
        Select::new(field, label)
            .options(options)
            .chosen(&chosen)
            .render()
    };
    html! {
        form.filters method="get" action={ (PATH) "/agents/" (view.agent.id) "/diff" } {
            (choice("from", t.t("From version", "De la versión"), from))
            (choice("to", t.t("To version", "A la versión"), to))
            button type="submit" { (t.t("Compare", "Comparar")) }
        }
    }
}

async fn version_of(visitor: &Visitor, view: &AgentView, number: &str) -> Result<AgentVersionView> {
    let number: i32 = number.parse().map_err(|_| Trouble::not_found())?;
    let agents = visitor.services().agents();
    let version = agents.version(visitor.account(), view.agent.id, number);
    Ok(version.await?)
}

/// `GET /portal/agents/{id}/versions/{version}`
pub(super) async fn version(visit: Visit<Viewer>) -> Answer {
    let view = agent_of(&visit).await?;
    let version = version_of(&visit, &view, visit.param("version")).await?;
    let body = draw_version(&visit, &view, version, &[]);
    Ok(tabbed(&visit, &view.agent, "versions", &body))
}

fn version_title(visitor: &Visitor) -> String {
    let number = visitor.param("version");
    text!(visitor.lang(), "Version {number}", "Versión {number}")
}

fn draw_version(
    visitor: &Visitor,
    view: &AgentView,
    shown: AgentVersionView,
    messages: &[String],
) -> Markup {
    let t = visitor.lang();
    let (id, number) = (view.agent.id, shown.version.version);
    let faults: Vec<Markup> = messages.iter().map(|message| sentence(message)).collect();
    let config = without_version(shown.config.unwrap_or(Json::Null));
    let (published, head) = (view.agent.published_version, view.agent.head_version);
    let state = if shown.is_published {
        badge(Tone::Good, t.t("Live", "En uso"))
    } else {
        badge(Tone::Plain, t.t("Not live", "Sin uso"))
    };
    html! {
        h2 { (version_title(visitor)) }
        (all_of(t, &faults))
        dl.facts {
            (list::fact(t.t("Saved", "Guardada"), when(shown.version.created_at)))
            (list::fact(t.t("Published", "Publicada"), when_if(shown.version.published_at)))
            (list::fact(t.t("Status", "Estado"), state))
            (list::fact(t.t("Note", "Nota"), shown.version.note.as_deref().unwrap_or("–")))
        }
        p {
            @for (other, name) in [(published, t.t("the published version", "la versión publicada")), (head, t.t("the latest version", "la última versión"))] {
                @if other != 0 && other != number {
                    a href={ (PATH) "/agents/" (id) "/diff?from=" (other) "&to=" (number) } {
                        (t.t("Compare with ", "Comparar con ")) (name) " (" (other) ")"
                    } " "
                }
            }
        }
        @if visitor.may(MemberRole::Developer) {
            @if number != head {
                div.page-actions {
                    (form(visitor, &format!("/agents/{id}/versions/{number}/restore"), &html! {
                        input type="hidden" name="expected_version" value=(head);
                        button type="submit" { (t.t("Restore this version", "Restaurar esta versión")) }
                    }))
                }
            }
            @if !shown.is_published {
                section {
                    h2 { (t.t("Not live", "Sin uso")) }
                    (publish_form(visitor, view, number))
                }
            }
        }
        @for name in TEXTS {
            @if let Some(text) = config.get(name).map(plain).filter(|text| !text.is_empty()) {
                section {
                    h2 { (text_name(t, name)) }
                    pre.prose dir="auto" { (text) }
                }
            }
        }
        h2 { (t.t("Configuration", "Configuración")) }
        (sample::code(t, "config", "JSON", &pretty(&config)))
    }
}

/// Publishes a version, or rolls back if it is older than the live one.
pub(super) fn publish_form(visitor: &Visitor, view: &AgentView, number: i32) -> Markup {
    let t = visitor.lang();
    let label = match number < view.agent.published_version {
        false => text!(
            t,
            "Publish version {number}",
            "Publicar la versión {number}"
        ),
        true => text!(
            t,
            "Roll back to version {number}",
            "Volver a la versión {number}"
        ),
    };
    let path = format!("/agents/{}/versions/{number}/publish", view.agent.id);
    let fields = html! {
        (Input::text("note", t.t("Note (optional)", "Nota (opcional)")))
        button.primary type="submit" { (label) }
    };
    form(visitor, &path, &fields)
}

/// `POST /portal/agents/{id}/versions/{version}/publish`
pub(super) async fn publish_version(post: Post<Developer>) -> Answer {
    let view = agent_of(&post).await?;
    let shown = version_of(&post, &view, post.param("version")).await?;
    let number = shown.version.version;
    let done = publish(&post, view.agent.id, number, post.fields.get("note")).await?;
    match done {
        // What is wrong with the latest version is put right in the editor.
        Err(messages) if number == view.agent.head_version && messages[0].starts_with('`') => {
            super::editor::unpublished(&post, &view, messages).await
        }
        done => ended(&post, &view, shown, done),
    }
}

/// Redirects to the agent, or shows the version's page with the error.
fn ended(
    post: &Post<Developer>,
    view: &AgentView,
    shown: AgentVersionView,
    done: Result<String, Vec<String>>,
) -> Answer {
    match done {
        Ok(notice) => Ok(post.go(&format!("/agents/{}", view.agent.id), &notice)),
        Err(messages) => {
            let body = draw_version(post, view, shown, &messages);
            Ok(refused_tab(post, &view.agent, "versions", &body))
        }
    }
}

/// `POST /portal/agents/{id}/versions/{version}/restore`
pub(super) async fn restore(post: Post<Developer>) -> Answer {
    let view = agent_of(&post).await?;
    let shown = version_of(&post, &view, post.param("version")).await?;
    let config = without_version(shown.config.clone().unwrap_or(Json::Null));
    let done = save(&post, &view, Ok(config), None).await?;
    ended(
        &post,
        &view,
        shown,
        done.map_err(|refused| refused.messages),
    )
}

/// `GET /portal/agents/{id}/diff?from=&to=`
pub(super) async fn diff(visit: Visit<Viewer>) -> Answer {
    let view = agent_of(&visit).await?;
    let t = visit.lang();
    let agent = &view.agent;
    let asked = |name: &str, usual: i32| match visit.query().get(name) {
        Some(text) => text.to_owned(),
        None => usual.to_string(),
    };
    let from = asked("from", agent.published_version.max(1));
    let to = asked("to", agent.head_version);
    let old = version_of(&visit, &view, &from).await?;
    let new = version_of(&visit, &view, &to).await?;
    let authors = Authors::read(&visit).await?;
    let saved = [&old, &new].map(|shown| shown.version.clone());
    let numbers = (old.version.version, new.version.version);
    let side = |shown: AgentVersionView| without_version(shown.config.unwrap_or(Json::Null));
    let (old, new) = (side(old), side(new));
    let body = html! {
        h2 { (text!(t, "Version {} to {}", "Versión {} a {}", numbers.0, numbers.1)) }
        @if numbers.1 != agent.published_version && visit.may(MemberRole::Developer) {
            div.page-actions { a.button href={ (PATH) "/agents/" (agent.id) "/versions/" (numbers.1) } {
                (text!(t, "Publish version {}…", "Publicar la versión {}…", numbers.1))
            } }
        }
        (compare_form(&visit, &view, numbers.0, numbers.1))
        dl.facts {
            @for version in &saved {
                @let number = version.version;
                (list::fact(&text!(t, "Version {number}", "Versión {number}"), html! {
                    (authors.name(version.saved_by.as_deref(), t)) ", " (when(version.created_at))
                }))
            }
        }
        @if old == new {
            p.lead { (t.t("These versions are identical.", "Estas versiones son idénticas.")) }
        } @else {
            p.hint { (t.t(
                "Removed lines start with −, added lines with +.",
                "Las líneas quitadas empiezan con −; las agregadas, con +.",
            )) }
            @for name in TEXTS {
                @let (before, after) = (text_of(&old, name), text_of(&new, name));
                @if before != after {
                    h2 { (text_name(t, name)) }
                    (lines(text_name(t, name), &before, &after))
                }
            }
            @let (before, after) = (rest_of(&old), rest_of(&new));
            @if before != after {
                h2 { (t.t("Configuration", "Configuración")) }
                (lines(t.t("Configuration", "Configuración"), &before, &after))
            }
        }
    };
    Ok(tabbed(&visit, agent, "versions", &body))
}

fn text_name(t: Lang, name: &str) -> &'static str {
    match name {
        "system_prompt" => t.t("Instructions", "Instrucciones"),
        _ => t.t("First message", "Primer mensaje"),
    }
}

fn text_of(config: &Json, name: &str) -> String {
    config.get(name).map(plain).unwrap_or_default()
}

/// A configuration without the texts that are shown separately.
fn rest_of(config: &Json) -> String {
    let members = config.as_object().unwrap_or_default().iter();
    let rest = members.filter(|(name, _)| !TEXTS.contains(&name.as_str()));
    pretty(&Json::object(rest.cloned()))
}

/// The lines that differ, with some around them.
fn lines(of: &str, before: &str, after: &str) -> Markup {
    let lines = diff::diff(before, after);
    let is_near = |at: &usize| {
        let near = at.saturating_sub(CONTEXT)..lines.len().min(at + CONTEXT + 1);
        lines[near]
            .iter()
            .any(|(change, _)| *change != Change::Kept)
    };
    let shown: Vec<usize> = (0..lines.len()).filter(is_near).collect();
    html! {
        div.diff tabindex="0" role="region" aria-label=(of) {
            @for (place, at) in shown.iter().enumerate() {
                @if place > 0 && shown[place - 1] + 1 < *at { hr; }
                @let (change, line) = lines[*at];
                @let line = line.trim_end_matches('\n');
                @match change {
                    Change::Removed => del { "− " (line) },
                    Change::Added => ins { "+ " (line) },
                    Change::Kept => span { "  " (line) },
                }
            }
        }
    }
}

/// A link to unpublished changes.
pub(super) fn unpublished(visitor: &Visitor, view: &AgentView) -> Markup {
    let t = visitor.lang();
    let id = view.agent.id;
    let (published, head) = (view.agent.published_version, view.agent.head_version);
    html! {
        @if published != 0 && published != head {
            p {
                (text!(t,
                    "Version {published} is live; version {head} is the latest. ",
                    "La versión {published} está en uso; la {head} es la última. "))
                a href={ (PATH) "/agents/" (id) "/diff?from=" (published) "&to=" (head) } {
                    (t.t("View changes", "Ver cambios"))
                }
            }
        }
    }
}

/// A button that changes the agent's status.
pub(super) fn status_button(
    visitor: &Visitor,
    view: &AgentView,
    status: &str,
    label: &str,
) -> Markup {
    let path = format!("/agents/{}/status", view.agent.id);
    button(visitor, &path, label, &[("status", status)])
}
