//! The editor: every field of a configuration, and the whole configuration as JSON.

use std::cell::RefCell;

use offhook_services::AgentView;

use super::choices::Choices;
use super::control::{Fault, Sheet};
use super::document::{
    document, fields_of, has_hours, hours_without_box, parse, pretty, unix_lines,
    with_found_variables,
};
use super::json_lines::line_of;
use super::saving::{Refused, base_of, config_at, head_of_form, looks_again, save};
use super::show::name_fields;
use super::{engine_agent, refused_tab, studio, tabbed};
use crate::parts::form::{kept, sentence};
use crate::parts::sample;
use crate::parts::version::{self, SHOWN_VERSION};
use crate::prelude::*;
use crate::trouble::field_of;

/// `GET /portal/agents/{id}/edit`
pub(super) async fn edit(visit: Visit<Developer>) -> Answer {
    let view = engine_agent(&visit).await?;
    let base = view.agent.head_version;
    let fields = stored_fields(&visit, &view, base).await?;
    let body = draw(&visit, &view, &fields, base, None).await?;
    Ok(tabbed(&visit, &view.agent, "edit", &body))
}

/// `POST /portal/agents/{id}/edit`
pub(super) async fn save_fields(post: Post<Developer>) -> Answer {
    let view = engine_agent(&post).await?;
    if looks_again(&post.fields) {
        let body = draw(&post, &view, &post.fields, base_of(&post.fields)?, None).await?;
        return Ok(tabbed(&post, &view.agent, "edit", &body));
    }
    // The name is not part of a version: a concurrent rename is checked separately, and the name stays if only the
    // configuration was edited.
    let mut typed = name_fields(post.fields.text("name"));
    let is_renamed = !version::is_untouched(&typed, &post.fields);
    typed.set(SHOWN_VERSION, post.fields.text(SHOWN_VERSION));
    let mut fields = post.fields.clone();
    let refused =
        if is_renamed && let Some(late) = version::stale(&name_fields(&view.agent.name), &typed) {
            fields.set(SHOWN_VERSION, late.text(SHOWN_VERSION));
            Refused::of(version::message(post.lang()).to_owned(), base_of(&fields)?)
        } else if let Some(message) = forgotten_hours(&post, &view).await? {
            Refused::of(message, base_of(&fields)?)
        } else {
            let name = is_renamed.then(|| post.fields.text("name"));
            match save(&post, &view, document(&post.fields), name).await? {
                Ok(message) => return Ok(post.go(&format!("/agents/{}", view.agent.id), &message)),
                Err(refused) => refused,
            }
        };
    let body = draw(&post, &view, &fields, refused.base, Some(&refused)).await?;
    Ok(refused_tab(&post, &view.agent, "edit", &body))
}

/// Why filled-in calling hours would be lost: there were none before, and their checkbox is not set.
async fn forgotten_hours(post: &Post<Developer>, view: &AgentView) -> Result<Option<String>> {
    let Some(path) = hours_without_box(&post.fields) else {
        return Ok(None);
    };
    // There were calling hours before: clearing the checkbox removes them on purpose.
    if has_hours(&config_at(post, view, base_of(&post.fields)?).await?) {
        return Ok(None);
    }
    let why = post.t(
        "the calling hours are filled in but not turned on. Select \"Only call within these hours\", or clear them",
        "el horario está lleno pero no está activado. Marca \"Llamar solo en este horario\", o vacíalo",
    );
    Ok(Some(format!("`config.{path}`: {why}")))
}

async fn draw(
    visitor: &Visitor,
    view: &AgentView,
    fields: &Fields,
    base: i32,
    refused: Option<&Refused>,
) -> Result<Markup> {
    let id = view.agent.id;
    let path = format!("/agents/{id}/edit");
    let fields = &with_found_variables(fields);
    let choices = Choices::read(visitor, fields).await?;
    let messages = refused.map_or(&[][..], |refused| &refused.messages[..]);
    let sheet = Sheet {
        lang: visitor.lang(),
        fields,
        faults: Fault::all_of(messages, fields),
        add: fields.text("add"),
        groups: RefCell::default(),
        refused: RefCell::default(),
    };
    // Drawn before the head, which needs the refused fields' labels.
    let groups = super::form::groups(visitor, &sheet, &choices, &path);
    let faults = sheet.links(messages);
    Ok(html! {
        div.studio {
            div.editor {
                (kept(visitor, &path, &html! {
                    (version::hidden(fields))
                    (head_of_form(visitor, id, base, refused, &faults))
                    nav.group-index aria-label=(visitor.t("Sections", "Secciones")) {
                        @for (id, title) in sheet.groups.borrow().iter() { a href={ "#" (id) } { (title) } }
                    }
                    (groups)
                }))
            }
            (studio::panel(visitor, id))
        }
    })
}

/// The editor of the latest version, which was not published.
pub(super) async fn unpublished(
    post: &Post<Developer>,
    view: &AgentView,
    messages: Vec<String>,
) -> Answer {
    let base = view.agent.head_version;
    let fields = stored_fields(post, view, base).await?;
    let refused = Refused::of_all(messages, base);
    let body = draw(post, view, &fields, base, Some(&refused)).await?;
    Ok(refused_tab(post, &view.agent, "edit", &body))
}

/// The fields of a version that nobody has edited.
async fn stored_fields(visitor: &Visitor, view: &AgentView, base: i32) -> Result<Fields> {
    let mut fields = fields_of(&config_at(visitor, view, base).await?);
    for (name, value) in version::stamped(name_fields(&view.agent.name)).iter() {
        fields.push(name, value);
    }
    Ok(fields)
}

/// `GET /portal/agents/{id}/json`
pub(super) async fn edit_json(visit: Visit<Developer>) -> Answer {
    let view = engine_agent(&visit).await?;
    let base = view.agent.head_version;
    let text = pretty(&config_at(&visit, &view, base).await?);
    let body = draw_json(&visit, &view, &text, base, None);
    Ok(tabbed(&visit, &view.agent, "json", &body))
}

/// `POST /portal/agents/{id}/json`
pub(super) async fn save_json(post: Post<Developer>) -> Answer {
    let view = engine_agent(&post).await?;
    let (id, text) = (view.agent.id, unix_lines(post.fields.raw("config")));
    let wanted = parse(&text).map(super::saving::without_version);
    let wanted = wanted.map_err(|fault| FieldError::new("config", fault));
    match save(&post, &view, wanted, None).await? {
        Ok(message) => Ok(post.go(&format!("/agents/{id}"), &message)),
        Err(refused) => {
            let body = draw_json(&post, &view, &text, refused.base, Some(&refused));
            Ok(refused_tab(&post, &view.agent, "json", &body))
        }
    }
}

fn draw_json(
    visitor: &Visitor,
    view: &AgentView,
    text: &str,
    base: i32,
    refused: Option<&Refused>,
) -> Markup {
    let t = visitor.lang();
    let id = view.agent.id;
    let messages = refused.map_or(&[][..], |refused| &refused.messages[..]);
    let faults = messages.iter().map(|message| {
        let line = field_of(message).and_then(|(path, _)| line_of(text, "config", path));
        html! { @if let Some(line) = line { (text!(t, "Line {line}: ", "Línea {line}: ")) } (sentence(message)) }
    });
    let faults: Vec<Markup> = faults.collect();
    let url = visitor.base_url();
    let sample = format!(
        "curl -sS -X PATCH {url}/v1/agents/{id} \\\n  -H \"Authorization: Bearer $OFFHOOK_KEY\" \\\n  \
         -H \"Content-Type: application/json\" \\\n  \
         -d '{{\"expected_version\": {base}, \"config\": {{\"llm\": {{\"temperature\": 0.4}}}}}}'"
    );
    html! {
        div.split.editor {
            (kept(visitor, &format!("/agents/{id}/json"), &html! {
                (head_of_form(visitor, id, base, refused, &faults))
                div.field {
                    label for="field-config" { (t.t("Full configuration", "Configuración completa")) }
                    textarea #field-config name="config" rows="30" spellcheck="false" data-json aria-describedby="field-config-hint" {
                        "\n" (text)
                    }
                    p.hint #field-config-hint { (t.t(
                        "A field that you remove goes back to its default.",
                        "Un campo que quites vuelve a su valor predeterminado.",
                    )) }
                }
            }))
            section.panel {
                h2 { (t.t("From your code", "Desde tu código")) }
                p { (t.t(
                    "The API reads and changes the same configuration. A change names only the fields that it sets, and is refused if somebody saved another version meanwhile.",
                    "La API lee y cambia la misma configuración. Un cambio indica solo los campos que pone, y se rechaza si alguien guardó otra versión mientras tanto.",
                )) }
                (sample::wrapped(t, "change", "curl", &sample))
                p { a href="/docs" { (t.t("API reference", "Referencia de la API")) } }
            }
        }
    }
}
