//! Numbers that are put on the suppression list: one, or a file of them.

use offhook_http::Code;

use super::SECTION;
use crate::pages::conversations::plain;
use crate::parts::sample;
use crate::parts::words::count;
use crate::prelude::*;
use crate::visit::Upload;
use crate::visit::upload;

/// The largest file, as in the API.
const MOST: usize = 20 * 1024 * 1024;

pub(super) fn title(visitor: &Visitor) -> &'static str {
    visitor.t("Suppress numbers", "Excluir números")
}

/// `GET /portal/dialing/numbers/new`
pub(super) async fn show(visit: Visit<Developer>) -> Answer {
    let body = page(&visit, visit.query(), None);
    Ok(visit.page(SECTION, title(&visit), &body))
}

/// `POST /portal/dialing/numbers/new`
pub(super) async fn add(post: Post<Developer>) -> Answer {
    let fields = &post.fields;
    let mut members = vec![
        ("number", Json::String(plain(fields.text("number")))),
        ("reason", Json::from(fields.text("reason"))),
    ];
    if let Some(until) = fields.get("until") {
        let instant = post.zone().instant(until);
        let until = instant.map_or_else(|| until.to_owned(), |at| at.to_string());
        members.push(("until", Json::String(until)));
    }
    let (gate, body) = (post.services().gate(), Json::object(members));
    let added = gate.suppress(post.account(), &body, SuppressionSource::Portal);
    match added.await {
        Ok(row) => {
            let message = post.t("Number added.", "Número agregado.");
            post.done("suppression.create", row.id, "/dialing", message)
                .await
        }
        Err(error) => refused(&post, fields, error.into()),
    }
}

/// `POST /portal/dialing/numbers/upload`
pub(super) async fn upload(mut upload: Upload<Developer>) -> Answer {
    let (fields, file) = upload::read(&mut upload, MOST).await;
    let none = || {
        Trouble::from(
            Code::InvalidBody.error(upload.t("Choose a file first.", "Primero elige un archivo.")),
        )
    };
    let file = match file.and_then(|file| file.ok_or_else(none)) {
        Ok(file) => file,
        Err(trouble) => return refused(&upload, &fields, trouble),
    };
    let gate = upload.services().gate();
    match gate.import(upload.account(), &file.content).await {
        Ok(done) => {
            let numbers = count(i64::try_from(done.numbers).unwrap_or(i64::MAX));
            let message = text!(
                upload.lang(),
                "Numbers on the list from this file: {numbers}.",
                "Números de este archivo en la lista: {numbers}."
            );
            upload
                .done("suppression.import", numbers, "/dialing", &message)
                .await
        }
        Err(error) => refused(&upload, &fields, error.into()),
    }
}

fn refused(visitor: &Visitor, fields: &Fields, trouble: Trouble) -> Answer {
    let message = visitor.message_of(trouble, &labels(visitor.lang()))?;
    let body = page(visitor, fields, Some(&message));
    Ok(visitor.refused(SECTION, title(visitor), &body))
}

/// The labels of the fields.
const fn labels(t: Lang) -> [(&'static str, &'static str); 4] {
    [
        ("number", t.t("Number", "Número")),
        ("reason", t.t("Reason", "Motivo")),
        ("until", t.t("Until", "Hasta")),
        (
            "file",
            t.t("List of numbers (CSV)", "Lista de números (CSV)"),
        ),
    ]
}

fn page(visitor: &Visitor, fields: &Fields, message: Option<&str>) -> Markup {
    let (t, zone) = (visitor.lang(), visitor.zone().name());
    let [(_, number), (_, reason), (_, until), (_, file)] = labels(t);
    let until = format!("{until} ({zone})");
    html! {
        p { (t.t(
            "No agent calls a number on the suppression list.",
            "Ningún agente llama a un número de la lista de exclusión.",
        )) }
        (form::refusal(message))
        h2 { (t.t("One number", "Un número")) }
        (form::form(visitor, "/dialing/numbers/new", &html! {
            (Input::text("number", number).kind("tel").value(fields.text("number")).required().hint(t.t(
                "With + and the country code, such as +525512345678. Calls to it that are being dialed are ended.",
                "Con + y el código del país, como +525512345678. Las llamadas que se le estén marcando se terminan.",
            )))
            (Input::text("reason", reason).value(fields.text("reason")).hint(t.t(
                "For your team, at most 500 characters.", "Para tu equipo, 500 caracteres como máximo.",
            )))
            (Input::text("until", &until).kind("datetime-local").value(fields.text("until")).hint(t.t(
                "From then on it may be called again. Leave empty to suppress it for good.",
                "Desde entonces se le puede volver a llamar. Déjalo vacío para excluirlo siempre.",
            )))
            button.primary type="submit" { (t.t("Suppress number", "Excluir número")) }
        }))
        h2 { (t.t("A file", "Un archivo")) }
        (upload::form(visitor, "/dialing/numbers/upload", MOST, &html! {
            (upload::chooser(file, ".csv,text/csv", t.t(
                "The first row names the columns: number, and if you like reason and until. Up to 500,000 numbers and 20 MiB. A number that is on the list already gets the new reason and time.",
                "La primera fila nombra las columnas: number y, si quieres, reason y until. Hasta 500,000 números y 20 MiB. Un número que ya está en la lista recibe el motivo y la fecha nuevos.",
            )))
            (sample::code(t, "csv", t.t("Example", "Ejemplo"), "number,reason\n+525512345678,Asked by letter"))
            p { button.primary type="submit" { (t.t("Upload", "Subir")) } }
        }))
    }
}
