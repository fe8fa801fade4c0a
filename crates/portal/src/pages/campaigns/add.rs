//! Recipients that are added: a file or pasted rows, looked at before anything is written.

use offhook_http::Code;
use offhook_services::store::{Campaign, NewCampaignRecipient};
use offhook_services::{RecipientsPreview, RecipientsUpload};

use super::detail::campaign;
use crate::pages::batches::detail::variables;
use crate::pages::batches::rows::not_utf8;
use crate::parts::sample;
use crate::prelude::*;
use crate::visit::Upload;
use crate::visit::upload::{self, FILE_TEXT, SentFile};

/// The largest file: it comes back with the preview. The API takes larger ones.
const MOST: usize = 4 * 1024 * 1024;

/// Bad rows that a preview names.
const NAMED: usize = 20;

/// The field of a form whose preview was seen.
const SEEN: &str = "seen";

/// Rows that are good.
const SAMPLE: &str = "to,name,time_zone,consent_basis,consent_at,consent_evidence,plan
+14155550123,Ana,America/Los_Angeles,express,2026-01-15,form 4711,Basic
+525512345678,Luis,,,,,Pro";

const fn title(t: Lang) -> &'static str {
    t.t("Add recipients", "Agregar destinatarios")
}

/// `GET /portal/campaigns/{id}/add`
pub(super) async fn form(visit: Visit<Developer>) -> Answer {
    let campaign = campaign(&visit).await?;
    let body = page(&visit, &campaign, "", None);
    Ok(visit.page(Section::Campaigns, title(visit.lang()), &body))
}

/// `POST /portal/campaigns/{id}/add`: a preview, and after it the rows.
pub(super) async fn add(mut upload: Upload<Developer>) -> Answer {
    let (fields, file) = upload::read_again(&mut upload, MOST).await;
    let campaign = campaign(&upload).await?;
    let sent = match sent(&upload, &fields, file) {
        Ok(sent) => sent,
        Err(trouble) => return refused(&upload, &campaign, &fields, trouble),
    };
    let campaigns = upload.services().campaigns();
    let account = upload.account();
    if !fields.is_set(SEEN) {
        return match campaigns.preview(account, campaign.id, &sent).await {
            Ok(seen) => {
                let body = preview(&upload, &campaign, &sent, &seen);
                Ok(upload.page(Section::Campaigns, title(upload.lang()), &body))
            }
            Err(error) => refused(&upload, &campaign, &fields, error.into()),
        };
    }
    match campaigns.add(account, campaign.id, &sent).await {
        Ok(done) => {
            let [added, known, bad] = [done.added, done.duplicates, done.bad_rows].map(count);
            let message = text!(
                upload.lang(),
                "Recipients added: {added}. Already in the list: {known}. Bad rows skipped: {bad}.",
                "Destinatarios agregados: {added}. Ya estaban en la lista: {known}. Filas con errores omitidas: {bad}."
            );
            let path = format!("/campaigns/{}", campaign.id);
            upload
                .done("campaign.recipients", campaign.id, &path, &message)
                .await
        }
        Err(error) => refused(&upload, &campaign, &fields, error.into()),
    }
}

/// The rows of the form: those of its file, or those that were pasted or seen.
fn sent(
    visitor: &Visitor,
    fields: &Fields,
    file: Result<Option<SentFile>>,
) -> Result<RecipientsUpload> {
    let t = visitor.lang();
    let refused = |message: &str| Trouble::from(Code::InvalidBody.error(message.to_owned()));
    let file = match file? {
        Some(file) => file.content,
        None => fields.raw(FILE_TEXT).as_bytes().to_vec(),
    };
    // The preview carries the file as text.
    if std::str::from_utf8(&file).is_err() {
        return Err(refused(not_utf8(t)));
    }
    if file.trim_ascii().is_empty() {
        return Err(refused(t.t(
            "Choose a file or paste rows first.",
            "Primero elige un archivo o pega filas.",
        )));
    }
    Ok(RecipientsUpload {
        fields: Json::Object(Vec::new()),
        file: Some(file),
        skip_bad_rows: true,
    })
}

fn refused(visitor: &Visitor, campaign: &Campaign, fields: &Fields, trouble: Trouble) -> Answer {
    let t = visitor.lang();
    let rows = ("file", t.t("Rows", "Filas"));
    let message = visitor.message_of(trouble, &[rows])?;
    let body = page(visitor, campaign, fields.raw(FILE_TEXT), Some(&message));
    Ok(visitor.refused(Section::Campaigns, title(t), &body))
}

fn page(visitor: &Visitor, campaign: &Campaign, pasted: &str, message: Option<&str>) -> Markup {
    let t = visitor.lang();
    let path = format!("/campaigns/{}/add", campaign.id);
    let look = html! { p { button.primary type="submit" { (t.t("Preview", "Vista previa")) } } };
    html! {
        (form::refusal(message))
        p { (t.t("Campaign", "Campaña")) ": " (to_campaign(campaign)) }
        p { (form::sentence(t.t(
            "The first row names the columns. `to` is the phone number with + and the country code; the others in the sample are optional. `consent_basis` says what the customer agreed to, `consent_at` when. Every other column is a variable for the agent.",
            "La primera fila nombra las columnas. `to` es el número con + y el código del país; las demás del ejemplo son opcionales. `consent_basis` dice qué aceptó el cliente y `consent_at` cuándo. Cualquier otra columna es una variable para el agente.",
        ))) }
        (sample::code(t, "rows", t.t("Sample", "Ejemplo"), SAMPLE))
        h2 { (t.t("A file", "Un archivo")) }
        (upload::form(visitor, &path, MOST, &html! {
            (upload::chooser(t.t("List of recipients (CSV)", "Lista de destinatarios (CSV)"), ".csv,.txt,.tsv,text/csv", t.t(
                "Up to 4 MiB, with commas, semicolons or tabs between the cells. The API takes larger files.",
                "Hasta 4 MiB, con comas, puntos y comas o tabuladores entre las celdas. La API acepta archivos más grandes.",
            )))
            (look)
        }))
        h2 { (t.t("Pasted rows", "Filas pegadas")) }
        (upload::form(visitor, &path, MOST, &html! {
            (form::Input::text(FILE_TEXT, t.t("Rows", "Filas")).rows(8).value(pasted).required().hint(t.t(
                "Copy the cells in your spreadsheet, with the names of the columns, and paste them here.",
                "Copia las celdas en tu hoja de cálculo, con los nombres de las columnas, y pégalas aquí.",
            )))
            (look)
        }))
    }
}

fn to_campaign(campaign: &Campaign) -> Markup {
    html! { a href={ (crate::PATH) "/campaigns/" (campaign.id) } { (campaign.name) } }
}

fn preview(
    visitor: &Visitor,
    campaign: &Campaign,
    sent: &RecipientsUpload,
    seen: &RecipientsPreview,
) -> Markup {
    let t = visitor.lang();
    let path = format!("/campaigns/{}/add", campaign.id);
    let text = String::from_utf8_lossy(sent.file.as_deref().unwrap_or_default());
    let named = seen.bad.iter().take(NAMED);
    let more = seen.bad_rows.saturating_sub(NAMED);
    html! {
        dl.facts {
            (list::fact(t.t("Campaign", "Campaña"), to_campaign(campaign)))
            (list::fact(t.t("Good rows", "Filas correctas"), count(seen.rows)))
            (list::fact(t.t("Bad rows", "Filas con errores"), count(seen.bad_rows)))
        }
        @if seen.bad_rows > 0 {
            h2 { (t.t("Bad rows", "Filas con errores")) }
            div.warning {
                ul { @for fault in named { li { (form::sentence(&t.text(fault))) } } }
                @if more > 0 { p { (text!(t, "And {} more.", "Y {} más.", count(more))) } }
            }
        }
        @if seen.rows > 0 {
            h2 { (t.t("First rows, as they are called", "Primeras filas, como se llamarán")) }
            (first_rows(&seen.first, t))
            (upload::form(visitor, &path, MOST, &html! {
                input type="hidden" name=(SEEN) value="on";
                button.primary type="submit" { (adds(seen, t)) }
                // Last, since it is the longest: the list itself.
                input type="hidden" name=(FILE_TEXT) value=(text);
            }))
            p.hint { (t.t(
                "Numbers that repeat or that the campaign has already are added once.",
                "Los números repetidos o que la campaña ya tiene se agregan una sola vez.",
            )) }
        }
        p { a href={ (crate::PATH) (path) } { (t.t("Choose other rows", "Elegir otras filas")) } }
    }
}

/// The button's label.
fn adds(seen: &RecipientsPreview, t: Lang) -> String {
    let (good, bad) = (count(seen.rows), count(seen.bad_rows));
    match (seen.bad_rows, seen.rows) {
        (0, 1) => t.t("Add 1 recipient", "Agregar 1 destinatario").to_owned(),
        (0, _) => text!(t, "Add {good} recipients", "Agregar {good} destinatarios"),
        (1, _) => text!(
            t,
            "Skip the bad row and add {good}",
            "Omitir la fila con errores y agregar {good}"
        ),
        _ => text!(
            t,
            "Skip the {bad} bad rows and add {good}",
            "Omitir las {bad} filas con errores y agregar {good}"
        ),
    }
}

fn first_rows(rows: &[NewCampaignRecipient], t: Lang) -> Markup {
    html! {
        (Table::of(t.t("First rows", "Primeras filas"), rows)
            .column(t.t("Number", "Número"), |row| row.number.as_str())
            .column(t.t("Name", "Nombre"), |row| html! { @if !row.name.is_empty() { bdi { (row.name) } } })
            .column(t.t("Variables", "Variables"), |row| variables(&row.variables))
            .column(t.t("Time zone", "Zona horaria"), |row| row.time_zone.as_deref().unwrap_or(t.t("Of the number", "Del número"))))
    }
}

fn count(number: usize) -> String {
    words::count(i64::try_from(number).unwrap_or(i64::MAX))
}
