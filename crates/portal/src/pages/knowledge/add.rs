//! New documents: a text, a web page, a file.

use maud::{Markup, html};
use offhook_domain::Json;
use offhook_http::Code;
use offhook_services::store::Folder;
use offhook_services::{DocumentFile, NewContent};

use super::{MOST, entitled, folder_choice, folders, string};
use crate::fields::Fields;
use crate::lang::Lang;
use crate::layout::Section;
use crate::parts::form::{self, Input};
use crate::sent;
use crate::trouble::{Answer, Result};
use crate::visit::{Developer, Post, Upload, Visit, Visitor};

/// The files that can be read.
const READABLE: &str = ".txt,.md,.html,.htm,.pdf,.docx,.csv";

/// A document that is made of one field.
#[derive(Debug, Clone, Copy)]
enum Typed {
    Text,
    /// The address of a web page.
    Address,
}

impl Typed {
    const fn path(self) -> &'static str {
        match self {
            Self::Text => "/knowledge/text",
            Self::Address => "/knowledge/address",
        }
    }

    const fn title(self, t: Lang) -> &'static str {
        match self {
            Self::Text => t.t("Write a text", "Escribir un texto"),
            Self::Address => t.t("Take a web page", "Tomar una página web"),
        }
    }

    /// The field, by the name that the interface gives it, with what was typed.
    fn field(self, fields: &Fields) -> (&'static str, &str) {
        match self {
            Self::Text => ("text", fields.raw("text")),
            Self::Address => ("url", fields.text("url")),
        }
    }

    fn input(self, fields: &Fields, t: Lang) -> Input<'_> {
        let (field, value) = self.field(fields);
        let input = match self {
            Self::Text => Input::text(field, t.t("Text", "Texto")).rows(16),
            Self::Address => Input::text(field, t.t("Address", "Dirección"))
                .kind("url")
                .hint(t.t(
                    "A public https:// address that needs no signing in. It is read once, now.",
                    "Una dirección https:// pública que no pida iniciar sesión. Se lee una sola vez, ahora.",
                )),
        };
        input.value(value).required()
    }
}

/// `GET /portal/knowledge/text`
pub(super) async fn text_form(visit: Visit<Developer>) -> Answer {
    typed_form(&visit, Typed::Text).await
}

/// `POST /portal/knowledge/text`
pub(super) async fn text(post: Post<Developer>) -> Answer {
    take(&post, Typed::Text).await
}

/// `GET /portal/knowledge/address`
pub(super) async fn address_form(visit: Visit<Developer>) -> Answer {
    typed_form(&visit, Typed::Address).await
}

/// `POST /portal/knowledge/address`
pub(super) async fn address(post: Post<Developer>) -> Answer {
    take(&post, Typed::Address).await
}

async fn typed_form(visitor: &Visitor, typed: Typed) -> Answer {
    entitled(visitor)?;
    let folders = folders::all(visitor).await?;
    let body = typed_page(visitor, typed, visitor.query(), &folders, None);
    Ok(visitor.page(Section::Knowledge, typed.title(visitor.lang()), &body))
}

async fn take(post: &Post<Developer>, typed: Typed) -> Answer {
    entitled(post)?;
    let fields = &post.fields;
    let (field, value) = typed.field(fields);
    let mut members = vec![("name", string(fields.text("name")))];
    if let Some(folder) = fields.get("folder_id") {
        members.push(("folder_id", string(folder)));
    }
    members.push((field, string(value)));
    match added(post, NewContent::Json(Json::object(members))).await {
        Ok(answer) => Ok(answer),
        Err(trouble) => {
            let said = trouble.of_fields(post.lang(), &super::labels(post.lang()))?;
            let folders = folders::all(post).await?;
            let body = typed_page(post, typed, fields, &folders, Some(&said));
            Ok(post.refused(Section::Knowledge, typed.title(post.lang()), &body))
        }
    }
}

fn typed_page(
    visitor: &Visitor,
    typed: Typed,
    fields: &Fields,
    folders: &[Folder],
    said: Option<&str>,
) -> Markup {
    let t = visitor.lang();
    html! {
        (form::refusal(said))
        (form::form(visitor, typed.path(), &html! {
            (name(visitor, fields).required())
            (folder_choice(folders, fields.text("folder_id"), t))
            (typed.input(fields, t))
            button.primary type="submit" { (t.t("Add", "Agregar")) }
        }))
    }
}

/// `GET /portal/knowledge/upload`
pub(super) async fn file_form(visit: Visit<Developer>) -> Answer {
    entitled(&visit)?;
    let folders = folders::all(&visit).await?;
    let body = file_page(&visit, visit.query(), &folders, None);
    Ok(visit.page(Section::Knowledge, file_title(&visit), &body))
}

/// `POST /portal/knowledge/upload`
pub(super) async fn file(mut upload: Upload<Developer>) -> Answer {
    entitled(&upload)?;
    let (fields, file) = sent::read(&mut upload, MOST).await;
    match kept(&upload, &fields, file).await {
        Ok(answer) => Ok(answer),
        Err(trouble) => {
            let said = trouble.of_fields(upload.lang(), &super::labels(upload.lang()))?;
            let folders = folders::all(&upload).await?;
            let body = file_page(&upload, &fields, &folders, Some(&said));
            Ok(upload.refused(Section::Knowledge, file_title(&upload), &body))
        }
    }
}

async fn kept(visitor: &Visitor, fields: &Fields, file: Result<Option<sent::SentFile>>) -> Answer {
    let t = visitor.lang();
    let Some(file) = file? else {
        let said = t.t("Choose a file first.", "Primero elige un archivo.");
        return Err(Code::InvalidBody.error(said).into());
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

fn file_title(visitor: &Visitor) -> &'static str {
    let t = visitor.lang();
    t.t("Upload a file", "Subir un archivo")
}

fn file_page(visitor: &Visitor, fields: &Fields, folders: &[Folder], said: Option<&str>) -> Markup {
    let t = visitor.lang();
    html! {
        (form::refusal(said))
        // The fields stand before the file: they have arrived when it is refused.
        (sent::form(visitor, "/knowledge/upload", MOST, &html! {
            (name(visitor, fields).hint(t.t(
                "Without one it is called as its file is.",
                "Sin nombre se llama como su archivo.",
            )))
            (folder_choice(folders, fields.text("folder_id"), t))
            (sent::chooser(t.t("File", "Archivo"), READABLE, t.t(
                "Text, Markdown, HTML, PDF, Word (.docx) or CSV, up to 20 MiB.",
                "Texto, Markdown, HTML, PDF, Word (.docx) o CSV, hasta 20 MiB.",
            )))
            button.primary type="submit" { (t.t("Upload", "Subir")) }
        }))
    }
}

fn name<'a>(visitor: &Visitor, fields: &'a Fields) -> Input<'a> {
    let t = visitor.lang();
    Input::text("name", t.t("Name", "Nombre")).value(fields.text("name"))
}

/// Takes the document in and goes to its page.
async fn added(visitor: &Visitor, content: NewContent) -> Answer {
    let t = visitor.lang();
    let knowledge = visitor.services().knowledge();
    let id = knowledge
        .add(visitor.account(), content)
        .await?
        .id
        .to_string();
    let path = format!("/knowledge/documents/{id}");
    let said = t.t(
        "Taken in. It is being read now.",
        "Recibido. Ahora se está leyendo.",
    );
    visitor.done("document.create", &id, &path, said).await
}
