//! One document.

use std::fmt::Write as _;

use actix_web::HttpResponse;
use maud::{Markup, html};
use offhook_domain::{DocumentId, DocumentStatus, Json, MemberRole};
use offhook_services::store::{Document, Folder, PinningAgent};

use super::{entitled, folder_choice, folders, is_unread, size, source_name, state, string};
use crate::PATH;
use crate::fields::Fields;
use crate::lang::Lang;
use crate::layout::Section;
use crate::parts::form::{self, Input};
use crate::parts::list;
use crate::parts::version;
use crate::parts::words::{count, when};
use crate::trouble::{Answer, Result, Trouble};
use crate::visit::{Developer, Post, Viewer, Visit, Visitor};

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
    let mut fields = Fields::default();
    fields.push("name", &document.name);
    let folder = document.folder_id.map(|id| id.to_string());
    fields.push("folder_id", folder.as_deref().unwrap_or(""));
    fields
}

/// `POST /portal/knowledge/documents/{id}`
pub(super) async fn change(post: Post<Developer>) -> Answer {
    entitled(&post)?;
    let t = post.lang();
    let id: DocumentId = post.id("id")?;
    let knowledge = post.services().knowledge();
    let document = knowledge.document(post.account(), id).await?;
    let folders = folders::all(&post).await?;
    let refused = async |fields: &Fields, said: &str| {
        let body = page(&post, &document, &folders, fields, Some(said)).await?;
        Ok(post.refused(Section::Knowledge, &document.name, &body))
    };
    if let Some(late) = version::stale(&fields_of(&document), &post.fields) {
        return refused(&late, version::said(t)).await;
    }
    let folder = post.fields.get("folder_id").map_or(Json::Null, string);
    let body = Json::object([
        ("name", string(post.fields.text("name"))),
        ("folder_id", folder),
    ]);
    match knowledge.change(post.account(), id, &body).await {
        Ok(_) => {
            let path = format!("/knowledge/documents/{id}");
            let said = t.t("Saved.", "Guardado.");
            post.done("document.change", &id.to_string(), &path, said)
                .await
        }
        Err(error) => {
            refused(
                &post.fields,
                &Trouble::from(error).of_fields(t, &super::labels(t))?,
            )
            .await
        }
    }
}

/// `POST /portal/knowledge/documents/{id}/delete`
pub(super) async fn delete(post: Post<Developer>) -> Answer {
    entitled(&post)?;
    let id: DocumentId = post.id("id")?;
    let knowledge = post.services().knowledge();
    let deleted = knowledge.delete(post.account(), id).await?;
    let agents = deleted.agents_affected.len();
    let said = match (post.lang(), agents) {
        (Lang::En, 0) => "Deleted.".to_owned(),
        (Lang::Es, 0) => "Eliminado.".to_owned(),
        (Lang::En, agents) => format!("Deleted. Agents that answer without it now: {agents}."),
        (Lang::Es, agents) => format!("Eliminado. Agentes que ahora responden sin él: {agents}."),
    };
    post.done("document.delete", &id.to_string(), "/knowledge", &said)
        .await
}

/// `GET /portal/knowledge/documents/{id}/text`: the whole text as a file.
pub(super) async fn text(visit: Visit<Viewer>) -> Answer {
    entitled(&visit)?;
    let knowledge = visit.services().knowledge();
    let (document, text) = knowledge.text(visit.account(), visit.id("id")?).await?;
    Ok(HttpResponse::Ok()
        .content_type("text/plain; charset=utf-8")
        .insert_header(("Content-Disposition", disposition(&document.name)))
        .insert_header(("X-Content-Type-Options", "nosniff"))
        .insert_header(("Cache-Control", "no-store"))
        .body(text))
}

/// `Content-Disposition` of a document's text, whatever its name is (RFC 6266).
fn disposition(name: &str) -> String {
    let mut encoded = String::new();
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
            encoded.push(char::from(byte));
        } else {
            // Writing to a String does not fail.
            let _ = write!(encoded, "%{byte:02X}");
        }
    }
    format!("attachment; filename=\"document.txt\"; filename*=UTF-8''{encoded}.txt")
}

async fn page(
    visitor: &Visitor,
    document: &Document,
    folders: &[Folder],
    fields: &Fields,
    said: Option<&str>,
) -> Result<Markup> {
    let t = visitor.lang();
    let knowledge = visitor.services().knowledge();
    let agents = knowledge.used_by(visitor.account(), document.id).await?;
    let (beginning, goes_on) = knowledge.beginning(document).await?;
    let is_unread = is_unread(document);
    let here = format!("{PATH}/knowledge/documents/{}", document.id);
    Ok(html! {
        (form::refusal(said))
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
            (list::fact(t.t("State", "Estado"), state(document, t)))
            (list::fact(t.t("Kind", "Tipo"), source_name(document.source, t)))
            (list::fact(t.t("Address", "Dirección"), document.url.as_deref().unwrap_or("–")))
            (list::fact(t.t("Format", "Formato"), document.mime_type.as_deref().unwrap_or("–")))
            (list::fact(t.t("Size", "Tamaño"), size(document.size_bytes)))
            (list::fact(t.t("Passages", "Pasajes"), count(i64::from(document.chunks_count))))
            (list::fact(t.t("Added", "Agregado"), when(document.created_at)))
            (list::fact(t.t("Id", "Id"), html! { code { (document.id) } }))
        }
    }
}

fn used_by(agents: &[PinningAgent], t: Lang) -> Markup {
    html! {
        h2 { (t.t("Agents that answer from it", "Agentes que responden con él")) }
        @if agents.is_empty() {
            p.soft { (t.t(
                "No published agent names it yet. Name it in an agent's knowledge and publish the agent.",
                "Ningún agente publicado lo nombra todavía. Nómbralo en el conocimiento de un agente y publica el agente.",
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
                    (t.t("The whole text as a file", "El texto completo como archivo"))
                } }
            }
            DocumentStatus::Processing => {
                p.soft { (t.t(
                    "It is still being read. This page looks again by itself.",
                    "Todavía se está leyendo. Esta página vuelve a mirar sola.",
                )) }
            }
            DocumentStatus::Failed => {
                p.soft { (t.t(
                    "It has no text: it could not be read. Mend what its state says, add it again, and delete this one.",
                    "No tiene texto: no se pudo leer. Corrige lo que dice su estado, agrégalo de nuevo y elimina este.",
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
    let question = match (t, agents.len()) {
        (Lang::En, 0) => "Delete this document for good?".to_owned(),
        (Lang::Es, 0) => "¿Eliminar este documento para siempre?".to_owned(),
        (Lang::En, agents) => {
            format!("Delete this document for good? Agents that answer from it: {agents}.")
        }
        (Lang::Es, agents) => format!(
            "¿Eliminar este documento para siempre? Agentes que responden con él: {agents}."
        ),
    };
    html! {
        h2 { (t.t("Change", "Cambiar")) }
        (form::form(visitor, &path, &html! {
            (version::hidden(fields))
            (Input::text("name", t.t("Name", "Nombre")).value(fields.text("name")).required())
            (folder_choice(folders, fields.text("folder_id"), t))
            button.primary type="submit" { (t.t("Save", "Guardar")) }
        }))
        h2 { (t.t("Delete", "Eliminar")) }
        (form::danger(visitor, &format!("{path}/delete"), t.t("Delete the document", "Eliminar el documento"), &question))
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
