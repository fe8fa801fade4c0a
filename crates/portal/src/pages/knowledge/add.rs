//! New documents: a text, a web page, a file.

use offhook_http::Code;
use offhook_services::{DocumentFile, NewContent};

use super::{MOST, entitled, folder_choice, folders, labels};
use crate::prelude::*;
use crate::visit::Upload;
use crate::visit::upload;

/// The files that can be read.
const READABLE: &str = ".txt,.md,.html,.htm,.pdf,.docx,.csv";

/// The source of a document.
#[derive(Debug, Clone, Copy)]
enum Source {
    Text,
    /// The address of a web page.
    Address,
    File,
}

/// `GET /portal/knowledge/text`
pub(super) async fn text_form(visit: Visit<Developer>) -> Answer {
    shown(&visit, Source::Text).await
}

/// `GET /portal/knowledge/address`
pub(super) async fn address_form(visit: Visit<Developer>) -> Answer {
    shown(&visit, Source::Address).await
}

/// `GET /portal/knowledge/upload`
pub(super) async fn file_form(visit: Visit<Developer>) -> Answer {
    shown(&visit, Source::File).await
}

/// `POST /portal/knowledge/text`
pub(super) async fn text(post: Post<Developer>) -> Answer {
    let text = Json::from(post.fields.raw("text"));
    typed(&post, Source::Text, ("text", text)).await
}

/// `POST /portal/knowledge/address`
pub(super) async fn address(post: Post<Developer>) -> Answer {
    let url = Json::from(post.fields.text("url"));
    typed(&post, Source::Address, ("url", url)).await
}

async fn typed(post: &Post<Developer>, source: Source, content: (&str, Json)) -> Answer {
    entitled(post)?;
    let fields = &post.fields;
    let mut members = vec![("name", Json::from(fields.text("name")))];
    if let Some(folder) = fields.get("folder_id") {
        members.push(("folder_id", Json::from(folder)));
    }
    members.push(content);
    match added(post, NewContent::Json(Json::object(members))).await {
        Err(trouble) => refused(post, source, fields, trouble).await,
        done => done,
    }
}

/// `POST /portal/knowledge/upload`
pub(super) async fn file(mut upload: Upload<Developer>) -> Answer {
    entitled(&upload)?;
    let (fields, file) = upload::read(&mut upload, MOST).await;
    match kept(&upload, &fields, file).await {
        Err(trouble) => refused(&upload, Source::File, &fields, trouble).await,
        done => done,
    }
}

async fn kept(
    visitor: &Visitor,
    fields: &Fields,
    file: Result<Option<upload::SentFile>>,
) -> Answer {
    let Some(file) = file? else {
        let message = visitor.t("Choose a file first.", "Primero elige un archivo.");
        return Err(Code::InvalidBody.error(message).into());
    };
    let file = DocumentFile {
        name: fields.get("name").map(str::to_owned),
        folder_id: fields.get("folder_id").map(str::to_owned),
        file_name: file.name,
        content_type: file.content_type,
        content: file.content,
    };
    added(visitor, NewContent::File(file)).await
}

/// Adds the document and redirects to its page.
async fn added(visitor: &Visitor, content: NewContent) -> Answer {
    let knowledge = visitor.services().knowledge();
    let id = knowledge.add(visitor.account(), content).await?.id;
    let path = format!("/knowledge/documents/{id}");
    let message = visitor.t("Document added.", "Documento agregado.");
    visitor.done("document.create", id, &path, message).await
}

async fn shown(visitor: &Visitor, source: Source) -> Answer {
    entitled(visitor)?;
    let body = page(visitor, source, visitor.query(), None).await?;
    Ok(visitor.page(Section::Knowledge, title(visitor, source), &body))
}

async fn refused(visitor: &Visitor, source: Source, fields: &Fields, trouble: Trouble) -> Answer {
    let message = visitor.message_of(trouble, &labels(visitor.lang()))?;
    let body = page(visitor, source, fields, Some(&message)).await?;
    Ok(visitor.refused(Section::Knowledge, title(visitor, source), &body))
}

fn title(visitor: &Visitor, source: Source) -> &'static str {
    let t = visitor.lang();
    match source {
        Source::Text => t.t("Paste text", "Pegar texto"),
        Source::Address => t.t("Add from URL", "Agregar desde URL"),
        Source::File => t.t("Upload file", "Subir archivo"),
    }
}

async fn page(
    visitor: &Visitor,
    source: Source,
    fields: &Fields,
    message: Option<&str>,
) -> Result<Markup> {
    let t = visitor.lang();
    let folders = folders::all(visitor).await?;
    let name = Input::text("name", t.t("Name", "Nombre")).value(fields.text("name"));
    let folder = folder_choice(&folders, fields.text("folder_id"), t);
    Ok(html! {
        (form::refusal(message))
        @match source {
            Source::Text => (form::form(visitor, "/knowledge/text", &html! {
                (name.required())
                (folder)
                (Input::text("text", t.t("Text", "Texto")).rows(16).value(fields.raw("text")).required().hint(t.t(
                    "Plain text or Markdown. Headings and short paragraphs help agents find the passage that answers.",
                    "Texto sin formato o Markdown. Los títulos y los párrafos cortos ayudan a los agentes a encontrar el pasaje que responde.",
                )))
                button.primary type="submit" { (t.t("Add", "Agregar")) }
            })),
            Source::Address => (form::form(visitor, "/knowledge/address", &html! {
                (name.required())
                (folder)
                (Input::text("url", t.t("URL", "URL")).kind("url").value(fields.text("url")).required().hint(t.t(
                    "A public https:// URL that needs no sign-in. It is read once, when you add it.",
                    "Una URL https:// pública que no pida iniciar sesión. Se lee una sola vez, al agregarla.",
                )))
                button.primary type="submit" { (t.t("Add", "Agregar")) }
            })),
            // The fields come before the file: they have arrived when the file is refused.
            Source::File => (upload::form(visitor, "/knowledge/upload", MOST, &html! {
                (name.hint(t.t("Leave empty to use the file name.", "Déjalo vacío para usar el nombre del archivo.")))
                (folder)
                (upload::chooser(t.t("File", "Archivo"), READABLE, t.t(
                    "Text, Markdown, HTML, PDF, Word (.docx) or CSV, up to 20 MiB.",
                    "Texto, Markdown, HTML, PDF, Word (.docx) o CSV, hasta 20 MiB.",
                )))
                button.primary type="submit" { (t.t("Upload", "Subir")) }
            })),
        }
    })
}
