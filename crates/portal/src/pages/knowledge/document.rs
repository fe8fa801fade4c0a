//! One document.

use offhook_services::store::{Document, Folder, PinningAgent};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use super::{entitled, folder_choice, folders, is_unread, size, source_name, state};
use crate::parts::version;
use crate::parts::words::count;
use crate::prelude::*;
use crate::visit::layout::attachment;

/// `GET /portal/knowledge/documents/{id}`
pub(super) async fn show(visit: Visit<Viewer>) -> Answer {
    entitled(&visit)?;
    let id: DocumentId = visit.id("id")?;
    let knowledge = visit.services().knowledge();
    let document = knowledge.document(visit.account(), id).await?;
    let folders = folders::all(&visit).await?;
    let fields = version::stamped(fields_of(&document));
    let body = page(&visit, &document, &folders, &fields, None).await?;
    Ok(visit.page(Section::Knowledge, &document.name, &body))
}

fn fields_of(document: &Document) -> Fields {
    let folder = document.folder_id.map(|id| id.to_string());
    let folder = folder.as_deref().unwrap_or("");
    Fields::of([("name", document.name.as_str()), ("folder_id", folder)])
}

/// `POST /portal/knowledge/documents/{id}`
pub(super) async fn change(post: Post<Developer>) -> Answer {
    entitled(&post)?;
    let (id, t): (DocumentId, _) = (post.id("id")?, post.lang());
    let knowledge = post.services().knowledge();
    let document = knowledge.document(post.account(), id).await?;
    let folders = folders::all(&post).await?;
    let body = Json::object([
        ("name", Json::from(post.fields.text("name"))),
        ("folder_id", Json::from(post.fields.get("folder_id"))),
    ]);
    let (stored, labels) = (fields_of(&document), super::labels(t));
    let work = knowledge.change(post.account(), id, &body);
    let Err(refused) = version::save(&post, &stored, &labels, work).await? else {
        let path = format!("/knowledge/documents/{id}");
        return post
            .done("document.change", id, &path, t.t("Saved.", "Guardado."))
            .await;
    };
    let message = Some(refused.message.as_str());
    let body = page(&post, &document, &folders, &refused.fields, message).await?;
    Ok(post.refused(Section::Knowledge, &document.name, &body))
}

/// `POST /portal/knowledge/documents/{id}/delete`
pub(super) async fn delete(post: Post<Developer>) -> Answer {
    entitled(&post)?;
    let id: DocumentId = post.id("id")?;
    let knowledge = post.services().knowledge();
    let deleted = knowledge.delete(post.account(), id).await?;
    let agents = deleted.agents_affected.len();
    let message = match agents {
        0 => post.t("Deleted.", "Eliminado.").to_owned(),
        agents => text!(
            post.lang(),
            "Deleted. Agents that no longer use it: {agents}.",
            "Eliminado. Agentes que ya no lo usan: {agents}."
        ),
    };
    post.done("document.delete", id, "/knowledge", &message)
        .await
}

/// `GET /portal/knowledge/documents/{id}/text`: the whole text as a file.
pub(super) async fn text(visit: Visit<Viewer>) -> Answer {
    entitled(&visit)?;
    let knowledge = visit.services().knowledge();
    let (document, text) = knowledge.text(visit.account(), visit.id("id")?).await?;
    let disposition = disposition(&document.name);
    Ok(attachment("text/plain; charset=utf-8", disposition).body(text))
}

/// What is percent-encoded in a header's value (RFC 3986: all but unreserved characters).
const ODD: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// `Content-Disposition` of a document's text, whatever its name is (RFC 6266).
fn disposition(name: &str) -> String {
    let encoded = utf8_percent_encode(name, ODD);
    format!("attachment; filename=\"document.txt\"; filename*=UTF-8''{encoded}.txt")
}

async fn page(
    visitor: &Visitor,
    document: &Document,
    folders: &[Folder],
    fields: &Fields,
    message: Option<&str>,
) -> Result<Markup> {
    let t = visitor.lang();
    let knowledge = visitor.services().knowledge();
    let agents = knowledge.used_by(visitor.account(), document.id).await?;
    let (beginning, goes_on) = knowledge.beginning(document).await?;
    let is_unread = is_unread(document);
    let here = format!("{PATH}/knowledge/documents/{}", document.id);
    Ok(html! {
        (form::refusal(message))
        div #document hx-get=[is_unread.then_some(&here)] hx-trigger=[is_unread.then_some("every 2s")]
            hx-select="#document" hx-swap="outerHTML" {
            (facts(document, t))
            (used_by(&agents, t))
            (shown(document, &beginning, goes_on, t))
        }
        @if visitor.may(MemberRole::Developer) { (changes(visitor, document, &agents, fields, folders)) }
    })
}

fn facts(document: &Document, t: Lang) -> Markup {
    html! {
        dl.facts {
            (list::fact(t.t("Status", "Estado"), state(document, t)))
            (list::fact(t.t("Type", "Tipo"), source_name(document.source, t)))
            @if let Some(url) = &document.url { (list::fact(t.t("URL", "URL"), url)) }
            (list::fact(t.t("Format", "Formato"), document.mime_type.as_deref().unwrap_or("–")))
            (list::fact(t.t("Size", "Tamaño"), size(document.size_bytes)))
            (list::fact(t.t("Passages", "Pasajes"), count(i64::from(document.chunks_count))))
            (list::fact(t.t("Added", "Agregado"), when(document.created_at)))
            (list::copied(t, "id", "ID", document.id))
        }
    }
}

fn used_by(agents: &[PinningAgent], t: Lang) -> Markup {
    html! {
        h2 { (t.t("Agents that use it", "Agentes que lo usan")) }
        @if agents.is_empty() {
            p.soft { (t.t(
                "No published agent uses it yet. Select it in an agent's Knowledge section and publish the agent.",
                "Ningún agente publicado lo usa todavía. Elígelo en la sección Conocimiento de un agente y publica el agente.",
            )) }
        } @else {
            ul { @for agent in agents { li { a href={ (PATH) "/agents/" (agent.id) } { (agent.name) } } } }
        }
    }
}

fn shown(document: &Document, beginning: &str, goes_on: bool, t: Lang) -> Markup {
    html! {
        h2 { (t.t("Text", "Texto")) }
        @match document.status {
            DocumentStatus::Ready => {
                pre.document tabindex="0" dir="auto" { (beginning) @if goes_on { "…" } }
                p { a href={ (PATH) "/knowledge/documents/" (document.id) "/text" } {
                    (t.t("Download full text", "Descargar texto completo"))
                } }
            }
            DocumentStatus::Processing => {
                p.soft { (t.t(
                    "Still processing. This page updates automatically.",
                    "Todavía se está procesando. Esta página se actualiza automáticamente.",
                )) }
            }
            DocumentStatus::Failed => {
                p.soft { (t.t(
                    "No text: the document could not be read. Fix the problem shown in its status, add it again, and delete this one.",
                    "Sin texto: el documento no se pudo leer. Corrige lo que dice su estado, agrégalo de nuevo y elimina este.",
                )) }
            }
        }
    }
}

fn changes(
    visitor: &Visitor,
    document: &Document,
    agents: &[PinningAgent],
    fields: &Fields,
    folders: &[Folder],
) -> Markup {
    let t = visitor.lang();
    let path = format!("/knowledge/documents/{}", document.id);
    let mut question = t
        .t(
            "Delete this document permanently?",
            "¿Eliminar este documento de forma permanente?",
        )
        .to_owned();
    if !agents.is_empty() {
        question += &text!(
            t,
            " Agents that use it: {}.",
            " Agentes que lo usan: {}.",
            agents.len()
        );
    }
    html! {
        section {
            h2 { (t.t("Edit", "Editar")) }
            (form::form(visitor, &path, &html! {
                (version::hidden(fields))
                (Input::text("name", t.t("Name", "Nombre")).value(fields.text("name")).required())
                (folder_choice(folders, fields.text("folder_id"), t))
                button.primary type="submit" { (t.t("Save", "Guardar")) }
            }))
        }
        section {
            h2 { (t.t("Delete", "Eliminar")) }
            p { (t.t("Agents can no longer look anything up in it.", "Los agentes ya no podrán consultarlo.")) }
            (form::danger(visitor, &format!("{path}/delete"), t.t("Delete document", "Eliminar documento"), &question))
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_name_cannot_break_out_of_its_header() {
        assert_eq!(
            super::disposition("a\"\r\nX: ñ.pdf"),
            "attachment; filename=\"document.txt\"; filename*=UTF-8''a%22%0D%0AX%3A%20%C3%B1.pdf.txt"
        );
    }
}
