//! Saving a configuration that was edited on a version: later changes are a conflict, shown with a way to resolve it.

use offhook_services::AgentView;

use super::document::patch;
use crate::prelude::*;

/// The version that the form was filled in on.
pub(super) const BASE: &str = "expected_version";

/// The version to which changes are applied after a conflict.
const ONTO: &str = "onto";

/// The field that asks to publish as well.
const PUBLISH: &str = "publish";

/// An edit that was not saved, or not published.
pub(super) struct Refused {
    /// Everything that is wrong with it. A fault of a field begins with its path in backquotes.
    pub(super) messages: Vec<String>,
    /// The version that the form is now on.
    pub(super) base: i32,
    /// The version that someone else saved meanwhile.
    pub(super) newer: Option<i32>,
    /// Whether it was saved as `base`, and only publishing was refused.
    pub(super) is_saved: bool,
}

impl Refused {
    pub(super) fn of(message: String, base: i32) -> Self {
        Self::of_all(vec![message], base)
    }

    pub(super) const fn of_all(messages: Vec<String>, base: i32) -> Self {
        Self {
            messages,
            base,
            newer: None,
            is_saved: false,
        }
    }
}

/// The version that the form says it was filled in on.
pub(super) fn base_of(fields: &Fields) -> Result<i32> {
    fields.text(BASE).parse().map_err(|_| Trouble::Unreadable)
}

/// A version's configuration without its number; the defaults where there is none yet.
pub(super) async fn config_at(visitor: &Visitor, view: &AgentView, version: i32) -> Result<Json> {
    let found = match version {
        0 => return Ok(AgentConfig::new(&view.agent.language).to_json()),
        head if head == view.agent.head_version => view.config.clone(),
        other => {
            let agents = visitor.services().agents();
            let found = agents
                .version(visitor.account(), view.agent.id, other)
                .await?;
            found.config
        }
    };
    Ok(without_version(found.unwrap_or(Json::Null)))
}

/// The service sets the version's number.
pub(super) fn without_version(config: Json) -> Json {
    match config {
        Json::Object(mut members) => {
            members.retain(|(name, _)| name != "version");
            Json::Object(members)
        }
        other => other,
    }
}

/// Saves `wanted` as the agent's configuration: what it changes of the version that the form was on, and publishes it
/// where that was asked for. Answers with the sentence for the next page.
///
/// # Errors
/// The inner one is for the form.
pub(super) async fn save(
    post: &Post<Developer>,
    view: &AgentView,
    wanted: Result<Json, FieldError>,
    name: Option<&str>,
) -> Result<Result<String, Refused>> {
    let (id, fields) = (view.agent.id, &post.fields);
    let base = base_of(fields)?;
    let wanted = match wanted {
        Ok(wanted) => wanted,
        Err(fault) => return Ok(Err(Refused::of(post.message_of(fault, &[])?, base))),
    };
    let expected = fields
        .get(ONTO)
        .and_then(|onto| onto.parse().ok())
        .unwrap_or(base);
    let change = patch(&config_at(post, view, base).await?, &wanted);
    let mut body = vec![("expected_version", Json::from(i64::from(expected)))];
    body.extend(name.map(|name| ("name", Json::from(name))));
    if change.as_object().is_none_or(|members| !members.is_empty()) {
        body.push(("config", change));
    }
    let (agents, account) = (post.services().agents(), post.account());
    let body = Json::object(body);
    // Before anything is saved: a refused publication leaves no version.
    let to_publish = fields.is_set(PUBLISH);
    if view.agent.head_version == expected && view.agent.status != AgentStatus::Archived {
        let faults = agents.faults_of_change(account, id, &body, to_publish);
        let faults = match faults.await {
            Ok(faults) => told(post, faults)?,
            Err(error) => vec![post.message_of(error, &[])?],
        };
        if !faults.is_empty() {
            return Ok(Err(Refused::of_all(faults, base)));
        }
    }
    let author = agents.by(post.person.actor());
    let saved = match author.update(account, id, &body).await {
        Ok(saved) => saved,
        Err(error) => {
            let message = post.message_of(error, &[])?;
            let head = agents.get(post.account(), id).await?.agent.head_version;
            let newer = (head != expected).then_some(head);
            return Ok(Err(Refused {
                newer,
                ..Refused::of(message, base)
            }));
        }
    };
    let head = saved.agent.head_version;
    let changed = saved.agent.updated_at != view.agent.updated_at;
    if changed {
        post.note("agent.update", id).await;
    }
    if !to_publish {
        return Ok(Ok(saved_sentence(post.lang(), head, changed)));
    }
    match publish(post, id, head, None).await? {
        Ok(message) => Ok(Ok(message)),
        Err(messages) => Ok(Err(Refused {
            is_saved: true,
            ..Refused::of_all(messages, head)
        })),
    }
}

/// Faults as sentences for the form.
fn told(post: &Post<Developer>, faults: Vec<FieldError>) -> Result<Vec<String>> {
    let faults = faults.into_iter();
    faults.map(|fault| post.message_of(fault, &[])).collect()
}

/// Publishes a version. The inner error is everything that prevents it, for the page that asked.
pub(super) async fn publish(
    post: &Post<Developer>,
    id: AgentId,
    version: i32,
    note: Option<&str>,
) -> Result<Result<String, Vec<String>>> {
    let mut body = vec![("version", Json::from(i64::from(version)))];
    body.extend(note.map(|note| ("note", Json::from(note))));
    let (agents, body) = (post.services().agents(), Json::object(body));
    let agents = agents.by(post.person.actor());
    let before = agents.get(post.account(), id).await?.agent;
    if let Err(error) = agents.publish(post.account(), id, &body).await {
        let first = post.message_of(error, &[])?;
        let all = agents.faults_of_version(post.account(), id, version).await;
        let all = told(post, all.unwrap_or_default())?;
        return Ok(Err(if all.contains(&first) {
            all
        } else {
            vec![first]
        }));
    }
    let live = |version: i32| {
        let version = (version != 0).then(|| i64::from(version));
        Json::object([("published_version", Json::from(version))])
    };
    let changes = Changes::between(&live(before.published_version), &live(version));
    post.note_change("agent.publish", id, changes).await;
    let mut message = text!(
        post.lang(),
        "Version {version} published. New conversations use it.",
        "Versión {version} publicada. Las conversaciones nuevas la usan."
    );
    if let Some(warning) = unset_variables(post, id, version).await? {
        message.push(' ');
        message.push_str(&warning);
    }
    Ok(Ok(message))
}

/// The published texts' variables that are empty unless a call sets them.
async fn unset_variables(
    post: &Post<Developer>,
    id: AgentId,
    version: i32,
) -> Result<Option<String>> {
    let agents = post.services().agents();
    let found = agents.version(post.account(), id, version).await?;
    let names = config_of(found.config).unset_variables();
    if names.is_empty() {
        return Ok(None);
    }
    let names: Vec<String> = names.iter().map(|name| format!("{{{{{name}}}}}")).collect();
    let names = names.join(", ");
    Ok(Some(text!(
        post.lang(),
        "Without a default and empty in calls that do not set them: {names}.",
        "Sin valor predeterminado, y vacías en las llamadas que no las indiquen: {names}."
    )))
}

/// A stored version's configuration.
pub(in crate::pages) fn config_of(stored: Option<Json>) -> AgentConfig {
    let json = without_version(stored.unwrap_or(Json::Object(Vec::new())));
    AgentConfig::with_faults(&json, "config", "und").0
}

fn saved_sentence(lang: Lang, head: i32, changed: bool) -> String {
    match changed {
        true => text!(
            lang,
            "Saved as version {head}. Publish it to use it in calls.",
            "Guardado como versión {head}. Publícala para usarla en las llamadas."
        ),
        false => text!(lang, "No changes to save.", "No hay cambios que guardar."),
    }
}

/// The head of a form: why it was refused, its version, the buttons. Enter presses the first button, which searches if a
/// search was typed and saves otherwise.
pub(super) fn head_of_form(
    visitor: &Visitor,
    id: AgentId,
    base: i32,
    refused: Option<&Refused>,
    faults: &[Markup],
) -> Markup {
    let t = visitor.lang();
    let newer = refused.and_then(|refused| refused.newer);
    html! {
        input type="hidden" name=(BASE) value=(base);
        button.unseen type="submit" name="add" value="enter" tabindex="-1" aria-hidden="true" { (t.t("Save", "Guardar")) }
        @match (newer, refused) {
            (Some(newer), _) => { (conflict(visitor, id, base, newer)) }
            (None, refused) => {
                @if refused.is_some_and(|refused| refused.is_saved) {
                    p.notice role="status" { (text!(t,
                        "Version {base} is saved but cannot be published yet:",
                        "La versión {base} se guardó, pero aún no se puede publicar:")) }
                }
                (all_of(t, faults))
            }
        }
        div.bar-of-actions.sticky {
            @if let Some(newer) = newer {
                button.primary type="submit" name=(ONTO) value=(newer) {
                    (text!(t, "Apply my changes to version {newer}", "Aplicar mis cambios a la versión {newer}"))
                }
            } @else {
                button.primary type="submit" name="save" value="on" { (t.t("Save", "Guardar")) }
                button type="submit" name=(PUBLISH) value="on" { (t.t("Save and publish", "Guardar y publicar")) }
            }
            a.button href={ (crate::PATH) "/agents/" (id) } { (t.t("Cancel", "Cancelar")) }
        }
    }
}

/// Everything for which a form was refused.
pub(in crate::pages) fn all_of(lang: Lang, faults: &[Markup]) -> Markup {
    let count = faults.len();
    html! {
        @match faults {
            [] => {},
            [only] => p.refusal role="alert" tabindex="-1" { (only) },
            several => div.refusal role="alert" tabindex="-1" {
                p { (text!(lang, "{count} things to fix:", "Hay {count} cosas que corregir:")) }
                ul { @for fault in several { li { (fault) } } }
            },
        }
    }
}

fn conflict(visitor: &Visitor, id: AgentId, base: i32, newer: i32) -> Markup {
    let t = visitor.lang();
    html! {
        div.refusal role="alert" tabindex="-1" {
            p { (text!(t,
                "Someone saved version {newer} while you were editing version {base}. Your changes are still in the form \
                 below, not saved yet.",
                "Alguien guardó la versión {newer} mientras editabas la versión {base}. Tus cambios siguen en el formulario \
                 de abajo, aún sin guardar.")) }
            p {
                a href={ (crate::PATH) "/agents/" (id) "/diff?from=" (base) "&to=" (newer) } target="_blank" rel="noopener" {
                    (text!(t, "See what version {newer} changed (new tab)", "Ver qué cambió la versión {newer} (otra pestaña)"))
                }
            }
            p { (t.t(
                "The button below applies only the fields you changed to that version and keeps the rest of it.",
                "El botón de abajo aplica a esa versión solo los campos que cambiaste y conserva los demás.",
            )) }
        }
    }
}

/// Whether the form was submitted to be drawn again, not to be saved.
pub(super) fn looks_again(fields: &Fields) -> bool {
    match fields.get("add") {
        None => false,
        Some("enter") => super::choices::wants_search(fields),
        Some(_) => true,
    }
}
