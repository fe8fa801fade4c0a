//! Knowledge: documents, their folders, and search.

mod add;
mod document;
mod folders;
mod search;

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use maud::Render as _;
use offhook_http::Code;
use offhook_services::store::{Document, DocumentFilter, Folder};

use crate::prelude::*;
use crate::spanish::written;
use crate::visit::layout;

/// The largest file.
const MOST: usize = 20 * 1024 * 1024;

/// The filter's name for documents without a folder, as in `GET /v1/knowledge/documents`.
const ROOT: &str = "root";

/// The paths.
pub(super) fn routes() -> Vec<Page> {
    vec![
        Page::at("/knowledge").get(list),
        Page::at("/knowledge/text")
            .get(add::text_form)
            .post(add::text),
        Page::at("/knowledge/address")
            .get(add::address_form)
            .post(add::address),
        Page::at("/knowledge/upload")
            .get(add::file_form)
            .upload(add::file),
        Page::at("/knowledge/search").get(search::show),
        Page::at("/knowledge/folders")
            .get(folders::list)
            .post(folders::add),
        Page::at("/knowledge/folders/{id}")
            .get(folders::show)
            .post(folders::rename),
        Page::at("/knowledge/folders/{id}/delete").post(folders::delete),
        Page::at("/knowledge/documents/{id}")
            .get(document::show)
            .post(document::change),
        Page::at("/knowledge/documents/{id}/text").part(document::text),
        Page::at("/knowledge/documents/{id}/delete").post(document::delete),
    ]
}

/// Knowledge requires the Engine module, as in the API.
fn entitled(visitor: &Visitor) -> Result<()> {
    if visitor.caller().terms.engine_module {
        return Ok(());
    }
    Err(Code::PlanLimit.error(not_in_plan(visitor.lang())).into())
}

/// The labels of documents and folders.
const fn labels(t: Lang) -> [(&'static str, &'static str); 5] {
    [
        ("name", t.t("Name", "Nombre")),
        ("folder_id", t.t("Folder", "Carpeta")),
        ("text", t.t("Text", "Texto")),
        ("url", t.t("URL", "URL")),
        ("file", t.t("File", "Archivo")),
    ]
}

const fn not_in_plan(t: Lang) -> &'static str {
    t.t(
        "Knowledge needs a plan with the Engine module: Pro or higher. Ask the service operator to change your plan.",
        "El conocimiento requiere un plan con el módulo Engine: Pro o mayor. Pide al operador del servicio que cambie tu plan.",
    )
}

/// `GET /portal/knowledge`
async fn list(visit: Visit<Viewer>) -> Answer {
    let t = visit.lang();
    let title = Section::Knowledge.name(t);
    if entitled(&visit).is_err() {
        let heading = t.t("Not in your plan", "No está en tu plan");
        let body = list::empty(heading, not_in_plan(t), None);
        return Ok(visit.page(Section::Knowledge, title, &body));
    }
    let query = visit.query();
    let filter = DocumentFilter {
        folder: query.get("folder").and_then(place),
        status: query.get("status").and_then(|status| status.parse().ok()),
        q: query.get("q").map(|q| q.chars().take(200).collect()),
    };
    let is_filtered = filter.folder.is_some() || filter.status.is_some() || filter.q.is_some();
    let knowledge = visit.services().knowledge();
    let page = visit.page_of(DocumentId::from_uuid);
    let documents = knowledge.documents(visit.account(), filter, page).await?;
    let folders = folders::all(&visit).await?;
    let is_unread = documents.items.iter().any(is_unread);
    let body = html! {
        (actions(&visit))
        p { (t.t(
            "Agents look things up here while they talk. Give an agent documents or whole folders in its editor.",
            "Los agentes consultan esto mientras hablan. Da a un agente documentos o carpetas enteras en su editor.",
        )) }
        (filters(&visit, &folders))
        // The whole list is polled while a document is processing.
        div #documents hx-get=[is_unread.then(|| visit.request().uri().to_string())]
            hx-trigger=[is_unread.then_some("every 2s")] hx-select="#documents" hx-swap="outerHTML" {
            @if documents.items.is_empty() { (nothing(&visit, is_filtered)) } @else {
                (table(&documents.items, Some(&folders), t))
            }
            (list::more(&visit, &documents, |row| (row.created_at, row.id.uuid())))
        }
    };
    Ok(tab(&visit, "/knowledge", StatusCode::OK, &body))
}

/// A page of several of the section, of this path.
fn tab(visitor: &Visitor, path: &str, status: StatusCode, body: &Markup) -> HttpResponse {
    let t = visitor.lang();
    let tabs = [
        ("/knowledge".to_owned(), t.t("Documents", "Documentos")),
        ("/knowledge/folders".to_owned(), t.t("Folders", "Carpetas")),
        (
            "/knowledge/search".to_owned(),
            t.t("Try a search", "Probar una búsqueda"),
        ),
    ];
    let title = (Section::Knowledge, Section::Knowledge.name(t));
    layout::tabbed(visitor, title, &tabs, path, (status, body))
}

/// A table of documents.
fn table(documents: &[Document], folders: Option<&[Folder]>, t: Lang) -> Markup {
    let folder_of = |document: &Document| {
        let mut all = folders.unwrap_or_default().iter();
        all.find(|folder| Some(folder.id) == document.folder_id)
    };
    Table::of(t.t("Documents", "Documentos"), documents)
        .column(t.t("Name", "Nombre"), |row| html! {
            a id={ "document-" (row.id) } href={ (PATH) "/knowledge/documents/" (row.id) } { (row.name) }
        })
        .column_if(folders.is_some(), t.t("Folder", "Carpeta"), |row| html! { @match folder_of(row) {
            Some(folder) => { (folder.name) }
            None => { span.none { "–" } }
        } })
        .column(t.t("Type", "Tipo"), |row| source_name(row.source, t))
        .number(t.t("Size", "Tamaño"), |row| size(row.size_bytes))
        .column(t.t("Status", "Estado"), |row| state(row, t))
        .column(t.t("Added", "Agregado"), |row| when(row.created_at))
        .render()
}

fn place(text: &str) -> Option<Option<offhook_domain::FolderId>> {
    match text {
        ROOT => Some(None),
        id => id.parse().ok().map(Some),
    }
}

/// The page's links; those that change something only for roles that may.
fn actions(visitor: &Visitor) -> Markup {
    let t = visitor.lang();
    html! {
        div.page-actions {
            @if visitor.may(MemberRole::Developer) {
                a.button.primary href={ (PATH) "/knowledge/upload" } { (t.t("Upload file", "Subir archivo")) }
                a.button href={ (PATH) "/knowledge/text" } { (t.t("Paste text", "Pegar texto")) }
                a.button href={ (PATH) "/knowledge/address" } { (t.t("Add from URL", "Agregar desde URL")) }
            }
        }
    }
}

fn filters(visitor: &Visitor, folders: &[Folder]) -> Markup {
    let t = visitor.lang();
    let message = |name| visitor.query().text(name);
    let states = DocumentStatus::ALL.iter();
    html! {
        form.filters method="get" action={ (PATH) "/knowledge" } {
            (Input::text("q", t.t("Name", "Nombre")).kind("search").value(message("q")))
            (Select::new("folder", t.t("Folder", "Carpeta"))
                .option("", t.t("All", "Todas"))
                .option(ROOT, t.t("No folder", "Sin carpeta"))
                .options(named(folders))
                .chosen(message("folder")))
            (list::filter(visitor, "status", t.t("Status", "Estado"), t.t("All", "Todos"),
                states.map(|state| (state.as_str(), state_name(*state, t)))))
            button type="submit" { (t.t("Filter", "Filtrar")) }
        }
    }
}

fn nothing(visitor: &Visitor, is_filtered: bool) -> Markup {
    let t = visitor.lang();
    if is_filtered {
        return list::empty(
            t.t("No matching documents", "Ningún documento coincide"),
            t.t(
                "Change the filters or clear them.",
                "Cambia los filtros o quítalos.",
            ),
            Some(("/knowledge", t.t("Show all", "Mostrar todos"))),
        );
    }
    let upload = t.t("Upload file", "Subir archivo");
    list::empty(
        t.t("No documents yet", "Aún no hay documentos"),
        t.t(
            "Documents are what your agents know: price lists, opening hours, answers to common questions. Upload a file, paste text or add a URL. Then select the documents in an agent's Knowledge section.",
            "Los documentos son lo que saben tus agentes: listas de precios, horarios, respuestas a preguntas comunes. Sube un archivo, pega texto o agrega una URL. Luego elige los documentos en la sección Conocimiento de un agente.",
        ),
        visitor.may(MemberRole::Developer).then_some(("/knowledge/upload", upload)),
    )
}

/// Whether a document is still processing.
fn is_unread(document: &Document) -> bool {
    document.status == DocumentStatus::Processing
}

/// A document's status, and why it failed if it did.
fn state(document: &Document, t: Lang) -> Markup {
    let tone = match document.status {
        DocumentStatus::Processing => Tone::Busy,
        DocumentStatus::Ready => Tone::Good,
        DocumentStatus::Failed => Tone::Bad,
    };
    html! {
        (badge(tone, state_name(document.status, t)))
        @if let Some(error) = &document.error { p.hint { (written::<DocumentFault>(error, t)) } }
    }
}

const fn state_name(state: DocumentStatus, t: Lang) -> &'static str {
    match state {
        DocumentStatus::Processing => t.t("Processing", "Procesando"),
        DocumentStatus::Ready => t.t("Ready", "Listo"),
        DocumentStatus::Failed => t.t("Failed", "Falló"),
    }
}

const fn source_name(source: DocumentSource, t: Lang) -> &'static str {
    match source {
        DocumentSource::Text => t.t("Text", "Texto"),
        DocumentSource::File => t.t("File", "Archivo"),
        DocumentSource::Url => t.t("Web page", "Página web"),
    }
}

/// A size in readable units.
fn size(bytes: Option<i64>) -> String {
    match bytes {
        None => "–".to_owned(),
        Some(bytes) if bytes < 1_024 => format!("{bytes} B"),
        Some(bytes) if bytes < 1_024 * 1_024 => format!("{:.1} KiB", bytes as f64 / 1_024.0),
        Some(bytes) => format!("{:.1} MiB", bytes as f64 / (1_024.0 * 1_024.0)),
    }
}

/// The choice of a folder; none is preselected.
fn folder_choice<'a>(folders: &[Folder], chosen: &'a str, t: Lang) -> Select<'a> {
    Select::new("folder_id", t.t("Folder", "Carpeta"))
        .option("", t.t("No folder", "Sin carpeta"))
        .options(named(folders))
        .chosen(chosen)
}

/// Folders as options.
fn named(folders: &[Folder]) -> impl Iterator<Item = (String, &str)> {
    let folders = folders.iter();
    folders.map(|folder| (folder.id.to_string(), folder.name.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_read_as_people_write_them() {
        assert_eq!(size(None), "–");
        assert_eq!(size(Some(0)), "0 B");
        assert_eq!(size(Some(1_536)), "1.5 KiB");
        assert_eq!(size(Some(20 * 1_024 * 1_024)), "20.0 MiB");
    }
}
