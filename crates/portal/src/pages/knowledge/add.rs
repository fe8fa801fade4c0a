//! New documents: a text, a web page, a file.

use maud::{Markup, html};
use offhook_domain::Json;
use offhook_services::store::Folder;
use offhook_services::{DocumentFile, NewContent};

use super::{MOST, entitled, folder_choice, folders, string};
use crate::fields::Fields;
use crate::layout::Section;
use crate::parts::form::{self, Input};
use crate::sent;
use crate::trouble::{Answer, Trouble};
use crate::visit::{Developer, Post, Upload, Visit, Visitor};

/// The files that can be read (decision 6.5).
const READABLE: &str = ".txt,.md,.html,.htm,.pdf,.docx,.csv";

/// `GET /portal/knowledge/text`
pub(super) async fn text_form(visit: Visit<Developer>) -> Answer {
    entitled(&visit)?;
    let folders = folders::all(&visit).await?;
    let body = text_page(&visit, visit.query(), &folders, None);
    Ok(visit.page(Section::Knowledge, text_title(&visit), &body))
}

/// `POST /portal/knowledge/text`
pub(super) async fn text(post: Post<Developer>) -> Answer {
    entitled(&post)?;
    let mut members = common(&post.fields);
    members.push(("text", string(post.fields.raw("text"))));
    let content = NewContent::Json(Json::object(members));
    match added(&post, content).await {
        Ok(answer) => Ok(answer),
        Err(trouble) => {
            let said = trouble.of_form(post.lang())?;
            let folders = folders::all(&post).await?;
            let body = text_page(&post, &post.fields, &folders, Some(&said));
            Ok(post.refused(Section::Knowledge, text_title(&post), &body))
        }
    }
}

fn text_title(visitor: &Visitor) -> &'static str {
    let t = visitor.lang();
    t.t("Write a text", "Escribir un texto")
}

fn text_page(visitor: &Visitor, fields: &Fields, folders: &[Folder], said: Option<&str>) -> Markup {
    let t = visitor.lang();
    html! {
        (form::refusal(said))
        (form::form(visitor, "/knowledge/text", &html! {
            (name(visitor, fields).required())
            (folder_choice(folders, fields.text("folder_id"), t))
            (Input::text("text", t.t("Text", "Texto")).rows(16).value(fields.raw("text")).required())
            button.primary type="submit" { (t.t("Add", "Agregar")) }
        }))
    }
}

/// `GET /portal/knowledge/address`
pub(super) async fn address_form(visit: Visit<Developer>) -> Answer {
    entitled(&visit)?;
    let folders = folders::all(&visit).await?;
    let body = address_page(&visit, visit.query(), &folders, None);
    Ok(visit.page(Section::Knowledge, address_title(&visit), &body))
}

/// `POST /portal/knowledge/address`
pub(super) async fn address(post: Post<Developer>) -> Answer {
    entitled(&post)?;
    let mut members = common(&post.fields);
    members.push(("url", string(post.fields.text("url"))));
    let content = NewContent::Json(Json::object(members));
    match added(&post, content).await {
        Ok(answer) => Ok(answer),
        Err(trouble) => {
            let said = trouble.of_form(post.lang())?;
            let folders = folders::all(&post).await?;
            let body = address_page(&post, &post.fields, &folders, Some(&said));
            Ok(post.refused(Section::Knowledge, address_title(&post), &body))
        }
    }
}

fn address_title(visitor: &Visitor) -> &'static str {
    let t = visitor.lang();
    t.t("Take a web page", "Tomar una página web")
}

fn address_page(
    visitor: &Visitor,
    fields: &Fields,
    folders: &[Folder],
    said: Option<&str>,
) -> Markup {
    let t = visitor.lang();
    html! {
        (form::refusal(said))
        (form::form(visitor, "/knowledge/address", &html! {
            (name(visitor, fields).required())
            (folder_choice(folders, fields.text("folder_id"), t))
            (Input::text("url", t.t("Address", "Dirección")).kind("url").value(fields.text("url")).required().hint(t.t(
                "A public https:// address that needs no signing in. It is read once, now.",
                "Una dirección https:// pública que no pida iniciar sesión. Se lee una sola vez, ahora.",
            )))
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
            let said = trouble.of_form(upload.lang())?;
            let folders = folders::all(&upload).await?;
            let body = file_page(&upload, &fields, &folders, Some(&said));
            Ok(upload.refused(Section::Knowledge, file_title(&upload), &body))
        }
    }
}

async fn kept(
    visitor: &Visitor,
    fields: &Fields,
    file: Result<Option<sent::SentFile>, Trouble>,
) -> Answer {
    let t = visitor.lang();
    let Some(file) = file? else {
        let said = t.t("Choose a file first.", "Primero elige un archivo.");
        return Err(offhook_http::ApiError::new(offhook_http::Code::InvalidBody, said).into());
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

/// What a text and a web page have alike.
fn common(fields: &Fields) -> Vec<(&'static str, Json)> {
    let mut members = vec![("name", string(fields.text("name")))];
    if let Some(folder) = fields.get("folder_id") {
        members.push(("folder_id", string(folder)));
    }
    members
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
