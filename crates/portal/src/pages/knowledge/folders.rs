//! Folders of documents.

use actix_web::http::StatusCode;
use offhook_services::store::{DocumentFilter, Folder};

use super::{entitled, labels};
use crate::parts::version;
use crate::parts::words::count;
use crate::prelude::*;
use crate::visit::first;

/// Folders of an account at most, so that one page holds them all.
const MOST: u32 = 1_000;

/// Documents that a folder's page shows.
const SHOWN: u32 = 25;

/// The page of all of them.
const LIST: &str = "/knowledge/folders";

/// The account's folders, by name.
pub(super) async fn all(visitor: &Visitor) -> Result<Vec<Folder>> {
    let knowledge = visitor.services().knowledge();
    let folders = knowledge.folders(visitor.account(), first(MOST));
    let mut folders = folders.await?.items;
    folders.sort_by_cached_key(|folder| folder.name.to_lowercase());
    Ok(folders)
}

/// `GET /portal/knowledge/folders`
pub(super) async fn list(visit: Visit<Viewer>) -> Answer {
    entitled(&visit)?;
    let body = list_page(&visit, visit.query(), None).await?;
    Ok(super::tab(&visit, LIST, StatusCode::OK, &body))
}

/// `POST /portal/knowledge/folders`
pub(super) async fn add(post: Post<Developer>) -> Answer {
    entitled(&post)?;
    let body = Json::object([("name", Json::from(post.fields.text("name")))]);
    let knowledge = post.services().knowledge();
    match knowledge.add_folder(post.account(), &body).await {
        Ok(folder) => {
            let message = post.t("Folder created.", "Carpeta creada.");
            post.done("folder.create", folder.id, LIST, message).await
        }
        Err(error) => {
            let message = post.message_of(error, &labels(post.lang()))?;
            let body = list_page(&post, &post.fields, Some(&message)).await?;
            Ok(super::tab(
                &post,
                LIST,
                StatusCode::UNPROCESSABLE_ENTITY,
                &body,
            ))
        }
    }
}

fn list_title(visitor: &Visitor) -> &'static str {
    visitor.t("Folders", "Carpetas")
}

async fn list_page(visitor: &Visitor, fields: &Fields, message: Option<&str>) -> Result<Markup> {
    let t = visitor.lang();
    let folders = all(visitor).await?;
    Ok(html! {
        (form::refusal(message))
        @if folders.is_empty() {
            (list::empty(t.t("No folders yet", "Aún no hay carpetas"), t.t(
                "Give an agent a folder, and it uses every document in the folder when you publish the agent.",
                "Da una carpeta a un agente y usará todos los documentos que tenga la carpeta al publicar el agente.",
            ), None))
        } @else {
            (Table::of(list_title(visitor), &folders)
                .column(t.t("Name", "Nombre"), |folder| html! { a href={ (PATH) "/knowledge/folders/" (folder.id) } { (folder.name) } })
                .number(t.t("Documents", "Documentos"), |folder| count(i64::from(folder.documents_count)))
                .column(t.t("Created", "Creada"), |folder| when(folder.created_at)))
        }
        @if visitor.may(MemberRole::Developer) {
            section {
                h2 { (t.t("New folder", "Nueva carpeta")) }
                (form::form(visitor, "/knowledge/folders", &html! {
                    (Input::text("name", t.t("Name", "Nombre")).value(fields.text("name")).required())
                    button.primary type="submit" { (t.t("Create folder", "Crear carpeta")) }
                }))
            }
        }
    })
}

/// `GET /portal/knowledge/folders/{id}`
pub(super) async fn show(visit: Visit<Viewer>) -> Answer {
    entitled(&visit)?;
    let knowledge = visit.services().knowledge();
    let folder = knowledge.folder(visit.account(), visit.id("id")?).await?;
    let fields = version::stamped(fields_of(&folder));
    let filter = DocumentFilter {
        folder: Some(Some(folder.id)),
        ..DocumentFilter::default()
    };
    let documents = knowledge
        .documents(visit.account(), filter, first(SHOWN))
        .await?;
    let t = visit.lang();
    let body = html! {
        @if visit.may(MemberRole::Developer) {
            div.page-actions { a.button href={ (PATH) "/knowledge/upload?folder_id=" (folder.id) } { (t.t("Upload file", "Subir archivo")) } }
        }
        @if documents.items.is_empty() { p.soft { (t.t("No documents in this folder yet.", "Todavía no hay documentos en esta carpeta.")) } }
        @else {
            (super::table(&documents.items, None, t))
            @if documents.has_more {
                p { a href={ (PATH) "/knowledge?folder=" (folder.id) } { (t.t("All documents of this folder", "Todos los documentos de esta carpeta")) } }
            }
        }
        (page(&visit, &folder, &fields, None))
    };
    Ok(visit.page(Section::Knowledge, &folder.name, &body))
}

fn fields_of(folder: &Folder) -> Fields {
    Fields::of([("name", folder.name.as_str())])
}

/// `POST /portal/knowledge/folders/{id}`
pub(super) async fn rename(post: Post<Developer>) -> Answer {
    entitled(&post)?;
    let (id, t): (FolderId, _) = (post.id("id")?, post.lang());
    let knowledge = post.services().knowledge();
    let folder = knowledge.folder(post.account(), id).await?;
    let body = Json::object([("name", Json::from(post.fields.text("name")))]);
    let (stored, labels) = (fields_of(&folder), labels(t));
    let work = knowledge.change_folder(post.account(), id, &body);
    let Err(refused) = version::save(&post, &stored, &labels, work).await? else {
        let (path, message) = (format!("{LIST}/{id}"), t.t("Saved.", "Guardado."));
        return post.done("folder.change", id, &path, message).await;
    };
    let body = page(&post, &folder, &refused.fields, Some(&refused.message));
    Ok(post.refused(Section::Knowledge, &folder.name, &body))
}

/// `POST /portal/knowledge/folders/{id}/delete`
pub(super) async fn delete(post: Post<Developer>) -> Answer {
    entitled(&post)?;
    let id: FolderId = post.id("id")?;
    let knowledge = post.services().knowledge();
    let moved = knowledge.delete_folder(post.account(), id).await?;
    let message = text!(
        post.lang(),
        "Folder deleted. Documents left without a folder: {moved}.",
        "Carpeta eliminada. Documentos que quedaron sin carpeta: {moved}."
    );
    post.done("folder.delete", id, LIST, &message).await
}

fn page(visitor: &Visitor, folder: &Folder, fields: &Fields, message: Option<&str>) -> Markup {
    let t = visitor.lang();
    let path = format!("/knowledge/folders/{}", folder.id);
    html! {
        (form::refusal(message))
        dl.facts {
            (list::fact(t.t("Documents", "Documentos"), html! { a href={ (PATH) "/knowledge?folder=" (folder.id) } { (count(i64::from(folder.documents_count))) } }))
            (list::fact(t.t("Created", "Creada"), when(folder.created_at)))
            (list::copied(t, "id", "ID", folder.id))
        }
        @if visitor.may(MemberRole::Developer) {
            section {
                h2 { (t.t("Rename", "Renombrar")) }
                (form::form(visitor, &path, &html! {
                    (version::hidden(fields))
                    (Input::text("name", t.t("Name", "Nombre")).value(fields.text("name")).required())
                    button.primary type="submit" { (t.t("Save", "Guardar")) }
                }))
            }
            section {
                h2 { (t.t("Delete", "Eliminar")) }
                p { (t.t("Its documents are kept, without a folder.", "Sus documentos se conservan, sin carpeta.")) }
                (form::danger(visitor, &format!("{path}/delete"), t.t("Delete folder", "Eliminar carpeta"), t.t(
                    "Delete this folder? Its documents are kept, without a folder.",
                    "¿Eliminar esta carpeta? Sus documentos se conservan, sin carpeta.",
                )))
            }
        }
    }
}
